"""Law 6: no Need is left short of a machine that a strictly lower Need acquired.

What a Need "could have used" is written out here from the law's own words: it matches, holds a
MinUnit, is not held and not reserved for another Need; a Same Need's lies in its recorded domain,
a strict Spread Need's within its skew. Every phase goes by precedence (U22), so what a gang of
lower precedence speaks for never excuses a higher one that is left short. One thing does, where the
machines of a rack are not alike: what a gang ahead spoke for by id and left because a cheaper one
covered it (ruling E27).
"""

from collections import Counter

from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.needs import Need
from bigfleet.model.profiles import precedence_of_fingerprint
from tests.generated.agreement import SomeDecision
from tests.generated.laws import acquired_by, machines_by_id

_FREE = (MachineState.IDLE, MachineState.SPECULATIVE)


def no_need_is_short_of_what_a_lower_need_acquired(
    fleet: Fleet, decision: SomeDecision
) -> list[str]:
    machines = machines_by_id(fleet)
    holders = acquired_by(decision)
    broken = []
    for number, verdict in enumerate(decision.verdicts):
        if verdict.satisfied or verdict.parked:
            continue
        for name, holder in holders.items():
            lower = decision.verdicts[holder].need.profile.precedence
            if lower < verdict.need.profile.precedence and could_have_used(
                fleet, decision, number, machines[name]
            ):
                broken.append(f"need {number} is short of {name}, which need {holder} acquired")
    return broken


def could_have_used(fleet: Fleet, decision: SomeDecision, number: int, each: FleetMachine) -> bool:
    verdict = decision.verdicts[number]
    need = verdict.need
    if not may_take(fleet, decision, need, each):
        return False
    same, spread = need.profile.same, need.profile.strict_spread
    if same is not None:
        inside = verdict.domain is not None and each.machine.attribute(same.key) == verdict.domain
        return inside and not left_by_a_gang_ahead(fleet, decision, number, each)
    if spread is not None:
        return within_skew(fleet, decision, number, each)
    return True


def may_take(fleet: Fleet, decision: SomeDecision, need: Need, each: FleetMachine) -> bool:
    machine = each.machine
    fits = all(r.met_by(machine.attribute(r.key)) for r in need.profile.requirements)
    if not fits or not machine.effective_allocatable.covers(need.min_unit):
        return False
    return (
        machine.state in _FREE
        and each.marks.held is None
        and not withheld(fleet, decision, need, each)
    )


def withheld(fleet: Fleet, decision: SomeDecision, need: Need, each: FleetMachine) -> bool:
    """Reserved for another Need that is still there and is not strictly lower."""
    held = fleet.memory.reservations.get(each.machine.id)
    if held is None:
        return False
    if held.kind is ReservationKind.OFFER:
        return True
    if held.kind is ReservationKind.TRANSFER_IN:
        if held.holder.fingerprint == need.key.fingerprint:
            return False
    elif held.holder == need.key or held.holder not in {v.need.key for v in decision.verdicts}:
        return False
    head = precedence_of_fingerprint(held.holder.fingerprint)
    return head is None or need.profile.precedence <= head


def left_by_a_gang_ahead(
    fleet: Fleet, decision: SomeDecision, number: int, each: FleetMachine
) -> bool:
    """Ruling E27: the gang acquired nothing (U10), and the stock it was shown is not all alike."""
    mine = decision.verdicts[number]
    if mine.bootstraps + mine.provisions > 0:
        return False
    for position, verdict in enumerate(decision.verdicts):
        same = verdict.need.profile.same
        ahead = turn(decision, position) < turn(decision, number)
        if not ahead or same is None or verdict.parked or verdict.domain is None:
            continue
        stock = [
            other
            for other in fleet.machines
            if other.machine.attribute(same.key) == verdict.domain
            and may_take(fleet, decision, verdict.need, other)
        ]
        if each in stock and len({kind_of(other) for other in stock}) > 1:
            return True
    return False


def kind_of(each: FleetMachine) -> tuple[object, ...]:
    """What machines that are alike in every decision have in common."""
    machine = each.machine
    return (
        machine.effective_allocatable.positive(),
        machine.price_per_hour,
        machine.interruption_probability,
        machine.instance_type,
        machine.zone,
        tuple(sorted(machine.labels.items())),
    )


def within_skew(fleet: Fleet, decision: SomeDecision, number: int, each: FleetMachine) -> bool:
    """Whether one more machine there would have kept the Need's skew when its turn ended."""
    verdict = decision.verdicts[number]
    spread = verdict.need.profile.strict_spread
    assert spread is not None
    machines = machines_by_id(fleet)
    counts: Counter[str] = Counter()
    for other in free_after_the_turn_of(fleet, decision, number):
        counts[other.machine.attribute(spread.topology_key) or ""] += 0
    for name in verdict.claimed:
        counts[machines[name].machine.attribute(spread.topology_key) or ""] += 1
    del counts[""]
    mine = each.machine.attribute(spread.topology_key) or ""
    return mine in counts and counts[mine] < min(counts.values()) + max(1, spread.max_skew)


def free_after_the_turn_of(fleet: Fleet, decision: SomeDecision, number: int) -> list[FleetMachine]:
    """What the Need might take and no Need before it in precedence had acquired."""
    mine = decision.verdicts[number]
    holders = acquired_by(decision)
    return [
        each
        for each in fleet.machines
        if may_take(fleet, decision, mine.need, each)
        and (
            each.machine.id not in holders
            or turn(decision, holders[each.machine.id]) >= turn(decision, number)
        )
    ]


def turn(decision: SomeDecision, position: int) -> tuple[int, int, int, int]:
    """Its place in the order of every phase."""
    priority, interruption, reclamation = decision.verdicts[position].need.profile.precedence
    return (-priority, -interruption, -reclamation, position)
