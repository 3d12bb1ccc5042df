"""Law 6: nobody is left short of a machine that a strictly lower Need acquired.

What a Need "could have used" is written out here from the law's own words: it matches, holds a
MinUnit, is not held and not reserved for somebody else; a Same Need's lies in its recorded domain,
a strict Spread Need's within its skew. A gang whose domain's stock earlier gangs had spoken for
acquires nothing that cycle by ruling U10, so what those could take it could not.
"""

from collections import Counter

from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.needs import Need
from bigfleet.model.profiles import precedence_of_fingerprint
from tests.generated.agreement import SomeDecision, SomeVerdict
from tests.generated.laws import acquired_by, machines_by_id

_FREE = (MachineState.IDLE, MachineState.SPECULATIVE)


def nobody_is_short_of_what_a_lower_need_acquired(
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
        return inside and not spoken_for_earlier(fleet, decision, number, each)
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
    """Reserved for somebody else who is still there and is not strictly lower."""
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


def spoken_for_earlier(
    fleet: Fleet, decision: SomeDecision, number: int, each: FleetMachine
) -> bool:
    """U10: the gang acquired nothing, and an earlier gang could take this very machine."""
    mine = decision.verdicts[number]
    if mine.bootstraps + mine.provisions > 0:
        return False
    return any(
        could_speak_for(fleet, decision, verdict, each)
        for position, verdict in enumerate(decision.verdicts)
        if turn(verdict, position) < turn(mine, number)
    )


def turn(verdict: SomeVerdict, position: int) -> tuple[int, int]:
    """Its place in the pre-pass."""
    return (-verdict.need.profile.priority, position)


def could_speak_for(
    fleet: Fleet, decision: SomeDecision, verdict: SomeVerdict, each: FleetMachine
) -> bool:
    same = verdict.need.profile.same
    if same is None or verdict.parked or verdict.domain is None:
        return False
    inside = each.machine.attribute(same.key) == verdict.domain
    return inside and may_take(fleet, decision, verdict.need, each)


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

    def order(position: int) -> tuple[int, int, int, int]:
        priority, interruption, reclamation = decision.verdicts[position].need.profile.precedence
        return (-priority, -interruption, -reclamation, position)

    holders = acquired_by(decision)
    return [
        each
        for each in fleet.machines
        if may_take(fleet, decision, mine.need, each)
        and (each.machine.id not in holders or order(holders[each.machine.id]) >= order(number))
    ]
