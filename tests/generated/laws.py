"""The laws of the decision engine that one cycle can keep or break, each as its sentence.

A law is a function of a fleet and a decision about it that returns what breaks it, in words; it is
written from the law's sentence and calls neither the engine nor the oracle.
"""

from collections import Counter
from collections.abc import Iterable

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.resources import Resources
from tests.generated.agreement import SomeDecision, SomeVerdict

_ACQUIRES = (ActionKind.BOOTSTRAP, ActionKind.PROVISION)
_ORDER_OF_STATES = (
    MachineState.SPECULATIVE,
    MachineState.IDLE,
    MachineState.CREATING,
    MachineState.CONFIGURING,
    MachineState.CONFIGURED,
)


def machines_by_id(fleet: Fleet) -> dict[str, FleetMachine]:
    return {each.machine.id: each for each in fleet.machines}


def left_of(wanted: Resources, machines: Iterable[FleetMachine]) -> Resources:
    total = Resources()
    for each in machines:
        total = total.plus(each.machine.effective_allocatable)
    return wanted.less(total).positive()


def one_claim_and_one_action_a_machine(fleet: Fleet, decision: SomeDecision) -> list[str]:
    """Law 1."""
    claims = Counter(name for verdict in decision.verdicts for name in verdict.claimed)
    acts = Counter(action.machine for action in decision.actions)
    known = set(machines_by_id(fleet))
    return [
        *(f"{name} is claimed {n} times" for name, n in claims.items() if n > 1),
        *(f"{name} is acted on {n} times" for name, n in acts.items() if n > 1),
        *(f"{name} is not a machine of the fleet" for name in {*claims, *acts} - known),
    ]


def deficits_are_what_claims_leave(fleet: Fleet, decision: SomeDecision) -> list[str]:
    """Law 2, first half: conservation."""
    machines = machines_by_id(fleet)
    broken = []
    for number, verdict in enumerate(decision.verdicts):
        left = left_of(verdict.need.aggregate, (machines[name] for name in verdict.claimed))
        if verdict.deficit.positive() != left:
            broken.append(f"need {number} reports {verdict.deficit}, its claims leave {left}")
        if verdict.satisfied != (not left.amounts):
            broken.append(f"need {number} says satisfied={verdict.satisfied}, short of {left}")
    return broken


def needs_stop_at_the_machine_that_covers_them(fleet: Fleet, decision: SomeDecision) -> list[str]:
    """Law 2, second half: without its last machine a covered Need would be short.

    The last one is a Speculative machine if it acquired any, else an Idle one if it acquired any,
    else one of the credited. A strict Spread goes from domain to domain: its last may be either.
    """
    machines = machines_by_id(fleet)
    broken = []
    for number, verdict in enumerate(decision.verdicts):
        claimed = [machines[name] for name in verdict.claimed]
        if not verdict.satisfied or not claimed:
            continue
        acquired_last = [
            [m for m in claimed if m.machine.state is state] for state in _ORDER_OF_STATES[:2]
        ]
        last = acquired_last[0] or acquired_last[1] or claimed
        if verdict.need.profile.strict_spread is not None:
            last = acquired_last[0] + acquired_last[1] or claimed
        if not any(
            left_of(verdict.need.aggregate, (m for m in claimed if m is not one)).amounts
            for one in last
        ):
            broken.append(f"need {number} goes on past the machine that covers it")
    return broken


def phase_three_takes_only_what_is_free_and_reported(
    fleet: Fleet, decision: SomeDecision
) -> list[str]:
    """Law 7."""
    machines = machines_by_id(fleet)
    claimed = {name for verdict in decision.verdicts for name in verdict.claimed}
    ready = fleet.options.clusters_ready
    broken = []
    for action in decision.actions:
        machine = machines[action.machine].machine
        if action.kind is ActionKind.RECLAIM:
            if machine.id in claimed:
                broken.append(f"{machine.id} is claimed and reclaimed")
            if ready is not None and machine.cluster not in ready:
                broken.append(f"{machine.id} is reclaimed before {machine.cluster} reported")
        if action.kind is ActionKind.DELETE:
            if machine.id in claimed:
                broken.append(f"{machine.id} is claimed and deleted")
            if machine.capacity_type not in (CapacityType.ON_DEMAND, CapacityType.SPOT):
                broken.append(f"{machine.id} is {machine.capacity_type.label} and deleted")
    return broken


def victims_are_strictly_lower(fleet: Fleet, decision: SomeDecision) -> list[str]:
    """Law 8, second half: by the priority of the Need that claims it, else the stamped one."""
    machines = machines_by_id(fleet)
    claimant = {
        name: verdict.need.profile.priority
        for verdict in decision.verdicts
        for name in verdict.claimed
    }
    broken = []
    for action in decision.actions:
        if action.kind is not ActionKind.PREEMPT:
            continue
        stamped = machines[action.machine].machine.assigned.priority
        priority = claimant.get(action.machine, stamped)
        if action.need is None or priority >= preemptor_of(decision, action.need):
            broken.append(f"{action.machine} of priority {priority} is preempted by {action.need}")
    return broken


def preemptor_of(decision: SomeDecision, need: int) -> int:
    return decision.verdicts[need].need.profile.priority


def no_more_victims_than_the_deficit_asks(fleet: Fleet, decision: SomeDecision) -> list[str]:
    """Law 8, first half, within a cycle: draining victims count before new ones are picked."""
    machines = machines_by_id(fleet)
    broken = []
    for number, verdict in enumerate(decision.verdicts):
        preempts = [
            a for a in decision.actions if a.kind is ActionKind.PREEMPT and a.need == number
        ]
        victims = [machines[a.machine] for a in preempts]
        # A gang that takes a whole domain has nothing on its way that it could use there.
        whole = any(a.whole_domain for a in preempts)
        draining = [] if whole else still_draining_for(fleet, decision, verdict)
        if len(victims) != verdict.preempts:
            broken.append(f"need {number} counts {verdict.preempts} of {len(victims)} victims")
        if victims and not left_of(verdict.deficit, [*draining, *victims[:-1]]).amounts:
            broken.append(f"need {number} preempts more than its deficit asks")
    return broken


def still_draining_for(
    fleet: Fleet, decision: SomeDecision, verdict: SomeVerdict
) -> list[FleetMachine]:
    """None if another Need shares the identity: then the victims may be counted for that one."""
    if [v.need.key for v in decision.verdicts].count(verdict.need.key) > 1:
        return []
    machines = machines_by_id(fleet)
    return [
        machines[name]
        for name, held in fleet.memory.reservations.items()
        if held.kind == "preemption"
        and held.holder == verdict.need.key
        and name in machines
        and machines[name].machine.state is MachineState.DRAINING
    ]


def acquired_by(decision: SomeDecision) -> dict[str, int]:
    """Machine to position of the Need that acquires it this cycle."""
    return {
        action.machine: action.need
        for action in decision.actions
        if action.kind in _ACQUIRES and action.need is not None
    }
