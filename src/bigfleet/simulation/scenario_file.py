"""From a scenario file to a Scenario: all that is wrong with it is told at once, with its lines."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from bigfleet.fleetfile.complaints import Complaints, nearest, shown
from bigfleet.fleetfile.machines import machines_of
from bigfleet.fleetfile.reader import load_fleet
from bigfleet.fleetfile.records import INT32, Record
from bigfleet.fleetfile.yaml_dialect import decode_yaml, lines_of
from bigfleet.model.durations import seconds_of
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.syntax import why_not_cluster_id, why_not_label_value
from bigfleet.provider.sim.world.distributions import (
    BadDistribution,
    Distribution,
    distribution_of,
)
from bigfleet.provider.sim.world.offerings import KINDS, STEPS
from bigfleet.provider.sim.world.verbs import BadCommand, command_of_mapping
from bigfleet.shard.settings import ShardSettings
from bigfleet.simulation.coordinator import END as COORDINATOR
from bigfleet.simulation.expressions import (
    BadExpression,
    Sentence,
    expression_of,
    sentence_of,
)
from bigfleet.simulation.faults import (
    DRAWN,
    EVENTS,
    FAULTS,
    NOT_YET,
    NOT_YET_KEYS,
    PROVIDER_VERBS,
    Argument,
    Deed,
)
from bigfleet.simulation.figures import NAMES, NUMERIC, UNKNOWN
from bigfleet.simulation.scenario import (
    PROVIDER,
    Assertion,
    Chaos,
    Happening,
    Scenario,
    Supply,
    WorkloadPlan,
)
from bigfleet.simulation.settings_of import BadSetting, with_setting
from bigfleet.simulation.workload_records import WorkloadReader, length_of

_KEYS = frozenset(
    "version kind name seed duration cycle fleet provider shards clusters workloads settings events"
    " faults chaos assertions settle story owners".split()
)
_PROVIDER_KEYS = frozenset({"latency", "failureRate", "interruptions", "notice"})
_WHEN = ("always", "never", "final", "within", "at")
_ASSERTION_KEYS = frozenset({"name", "expect", "of", "except", *_WHEN})
MOST_SHARDS = 10
_STARTS_AS = (MachineState.IDLE, MachineState.SPECULATIVE)


def load_scenario(content: bytes, folder: Path | None = None) -> Scenario:
    """`folder`: where files that the scenario names are looked for. Raises BadInput."""
    try:
        text = content.decode()
        document = decode_yaml(text)
    except UnicodeDecodeError as error:
        raise BadInput([Problem("", f"not UTF-8 text: {error}")]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise BadInput([Problem("", f"not valid YAML: {error.problem}{place}")]) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadInput([Problem("", f"not valid YAML: {error}")]) from None
    complaints = Complaints()
    if not isinstance(document, dict):
        text_of = f"{shown(document)}: a scenario is a mapping: version: 1, kind: Scenario"
        raise BadInput([Problem("", text_of)])
    found = _Reader(Record(document, (), complaints), folder).scenario()
    complaints.raise_if_any(lines_of(text))
    return found


class _Reader:
    def __init__(self, root: Record, folder: Path | None) -> None:
        self._root, self._folder = root, folder
        #: With the zones each may use; empty: all.
        self._clusters: Mapping[str, tuple[str, ...]] = {}
        self._workloads: tuple[str, ...] = ()
        self._zones: tuple[str, ...] = ()
        self._shards = 1
        self._shard_of_cluster: dict[str, str] = {}
        #: No event and no fault reaches beyond its own end.
        self._duration = self._faults_end = 0.0

    def scenario(self) -> Scenario:
        root = self._root
        root.check_keys(_KEYS | NOT_YET_KEYS.keys())
        for key in root.raw.keys() & NOT_YET_KEYS.keys():
            text = f"not simulated in this version; {NOT_YET_KEYS[key]}"
            root.complaints.add((key,), text)
        if root.raw.get("version") != 1:
            root.refuse("version", "write version: 1")
        if root.raw.get("kind") != "Scenario":
            root.refuse("kind", "write kind: Scenario")
        supply = self._supply()
        self._shards = root.whole("shards", 1, 1, MOST_SHARDS)
        self._clusters = dict(self._cluster_records())
        if not self._clusters:
            root.miss("clusters", "write a list like [{id: shop}]")
        plans = tuple(self._plans())
        self._duration = length_of(root, "duration", 600.0, least=1.0)
        settle = length_of(root, "settle", 0.0)
        if settle >= self._duration:
            root.refuse("settle", "write less than duration: it is the last part of it")
        self._faults_end = self._duration - settle
        events = tuple(self._events())
        return Scenario(
            root.text("name", "scenario", why_not=why_not_label_value),
            root.whole("seed", 1, 0, INT32[1]),
            self._duration,
            supply,
            tuple(self._clusters),
            plans,
            self._settings(),
            self._shards,
            self._owners(),
            self._shard_of_cluster,
            (*events, *self._story()),
            tuple(self._faults()),
            self._chaos(),
            tuple(self._assertions(events)),
            self._faults_end if settle else None,
        )

    # -- supply ----------------------------------------------------------------------------------

    def _supply(self) -> Supply:
        fleet, provider = self._root.record("fleet"), self._root.record("provider")
        fleet.check_keys(frozenset({"generate", "file"}))
        machines = machines_of(fleet.records("generate"))
        if "file" in fleet.raw:
            machines += self._machines_in(fleet)
        if not machines:
            self._root.miss("fleet", "write fleet: {generate: [...]} or fleet: {file: fleet.yaml}")
        for each in machines:
            if each.machine.state not in _STARTS_AS:
                label = each.machine.state.label
                text = f"machine {each.machine.id} is {label}; a scenario begins with Idle and"
                fleet.complaints.add(("fleet",), f"{text} Speculative machines")
                break
        ids = Counter(each.machine.id for each in machines)
        if twice := [machine for machine, count in ids.items() if count > 1]:
            fleet.complaints.add(("fleet",), f"machine {twice[0]} is there twice; rename one")
        self._zones = tuple(sorted({each.machine.zone for each in machines}))
        provider.check_keys(_PROVIDER_KEYS)
        return Supply(
            machines,
            dict(self._latencies(provider.record("latency"))),
            dict(self._rates(provider.record("failureRate"))),
            provider.flag("interruptions", True),
            length_of(provider, "notice", 120.0),
        )

    def _machines_in(self, fleet: Record) -> tuple[FleetMachine, ...]:
        name = fleet.text("file")
        if self._folder is None:
            fleet.refuse("file", "a scenario without a folder names no files; write generate:")
            return ()
        try:
            content = (self._folder / name).read_bytes()
            return load_fleet(content, name).machines
        except OSError as problem:
            fleet.refuse("file", str(problem))
        except BadInput as problem:
            fleet.refuse("file", str(problem.problems[0]))
        return ()

    def _latencies(self, record: Record) -> Iterator[tuple[str, Distribution]]:
        for step, value in record.raw.items():
            if step not in STEPS:
                record.complaints.add_choice((*record.path, str(step)), step, STEPS)
                continue
            try:
                yield step, distribution_of(str(value))
            except BadDistribution as problem:
                record.refuse(step, str(problem))

    def _rates(self, record: Record) -> Iterator[tuple[str, float]]:
        record.check_keys(frozenset(KINDS))
        for kind in record.raw.keys() & set(KINDS):
            yield kind, record.amount(kind, 0.0, 1.0)

    def _cluster_records(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        known: set[str] = set()
        for record in self._root.records("clusters"):
            record.check_keys(frozenset({"id", "zones", "shard"}))
            name = record.text("id", required="name the cluster", why_not=why_not_cluster_id)
            turn = self._shard_names[len(known) % self._shards]
            self._shard_of_cluster[name] = self._one_of(record, "shard", self._shard_names) or turn
            if name in known:
                record.refuse("id", "another cluster has this id")
            known.add(name)
            zones = tuple(record.texts("zones"))
            for place, zone in enumerate(zones):
                if zone not in self._zones:
                    record.complaints.add_choice((*record.path, "zones", place), zone, self._zones)
            yield name, zones

    def _owners(self) -> Mapping[str, str]:
        """Zones are dealt to the shards in turn, but for those that `owners` names."""
        record = self._root.record("owners")
        record.check_keys(frozenset(self._zones))
        owners = {}
        for number, zone in enumerate(self._zones):
            named = self._one_of(record, zone, self._shard_names) if zone in record.raw else ""
            owners[zone] = named or self._shard_names[number % self._shards]
        return owners

    def _plans(self) -> Iterator[WorkloadPlan]:
        reader, known = WorkloadReader(self._clusters, self._folder), set()
        for record in self._root.records("workloads"):
            plan = reader.plan(record)
            if plan.workload.name in known:
                record.refuse("name", "another workload has this name")
            known.add(plan.workload.name)
            yield plan
        self._workloads = tuple(known)

    def _settings(self) -> ShardSettings:
        settings, record = ShardSettings(), self._root.record("settings")
        values: dict[str, Any] = dict(record.raw)
        if "cycle" in self._root.raw:
            values = {"cycle_interval": self._root.raw["cycle"], **values}
        for name, value in values.items():
            try:
                settings = with_setting(settings, str(name), value)
            except BadSetting as problem:
                record.complaints.add((*record.path, str(name)), str(problem))
        return settings

    # -- what happens ----------------------------------------------------------------------------

    def _events(self) -> Iterator[Happening]:
        for record in self._root.records("events"):
            do = self._deed(record, {**EVENTS, **_AS_EVENTS})
            if do == "move-zone" and self._shards == 1:
                record.refuse("do", "there is one shard; write shards: 2")
            at, name = self._moment(record, "at"), record.text("name")
            taken = frozenset({"at", "do", "name"})
            if do in EVENTS:
                yield Happening(
                    at, do, self._arguments(record, EVENTS[do], taken), None, name or do
                )
            elif do:
                given = {key: value for key, value in record.raw.items() if key not in taken}
                try:
                    command_of_mapping(do, given)
                except BadCommand as problem:
                    record.complaints.add(record.path, str(problem))
                yield Happening(at, do, given, None, name or do)

    def _faults(self) -> Iterator[Happening]:
        taken = frozenset({"from", "for", "do", "name"})
        for record in self._root.records("faults"):
            do = self._deed(record, FAULTS)
            begins, lasts = self._moment(record, "from"), length_of(record, "for", 60.0)
            if self._faults_end < self._duration and begins + lasts > self._faults_end:
                text = f"it ends after {self._faults_end:g} s, where settle begins; end it before"
                record.complaints.add(record.path, text)
            if do:
                arguments = self._arguments(record, FAULTS[do], taken)
                yield Happening(begins, do, arguments, lasts, record.text("name") or do)

    def _story(self) -> Iterator[Happening]:
        for record in self._root.records("story"):
            record.check_keys(frozenset({"at", "say"}))
            text = self._sentence(record, "say")
            yield Happening(self._moment(record, "at"), "say", {"text": text}, None, "say")

    def _sentence(self, record: Record, key: str) -> Sentence:
        text = record.text(key, required="write a sentence; {pods_waiting} in it is a number")
        try:
            return sentence_of(text, NAMES, NUMERIC)
        except BadExpression as problem:
            record.complaints.add((*record.path, key), str(problem))
            return Sentence(())

    def _moment(self, record: Record, key: str) -> float:
        """When something happens, which is before the end."""
        at = length_of(record, key, 0.0)
        if at > self._duration:
            record.refuse(key, f"after the end, which is at {self._duration:g} s; write less")
        return at

    def _deed(self, record: Record, known: Mapping[str, Deed]) -> str:
        do = record.text("do", required=f"one of {', '.join(known)}")
        if do in known or not do:
            return do
        if do in NOT_YET:
            record.refuse("do", f"not simulated here; {NOT_YET[do]}")
        else:
            record.complaints.add_choice((*record.path, "do"), do, known)
        return ""

    def _arguments(self, record: Record, deed: Deed, taken: frozenset[str]) -> Mapping[str, object]:
        record.check_keys(taken | frozenset(deed.arguments))
        found = {name: self._argument(record, name, each) for name, each in deed.arguments.items()}
        return {name: value for name, value in found.items() if value is not None}

    def _argument(self, record: Record, name: str, wanted: Argument) -> object:
        if name not in record.raw:
            if wanted.required:
                record.miss(name, f"write its {wanted.kind}")
            return wanted.default
        match wanted.kind:
            case "number":
                return record.amount(name, 1.0)
            case "share":
                return record.amount(name, 0.0, 1.0)
            case "seconds":
                return length_of(record, name, 0.0)
            case "ends":
                ends = record.texts(name)
                if len(ends) != 2:
                    record.refuse(name, "write two processes: [operator/shop, shard/shard-0]")
                for each in ends:
                    self._check_process(record, name, each)
                return tuple(ends)
            case "process":
                return self._check_process(record, name, record.text(name))
            case "zone":
                return self._one_of(record, name, self._zones)
            case "cluster":
                return self._one_of(record, name, tuple(self._clusters))
            case "workload":
                return self._one_of(record, name, self._workloads)
            case "shard":
                return self._one_of(record, name, self._shard_names)
            case "sentence":
                return self._sentence(record, name)
            case _:
                return str(record.raw[name])

    @property
    def _shard_names(self) -> tuple[str, ...]:
        return tuple(f"shard-{n}" for n in range(self._shards))

    def _one_of(self, record: Record, name: str, known: tuple[str, ...]) -> str:
        value = record.text(name)
        if value and value not in known:
            record.complaints.add_choice((*record.path, name), value, known)
        return value

    def _check_process(self, record: Record, name: str, value: str) -> str:
        known = (
            *(f"operator/{each}" for each in self._clusters),
            *(f"shard/{each}" for each in self._shard_names),
            f"provider/{PROVIDER}",
            *([COORDINATOR] if self._shards > 1 else []),
        )
        if value not in known:
            record.complaints.add_choice((*record.path, name), value, known)
        return value

    def _chaos(self) -> Chaos | None:
        if "chaos" not in self._root.raw:
            return None
        record = self._root.record("chaos")
        record.check_keys(frozenset({"perMinute", "do", "lasting", "from", "to"}))
        kinds = tuple(record.texts("do")) or DRAWN
        for place, kind in enumerate(kinds):
            if kind not in DRAWN:
                record.complaints.add_choice((*record.path, "do", place), kind, DRAWN)
        lasting = record.texts("lasting") or ["5s", "60s"]
        found = [seconds_of(each) for each in lasting]
        if len(found) != 2 or None in found or (found[0] or 0.0) > (found[1] or 0.0):
            record.refuse("lasting", "write the shortest and the longest: [5s, 60s]")
            found = [5.0, 60.0]
        ends = length_of(record, "to", self._faults_end)
        if ends > self._faults_end:
            record.refuse("to", f"write at most {self._faults_end:g} s: faults end before the run")
        return Chaos(
            record.amount("perMinute", 2.0, 600.0),
            kinds,
            (found[0] or 0.0, found[1] or 0.0),
            length_of(record, "from", 30.0),
            ends,
        )

    # -- what must hold --------------------------------------------------------------------------

    def _assertions(self, events: tuple[Happening, ...]) -> Iterator[Assertion]:
        names = {each.name for each in events}
        for record in self._root.records("assertions"):
            record.check_keys(_ASSERTION_KEYS)
            kinds = [kind for kind in _WHEN if kind in record.raw]
            if len(kinds) != 1:
                record.complaints.add(record.path, f"write exactly one of {', '.join(_WHEN)}")
                continue
            (kind,) = kinds
            key = "expect" if kind in ("within", "at") else kind
            text = record.text(key, required="write an expression like cost_per_hour < 60")
            excepted = record.record("except")
            excepted.check_keys(frozenset({"after-event", "for"}))
            try:
                expression = expression_of(text, NAMES, NUMERIC)
            except BadExpression as problem:
                if text:
                    record.complaints.add((*record.path, key), _with_unknown(text, str(problem)))
                continue
            yield Assertion(
                record.text("name") or text,
                kind,
                expression,
                length_of(record, kind, 0.0) if key == "expect" else 0.0,
                self._of(record, names),
                self._event(excepted, "after-event", names) if excepted.raw else "",
                length_of(excepted, "for", 60.0),
            )

    def _of(self, record: Record, names: set[str]) -> str:
        if isinstance(record.raw.get("of"), dict):
            return self._event(record.record("of"), "event", names)
        if record.raw.get("of") not in (None, "start"):
            record.refuse("of", "write start, or {event: NAME}")
        return ""

    def _event(self, record: Record, key: str, names: set[str]) -> str:
        name = record.text(key, required="name an event")
        if name and name not in names:
            record.complaints.add_choice((*record.path, key), name, sorted(names))
        return name


_AS_EVENTS = {name: Deed("", {}) for name in PROVIDER_VERBS}


def _with_unknown(text: str, problem: str) -> str:
    """Names that exist and cannot be known here say why."""
    for name, why in UNKNOWN.items():
        if name in text:
            return f"{name} is unknown in a simulation: {why}"
    for word in text.replace("(", " ").split():
        if (guess := nearest(word, NAMES)) and word not in NAMES and word in problem:
            return f"{problem}; did you mean {guess}?"
    return problem
