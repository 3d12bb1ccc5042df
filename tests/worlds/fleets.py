"""One cycle on a handful of machines and Needs, and how to read what it decided."""

from collections.abc import Iterable, Mapping

from bigfleet.engine.decision import Verdict
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Marks
from bigfleet.model.machines import (
    Assigned,
    CapacityType,
    Host,
    Instant,
    Machine,
    MachineState,
)
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import FileDecision, decide_fleet

#: The phases alone: demand is taken as it is written.
PHASES = EngineOptions(fold=False)
#: No cluster has reported: an unclaimed machine is not excess, and nothing is reclaimed.
UNREPORTED = EngineOptions(fold=False, clusters_ready=frozenset())
NOW: Instant = 1_700_000_000 * SECOND

_HOSTLESS = (MachineState.SPECULATIVE, MachineState.CREATING)


def machine(
    name: str,
    state: MachineState,
    offered: Resources,
    *,
    instance_type: str = "",
    zone: str = "",
    labels: Mapping[str, str] | None = None,
    capacity_type: CapacityType = CapacityType.BARE_METAL,
    price: float = 0.0,
    probability: float = 0.0,
    cluster: str = "",
    stamp: Assigned | None = None,
    marks: Marks | None = None,
) -> FleetMachine:
    """A sound machine of any state: it has a host where its state asks for one."""
    record = Machine(
        id=name,
        state=state,
        capacity_type=capacity_type,
        host=Host() if state in _HOSTLESS else Host("sim", name),
        cluster=cluster,
        instance_type=instance_type,
        zone=zone,
        labels=labels or {},
        resources=offered,
        price_per_hour=price,
        interruption_probability=probability,
        assigned=stamp or Assigned(),
    )
    return FleetMachine(record, marks or Marks())


def fleet_of(
    machines: Iterable[FleetMachine],
    needs: Iterable[Need] = (),
    *,
    options: EngineOptions = PHASES,
    now: Instant | None = None,
    memory: EngineMemory | None = None,
) -> Fleet:
    return Fleet(
        machines=tuple(machines),
        needs=tuple(FleetNeed(need) for need in needs),
        now=now,
        options=options,
        memory=memory or EngineMemory(),
    )


def decided(
    machines: Iterable[FleetMachine],
    needs: Iterable[Need] = (),
    *,
    options: EngineOptions = PHASES,
    now: Instant | None = None,
    memory: EngineMemory | None = None,
) -> FileDecision:
    return decide_fleet(fleet_of(machines, needs, options=options, now=now, memory=memory))


def memory_of(*reservations: Reservation) -> EngineMemory:
    return EngineMemory(reservations={r.machine: r for r in reservations})


def reserved(
    machine_id: str,
    need: Need,
    *,
    kind: ReservationKind = ReservationKind.PREEMPTION,
    expires_at: Instant | None = None,
) -> Reservation:
    return Reservation(machine_id, kind, need.key, expires_at)


def actions_of(decision: FileDecision, kind: ActionKind) -> list[Action]:
    return [action for action in decision.actions if action.kind is kind]


def machines_of(decision: FileDecision, kind: ActionKind) -> list[str]:
    """Machines acted on in one way, by id: worked cases compare them as sets."""
    return sorted(action.machine for action in actions_of(decision, kind))


def bootstrapped(decision: FileDecision) -> list[str]:
    return machines_of(decision, ActionKind.BOOTSTRAP)


def provisioned(decision: FileDecision) -> list[str]:
    return machines_of(decision, ActionKind.PROVISION)


def preempted(decision: FileDecision) -> list[str]:
    return machines_of(decision, ActionKind.PREEMPT)


def reclaimed(decision: FileDecision) -> list[str]:
    return machines_of(decision, ActionKind.RECLAIM)


def deleted(decision: FileDecision) -> list[str]:
    return machines_of(decision, ActionKind.DELETE)


def verdict_of(decision: FileDecision, need: int = 0) -> Verdict:
    """What became of the Need at this place of the list given."""
    return next(v for v in decision.verdicts if need in v.members)


def unsatisfied(decision: FileDecision) -> list[int]:
    return sorted(m for v in decision.verdicts if not v.satisfied for m in v.members)
