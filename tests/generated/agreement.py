"""Agreement: where the engine's decision differs from the oracle's, in words."""

from collections.abc import Sequence
from typing import Protocol

from bigfleet.model.actions import Action, UnmetReason
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources


class SomeVerdict(Protocol):
    """A verdict of the engine or of the oracle: the fields both report."""

    @property
    def need(self) -> Need: ...
    @property
    def members(self) -> tuple[int, ...]: ...
    @property
    def folded(self) -> bool: ...
    @property
    def satisfied(self) -> bool: ...
    @property
    def deficit(self) -> Resources: ...
    @property
    def unresolved(self) -> Resources: ...
    @property
    def claimed(self) -> tuple[str, ...]: ...
    @property
    def bootstraps(self) -> int: ...
    @property
    def provisions(self) -> int: ...
    @property
    def preempts(self) -> int: ...
    @property
    def domain(self) -> str | None: ...
    @property
    def same_satisfiable(self) -> bool: ...
    @property
    def parked(self) -> bool: ...
    @property
    def matching_supply(self) -> bool: ...
    @property
    def unmet_reason(self) -> UnmetReason | None: ...


class SomeDecision(Protocol):
    @property
    def actions(self) -> Sequence[Action]: ...
    @property
    def verdicts(self) -> Sequence[SomeVerdict]: ...
    @property
    def memory(self) -> EngineMemory: ...


def differences(engine: SomeDecision, oracle: SomeDecision) -> list[str]:
    """Every difference as `what: engine's, oracle's`; empty if the two decisions are one."""
    found = []
    if list(engine.actions) != list(oracle.actions):
        found.append(_line("actions", _briefly(engine.actions), _briefly(oracle.actions)))
    if len(engine.verdicts) != len(oracle.verdicts):
        found.append(_line("verdicts", len(engine.verdicts), len(oracle.verdicts)))
    for number, (mine, theirs) in enumerate(zip(engine.verdicts, oracle.verdicts, strict=False)):
        left, right = _facts(mine), _facts(theirs)
        found += [
            _line(f"verdicts[{number}].{name}", left[name], right[name])
            for name in left
            if left[name] != right[name]
        ]
    left, right = _remembered(engine.memory), _remembered(oracle.memory)
    found += [
        _line(f"memory.{name}", left[name], right[name])
        for name in left
        if left[name] != right[name]
    ]
    return found


def _facts(verdict: SomeVerdict) -> dict[str, object]:
    gang = verdict.need.profile.same is not None
    return {
        "identity": verdict.need.key,
        "aggregate": verdict.need.aggregate.positive(),
        "min_unit": verdict.need.min_unit.positive(),
        "arrival": verdict.need.arrival_unix_nanos,
        "members": sorted(verdict.members),
        "folded": verdict.folded,
        "satisfied": verdict.satisfied,
        "deficit": verdict.deficit.positive(),
        "unresolved": verdict.unresolved.positive(),
        "claimed": tuple(verdict.claimed),
        "bootstraps": verdict.bootstraps,
        "provisions": verdict.provisions,
        "preempts": verdict.preempts,
        "domain": verdict.domain,
        "same_satisfiable": gang and verdict.same_satisfiable,
        "parked": verdict.parked,
        "matching_supply": verdict.satisfied or verdict.matching_supply,
        "unmet_reason": verdict.unmet_reason,
    }


def _remembered(memory: EngineMemory) -> dict[str, object]:
    return {
        "reservations": dict(memory.reservations),
        "parking": dict(memory.parking),
        "shortfalls": {
            key: (entry.deficit.positive(), entry.age) for key, entry in memory.shortfalls.items()
        },
    }


def _briefly(actions: Sequence[Action]) -> list[tuple[object, ...]]:
    return [
        (a.kind.label, a.machine, a.cluster, a.need, a.grace_seconds, a.preemptor_priority)
        for a in actions
    ]


def _line(what: str, engine: object, oracle: object) -> str:
    return f"{what}\n  engine: {engine}\n  oracle: {oracle}"
