"""Money: what machines cost per hour and who has them, and which capacity carries which penalty.

Billed dollars are prices; declared dollars are penalties. The two are never added.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from bigfleet.edge.clock import SECOND
from bigfleet.model.figures import CostAxis, ShardFigures, SpendingRow
from bigfleet.model.instants import instant_of
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.penalties import LABELS, PINNED, UNSPECIFIED, bucket_label
from bigfleet.web.answers import queried_at
from bigfleet.web.csv_answers import CSV, FORMAT, csv_answer, wants_csv
from bigfleet.web.figures import RateMeter, count_of_capacity, figures
from bigfleet.web.fleet import Answers, Fleet
from bigfleet.web.further_schemas import Costs, CostSeriesShape
from bigfleet.web.operations import JSON, Asked, Operation, Param
from bigfleet.web.past import past_cycle
from bigfleet.web.problems import Problem, bad
from bigfleet.web.routes.shards import DEFAULT_SECONDS, DURATION, MOST_SECONDS, MOST_STEP
from bigfleet.web.schemas import Finops

_ORDER = (CapacityType.BARE_METAL, CapacityType.RESERVED, CapacityType.ON_DEMAND, CapacityType.SPOT)
_SPOT, _PINNED = CapacityType.SPOT.label, bucket_label(PINNED)
#: A penalty above this on Spot: on-demand at $0.38 and 5 % beats spot at $0.12 and 30 % from $1.04.
_SPOT_CROSSOVER_BUCKET = LABELS["2"]
#: Axes whose numbers are not kept yet, and what will provide them.
_LATER = {
    "team": "teams of clusters (costs.teams of the settings) are not read by a shard yet",
    "need": "the cost of a Need is in its row of /needs once claims are attributed",
}
AXES = tuple(str(axis) for axis in CostAxis if str(axis) not in _LATER)
#: Of one answer; a chart is not wider in pixels.
_MOST_SAMPLES = 720
#: Of a row in CSV, after its name.
_COLUMNS = (
    "machines",
    "committedMachines",
    "dollarsPerHour",
    "idleDollarsPerHour",
    "expectedInterruptionDollarsPerHour",
    "pinnedMachinesAtRisk",
)


@dataclass(frozen=True, slots=True)
class CostRoutes:
    fleet: Fleet
    rates: RateMeter = field(default_factory=RateMeter)

    async def costs(self, asked: Asked) -> dict[str, Any] | Response:
        by = asked.text("by")
        if by in _LATER:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"no costs by {by}: {_LATER[by]}")
        for name in ("from", "to"):
            if asked.text(name):
                text = "costs of the past are not kept yet: the ledger of hours will provide them"
                remedy = "leave from and to out; /costs/series has the last day"
                raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, text, field=name, remedy=remedy)
        as_csv = wants_csv(asked)
        told = await self._figures(CostAxis(by), asked.text("at"), asked.text("shard"))
        rows = [row for each in told.said.values() for row in each.spending]
        listed = spending_by_name(rows)
        if as_csv:
            table = ([row["name"], *(row[name] for name in _COLUMNS)] for row in listed)
            return csv_answer(f"costs-by-{by}", [by, *_COLUMNS], table, told.warnings)
        return {
            "by": by,
            "cycle": {shard: each.cycle for shard, each in told.said.items()},
            "rows": listed,
            "totals": totals_of(rows),
            "imputedDollarsPerHour": None,
            "wasteDollarsPerHour": None,
            **told.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def _figures(self, by: CostAxis, at: str, shard: str) -> Answers[ShardFigures]:
        if not at:
            return (await figures(self.fleet, (by,), shard)).require()
        past = past_cycle(self.fleet, at, shard)
        found = await past.ask(self.fleet, lambda client, n: client.figures(axes=(by,), cycle=n))
        return Answers({past.shard: found}, {})

    async def series(self, asked: Asked) -> dict[str, Any] | Response:
        by, as_csv = asked.text("by"), wants_csv(asked)
        history, now = self.fleet.history, self.fleet.clock.now()
        if history is None:
            text = "this page keeps no samples of costs"
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, text)
        seconds, until = _span(asked, now // SECOND)
        least_step = -(-seconds // _MOST_SAMPLES)
        step = asked.duration("step", least_step, MOST_STEP)
        found = history.costs(by, seconds, max(step, least_step), until)
        names = sorted(found.by_name, key=lambda name: (-_last(found.by_name[name]), name))
        if as_csv:
            columns = ["time", "dollarsPerHour", "idleDollarsPerHour", *names]
            series = [found.total, found.idle, *(found.by_name[name] for name in names)]
            times = (queried_at(second * SECOND) for second in found.timestamps)
            table = zip(times, *series, strict=True)
            return csv_answer(f"costs-by-{by}-over-time", columns, table, ())
        return {
            "by": by,
            "timestamps": found.timestamps,
            "stepSeconds": found.step,
            "dollarsPerHour": found.total,
            "idleDollarsPerHour": found.idle,
            "series": [{"name": name, "dollarsPerHour": found.by_name[name]} for name in names],
            "keptSeconds": MOST_SECONDS,
            **asked.head(),
            "queriedAt": queried_at(now),
        }

    async def finops(self, _asked: Asked) -> dict[str, Any]:
        told = (await figures(self.fleet)).require()
        now = self.fleet.clock.now()
        looks = [self.rates.look(each, now / SECOND) for each in told.said.values()]
        actions: defaultdict[str, float] = defaultdict(float)
        for look in looks:
            for kind, rate in look.actions.items() if look else ():
                actions[kind] += rate
        return {
            **finops_of(told.said.values()),
            "actionRatesPerSec": dict(actions),
            **told.head(),
            "queriedAt": queried_at(now),
        }


def _span(asked: Asked, now: int) -> tuple[int, int]:
    """How many seconds, and until when; raises Problem for times that cannot be read."""
    first, last = _second(asked, "from"), _second(asked, "to")
    until = now if last is None else min(last, now)
    if first is None:
        return asked.duration("duration", DEFAULT_SECONDS, MOST_SECONDS), until
    if first >= until:
        raise bad("from", "from is not before to, or lies ahead")
    if (kept := now - MOST_SECONDS) > first:
        asked.clamped["from"] = MOST_SECONDS
    return max(1, until - max(first, kept)), until


def _second(asked: Asked, name: str) -> int | None:
    if not (said := asked.text(name)):
        return None
    found = instant_of(said)
    if found is None:
        raise bad(name, f"{said[:40]!r} is not a time; write 2026-11-18T14:00:00Z")
    return found // SECOND


def _last(values: Sequence[float | None]) -> float:
    return next((value for value in reversed(values) if value is not None), 0.0)


def spending_by_name(rows: Iterable[SpendingRow]) -> list[dict[str, Any]]:
    """What costs most first."""
    parts: defaultdict[str, list[SpendingRow]] = defaultdict(list)
    for row in rows:
        parts[row.name].append(row)
    found = [{"name": name, **totals_of(some)} for name, some in parts.items()]
    return sorted(found, key=lambda each: (-each["dollarsPerHour"], each["name"]))


def totals_of(rows: Iterable[SpendingRow]) -> dict[str, Any]:
    all_rows = list(rows)
    idle = [row for row in all_rows if row.state is MachineState.IDLE]
    states: Counter[str] = Counter()
    for row in all_rows:
        states[row.state.label] += row.machines
    return {
        "machines": sum(row.machines for row in all_rows),
        "committedMachines": sum(row.unpriced for row in all_rows),
        "machinesByState": dict(states),
        "dollarsPerHour": sum(row.dollars_per_hour for row in all_rows),
        "idleDollarsPerHour": sum(row.dollars_per_hour for row in idle),
        "expectedInterruptionDollarsPerHour": sum(
            row.expected_interruption_per_hour for row in all_rows
        ),
        "pinnedMachinesAtRisk": sum(row.pinned for row in all_rows),
    }


def finops_of(told: Iterable[ShardFigures]) -> dict[str, Any]:
    shards = list(told)
    configured: defaultdict[str, Counter[str]] = defaultdict(Counter)
    by_bucket: Counter[str] = Counter()
    demand: Counter[str] = Counter()
    for each in shards:
        demand.update(each.demand_by_bucket)
        for sort in each.sorts:
            if sort.state is MachineState.CONFIGURED:
                configured[sort.capacity_type.label][sort.penalty_bucket] += sort.machines
                by_bucket[sort.penalty_bucket] += sort.machines
    idle = count_of_capacity(shards, MachineState.IDLE)
    by_type = {kind: sum(counts.values()) for kind, counts in configured.items()}
    total = sum(by_type.values())
    return {
        "totals": {
            "configuredMachines": total,
            "idleMachines": sum(idle.values()),
            "demandMachines": sum(demand.values()),
            "spotConfiguredFraction": by_type.get(_SPOT, 0) / total if total else 0.0,
            "pinnedConfiguredFraction": by_bucket[_PINNED] / total if total else 0.0,
        },
        "capacityTypes": _types({*by_type, *idle}),
        "buckets": sorted({*by_bucket, *demand}, key=_bucket_order),
        "configuredByCapacityType": by_type,
        "idleByCapacityType": idle,
        "configured": {kind: dict(counts) for kind, counts in configured.items()},
        "configuredByBucket": dict(by_bucket),
        "demand": dict(demand),
        "redFlags": red_flags(configured.get(_SPOT, Counter())),
    }


def _types(found: set[str]) -> list[str]:
    known = [kind.label for kind in _ORDER]
    return [*known, *sorted(found - set(known))]


def _bucket_order(label: str) -> tuple[int, int]:
    """By number, pinned last; what is not said comes first."""
    bucket = LABELS.get(label, UNSPECIFIED)
    return (int(bucket == PINNED), bucket)


def red_flags(on_spot: Mapping[str, int]) -> list[dict[str, Any]]:
    """Machines on Spot whose workload says that it should not be."""
    flags = []
    for label in sorted(on_spot, key=_bucket_order, reverse=True):
        bucket, count = LABELS.get(label, UNSPECIFIED), on_spot[label]
        if bucket == PINNED:
            severity, why = "danger", "never to be interrupted"
        elif bucket >= _SPOT_CROSSOVER_BUCKET:
            severity, why = "warn", f"that declare ${label} for an interruption"
        else:
            continue
        what = "machine" if count == 1 else "machines"
        flags.append(
            {
                "severity": severity,
                "capacityType": _SPOT,
                "bucket": label,
                "count": count,
                "message": f"{count} Spot {what} run workloads {why}",
            }
        )
    return flags


def operations(fleet: Fleet) -> list[Operation]:
    costs = CostRoutes(fleet)
    return [
        Operation(
            "/finops/snapshot",
            "getFinops",
            "Which capacity carries which interruption penalty, with red flags.",
            costs.finops,
            Finops,
            compatible=True,
            example="/finops/snapshot",
        ),
        Operation(
            "/costs",
            "getCosts",
            "Dollars per hour now, by an axis: billed, idle, and declared interruptions apart.",
            costs.costs,
            Costs,
            (
                Param(
                    "by",
                    "What it is told by.",
                    default=str(CostAxis.CLUSTER),
                    choices=(*AXES, *_LATER),
                    example="zone",
                ),
                Param("from", "Costs of the past are not kept yet."),
                Param("to", "Costs of the past are not kept yet."),
                Param("at", "As of a past cycle of one shard, 18231 or 3:18231."),
                Param("shard", "Only of this shard.", example="shard-0"),
                FORMAT,
            ),
            problems=(
                HTTPStatus.BAD_REQUEST,
                HTTPStatus.NOT_FOUND,
                HTTPStatus.SERVICE_UNAVAILABLE,
            ),
            media=(JSON, CSV),
            example="/costs?by=zone",
        ),
        Operation(
            "/costs/series",
            "getCostSeries",
            "Dollars per hour over the last day at most, by an axis; null where nothing was "
            "measured.",
            costs.series,
            CostSeriesShape,
            (
                Param(
                    "by",
                    "What it is told by.",
                    default=str(CostAxis.CLUSTER),
                    choices=AXES,
                    example="capacity",
                ),
                Param("from", "Since when, in RFC 3339; instead of duration."),
                Param("to", "Until when, in RFC 3339; now unless said."),
                DURATION,
                Param("step", "Between two samples; as fine as 720 samples allow unless said."),
                FORMAT,
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE),
            media=(JSON, CSV),
            example="/costs/series?by=capacity&duration=15m",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
