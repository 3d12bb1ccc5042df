"""Situation: a fleet and the decision on it, indexed for the questions reasons ask.

Machines of one shape (attributes and capacity) are matched against a Need once. Nothing here
decides; who claims what is read from the verdicts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bigfleet.engine.decision import Verdict
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources

#: States a Need may take a machine from, or see it taken in.
SUPPLY_STATES = (MachineState.IDLE, MachineState.SPECULATIVE, MachineState.CONFIGURED)

_ShapeKey = tuple[str, str, tuple[tuple[str, str], ...], Resources]
_Asked = tuple[tuple[Requirement, ...], Resources]


class Decided(Protocol):
    """What a cycle decided, whoever keeps it."""

    @property
    def actions(self) -> tuple[Action, ...]: ...

    @property
    def verdicts(self) -> tuple[Verdict, ...]: ...


@dataclass(frozen=True, slots=True)
class Shape:
    """Machines no requirement and no unit can tell apart."""

    example: Machine
    machines: list[FleetMachine]


@dataclass(frozen=True, slots=True)
class Pool:
    """What a Need could have had of one state in one domain, in the order it picks."""

    position_of_machine: Mapping[str, int]
    taken: int
    #: The first one it left.
    following: Machine | None


@dataclass(frozen=True, slots=True)
class Situation:
    fleet: Fleet
    decision: Decided
    #: The cycle all reasons speak about.
    cycle: str
    machine_of_id: Mapping[str, FleetMachine]
    shapes: tuple[Shape, ...]
    #: Who claims a machine this cycle.
    holder_of_machine: Mapping[str, Verdict]
    configured_of_cluster: Mapping[str, int]
    #: Of those, the ones some Need claims.
    claimed_of_cluster: Mapping[str, int]
    preempts_of_need: Mapping[NeedKey, list[Action]]
    #: By Need, state and domain; filled as reasons are asked for.
    pools: dict[tuple[int, MachineState, str | None], Pool] = field(default_factory=dict)
    _fitting: dict[_Asked, tuple[FleetMachine, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, fleet: Fleet, decision: Decided, cycle: str) -> "Situation":
        shapes: dict[_ShapeKey, Shape] = {}
        configured: Counter[str] = Counter()
        claimed: Counter[str] = Counter()
        holders = {machine: v for v in decision.verdicts for machine in v.claimed}
        for entry in fleet.machines:
            machine = entry.machine
            key = (
                machine.instance_type,
                machine.zone,
                tuple(machine.labels.items()),
                machine.effective_allocatable,
            )
            shapes.setdefault(key, Shape(machine, [])).machines.append(entry)
            if machine.state is MachineState.CONFIGURED:
                configured[machine.cluster] += 1
                claimed[machine.cluster] += machine.id in holders
        return cls(
            fleet,
            decision,
            cycle,
            {entry.machine.id: entry for entry in fleet.machines},
            tuple(shapes.values()),
            holders,
            configured,
            claimed,
            _preempts_of(decision),
        )

    def fitting(self, need: Need) -> tuple[FleetMachine, ...]:
        """Machines in any state that meet the requirements and hold one unit."""
        asked = (need.profile.requirements, need.min_unit)
        known = self._fitting.get(asked)
        if known is None:
            known = self._fitting[asked] = tuple(
                entry
                for shape in self.shapes
                if failed_requirement(need, shape.example) is None
                and shape.example.effective_allocatable.covers(need.min_unit)
                for entry in shape.machines
            )
        return known

    def reserved_for_other(self, machine_id: str, need: Need) -> bool:
        reservation = self.fleet.memory.reservations.get(machine_id)
        return reservation is not None and not is_for(reservation, need)

    def is_ready(self, cluster: str) -> bool:
        ready = self.fleet.options.clusters_ready
        return ready is None or cluster in ready


def _preempts_of(decision: Decided) -> dict[NeedKey, list[Action]]:
    preempts: dict[NeedKey, list[Action]] = {}
    for action in decision.actions:
        if action.kind is ActionKind.PREEMPT and action.need is not None:
            preempts.setdefault(decision.verdicts[action.need].need.key, []).append(action)
    return preempts


def is_for(reservation: Reservation, need: Need) -> bool:
    return reservation.holder == need.key


def failed_requirement(need: Need, machine: Machine) -> Requirement | None:
    """The first requirement the machine does not meet."""
    for requirement in need.profile.requirements:
        if not requirement.met_by(machine.attribute(requirement.key)):
            return requirement
    return None


def total_of(machines: Iterable[FleetMachine]) -> Resources:
    total = Resources()
    for entry in machines:
        total = total.plus(entry.machine.effective_allocatable)
    return total


def demanded(amounts: Resources, need: Need) -> dict[str, str]:
    """Amounts as texts, only in the dimensions the Need asks for."""
    asked = {name for name, amount in need.aggregate.amounts if amount > 0}
    return {name: text for name, text in amounts.texts().items() if name in asked}


def need_name(need: Need) -> str:
    return f"need/{need.cluster}/{need.key.need_id}"


def machine_name(machine_id: str) -> str:
    return f"machine/{machine_id}"
