"""From the records under `workloads` of a scenario file to plans: what runs where, and how much."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bigfleet.fleetfile.needs import requirements_of
from bigfleet.fleetfile.records import INT32, Record
from bigfleet.model.durations import seconds_of
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.quantities import LARGEST_OF_NEED
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.syntax import why_not_label_value
from bigfleet.sim.workloads import Workload
from bigfleet.simulation.curves import Burst, Curve, Diurnal, Poisson, Ramp, Steps
from bigfleet.simulation.scenario import WorkloadPlan

_KEYS = frozenset(
    "name cluster priority interruptionPenalty reclamationPenalty pod gang spread requirements"
    " zones curve maxUnavailable exclusive replicas".split()
)
_CURVES = ("constant", "step", "ramp", "diurnal", "poisson", "burst", "trace")
_NOTHING = Steps(((0.0, 0.0),))
#: A slip of the keyboard must not run for a year.
LONGEST_SECONDS = 31 * 86_400.0
_LONGEST_TRACE = 1_000_000


def length_of(record: Record, key: str, default: float, *, least: float = 0.0) -> float:
    """Seconds of a length of time: 45m, 90s, or a number."""
    value = record.raw.get(key)
    if value is None:
        return default
    found: float | None = None
    if type(value) is str:
        found = seconds_of(value)
    elif type(value) in (int, float):
        found = float(value)
    if found is None or not least <= found <= LONGEST_SECONDS:
        record.refuse(key, "write a length of time like 90s, 5m or 1h30m, at most 31d")
        return max(default, least)
    return found


@dataclass(frozen=True, slots=True)
class WorkloadReader:
    #: The zones each cluster may use; empty: all.
    zones_of: Mapping[str, tuple[str, ...]]
    #: Where a CSV that a curve names is looked for; None: nowhere.
    folder: Path | None

    def plan(self, record: Record) -> WorkloadPlan:
        record.check_keys(_KEYS)
        name = record.text("name", required="name the workload", why_not=why_not_label_value)
        cluster = record.text("cluster", required="say which cluster it runs in")
        if cluster and cluster not in self.zones_of:
            record.complaints.add_choice((*record.path, "cluster"), cluster, self.zones_of)
        gang = record.record("gang")
        gang.check_keys(frozenset({"size", "same"}))
        same = gang.text("same", required="name the label its machines share") if gang.raw else ""
        pods = gang.whole("size", 1, 1, 100_000) if gang.raw else 1
        curve = self._curve(record.record("curve"))
        request = record.resources(
            "pod", most=LARGEST_OF_NEED, required="say what one pod asks for: {cpu: 1, memory: 1Gi}"
        )
        workload = Workload(
            name,
            self._profile(record, cluster, same),
            request,
            max_unavailable=record.amount("maxUnavailable", 1.0, 1.0),
            exclusive=record.flag("exclusive", False),
        )
        pods *= record.whole("replicas", 1, 1, 100_000)
        named = bool(gang.raw) or isinstance(curve, Poisson)
        return WorkloadPlan(cluster, workload, curve, pods, named)

    def _profile(self, record: Record, cluster: str, same: str) -> Profile:
        requirements = [Requirement.of(INSTANCE_TYPE_KEY, Operator.EXISTS)]
        requirements += requirements_of(record)
        own = record.texts("zones", why_not=why_not_label_value)
        if zones := own or self.zones_of.get(cluster, ()):
            requirements.append(Requirement.of(ZONE_KEY, Operator.IN, zones))
        if same:
            requirements.append(Requirement.of(same, Operator.SAME))
        return Profile.of(
            requirements,
            list(_spreads(record)),
            record.whole("priority", 0, *INT32),
            bucket_of_dollars(record.amount("interruptionPenalty", 0.0)),
            bucket_of_dollars(record.amount("reclamationPenalty", 0.0)),
        )

    def _curve(self, record: Record) -> Curve:
        kinds = [key for key in record.raw if key in _CURVES]
        if len(record.raw) != 1 or not kinds:
            text = f"write one of {', '.join(_CURVES)}, like curve: {{constant: 10}}"
            record.complaints.add(record.path, text)
            return _NOTHING
        match kinds[0]:
            case "constant":
                return Steps(((0.0, record.amount("constant", 0.0)),))
            case "step":
                return Steps(tuple(_points(record)))
            case "trace":
                return Steps(tuple(self._recorded(record)))
            case kind:
                return _smooth_curve(kind, record.record(kind))

    def _recorded(self, record: Record) -> Iterator[tuple[float, float]]:
        """Lines of `seconds,units`; a first line of words is a heading."""
        name, last = record.text("trace"), -1.0
        if self.folder is None:
            record.refuse("trace", "a scenario without a folder names no files; write step:")
            return
        try:
            lines = (self.folder / name).read_text().splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            record.refuse("trace", f"it cannot be read: {problem}")
            return
        if len(lines) > _LONGEST_TRACE:
            record.refuse("trace", f"it has more than {_LONGEST_TRACE:,} lines; thin it out")
            return
        for number, row in enumerate(csv.reader(lines), 1):
            if not row or (number == 1 and not row[0][:1].isdigit()):
                continue
            point = _point_in(row)
            if point is None or point[0] <= last:
                text = f"line {number} of it: write seconds,units in the order of time, like 60,12"
                record.refuse("trace", text)
                return
            last = point[0]
            yield point


def _spreads(record: Record) -> Iterator[Spread]:
    if isinstance(record.raw.get("spread"), dict):
        spread = record.record("spread")
        spread.check_keys(frozenset({"key", "maxSkew"}))
        key = spread.text("key", required="name the label that is spread over")
        skew = spread.whole("maxSkew", 1, 1, INT32[1])
        yield Spread(key, skew, WhenUnsatisfiable.DO_NOT_SCHEDULE)
    elif "spread" in record.raw:
        record.refuse("spread", "write {key: topology.kubernetes.io/zone, maxSkew: 1}")


def _smooth_curve(kind: str, inner: Record) -> Curve:
    match kind:
        case "ramp":
            inner.check_keys(frozenset({"from", "to", "at", "over"}))
            return Ramp(
                inner.amount("from", 0.0),
                inner.amount("to", 0.0),
                length_of(inner, "at", 0.0),
                length_of(inner, "over", 60.0),
            )
        case "diurnal":
            inner.check_keys(frozenset({"min", "max", "peak", "period"}))
            least, most = inner.amount("min", 0.0), inner.amount("max", 0.0)
            if most < least:
                inner.refuse("max", "less than min")
            period = length_of(inner, "period", 86_400.0, least=1.0)
            return Diurnal(least, most, length_of(inner, "peak", 0.0), period)
        case "burst":
            inner.check_keys(frozenset({"base", "extra", "at", "for", "every"}))
            return Burst(
                inner.amount("base", 0.0),
                inner.amount("extra", 0.0),
                length_of(inner, "at", 0.0),
                length_of(inner, "for", 60.0),
                length_of(inner, "every", 0.0),
            )
        case _:
            inner.check_keys(frozenset({"ratePerMinute", "lifetime"}))
            rate = inner.amount("ratePerMinute", 0.0, 6000.0)
            return Poisson(rate, length_of(inner, "lifetime", 600.0, least=1.0))


def _points(record: Record) -> Iterator[tuple[float, float]]:
    pairs, last = record.raw.get("step"), -1.0
    for place, pair in enumerate(pairs if isinstance(pairs, list) else [None]):
        at = None
        if isinstance(pair, list) and len(pair) == 2 and type(pair[1]) in (int, float):
            at = seconds_of(pair[0]) if type(pair[0]) is str else pair[0]
        if type(at) not in (int, float) or not last < float(at or 0.0) or pair[1] < 0:
            text = "write [time, units] in the order of time, like [[0s, 10], [5m, 40]]"
            record.complaints.add_value((*record.path, "step", place), pair, text)
            return
        last = float(at or 0.0)
        yield last, float(pair[1])


def _point_in(row: list[str]) -> tuple[float, float] | None:
    try:
        at, units = map(float, row)
    except ValueError:
        return None
    return (at, units) if 0 <= at <= LONGEST_SECONDS and 0 <= units < 1e9 else None
