"""Rulings U1, U16 and U18: what a victim is worth this cycle, and which a spread may take."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from tests.worlds import gpus
from tests.worlds.fleets import (
    PHASES,
    UNREPORTED,
    actions_of,
    decided,
    memory_of,
    preempted,
    reclaimed,
    reserved,
    verdict_of,
)
from tests.worlds.gpus import MILLION, STRICT_ZONES, bound, plain

TRAIN = plain("train", MILLION, 1)


def test_unclaimed_excess_is_the_first_victim() -> None:
    """U1: a claimed machine of priority 0 would score higher, but the excess is leaving anyway."""
    batch = plain("batch", 0, 1)
    machines = [
        bound("a-kept", "batch", 0, reclamation=10.0),
        bound("b-excess", "batch", 400_000, reclamation=1.0),
    ]
    decision = decided(machines, [batch, TRAIN])
    assert verdict_of(decision, 0).claimed == ("a-kept",)
    (action,) = actions_of(decision, ActionKind.PREEMPT)
    assert (action.machine, action.grace_seconds) == ("b-excess", 30)


def test_what_a_silent_cluster_leaves_unclaimed_is_not_excess() -> None:
    """U1: then the score decides."""
    machines = [
        bound("a-kept", "batch", 0, reclamation=10.0),
        bound("b-unclaimed", "batch", 400_000, reclamation=1.0),
    ]
    decision = decided(machines, [plain("batch", 0, 1), TRAIN], options=UNREPORTED)
    assert preempted(decision) == ["a-kept"]


def test_a_victim_has_the_priority_of_the_need_that_claims_it() -> None:
    """U1: in eligibility, score and grace, not the stamp."""
    machines = [bound("m", "batch", 2 * MILLION)]
    decision = decided(machines, [plain("batch", 450_000, 1), TRAIN])
    (action,) = actions_of(decision, ActionKind.PREEMPT)
    assert (action.machine, action.grace_seconds) == ("m", 30)


def test_a_machine_claimed_by_a_higher_need_is_not_a_victim_even_with_a_lower_stamp() -> None:
    """U1."""
    decision = decided([bound("m", "batch", 0)], [plain("batch", 2 * MILLION, 1), TRAIN])
    assert preempted(decision) == []


def test_excess_of_a_higher_priority_is_not_a_victim() -> None:
    """U1: of any lower stamped priority. It is given back, and is free next cycle."""
    decision = decided([bound("m", "batch", 2 * MILLION)], [TRAIN])
    assert (preempted(decision), reclaimed(decision)) == ([], ["m"])


def test_a_machine_is_never_both_preempted_and_reclaimed() -> None:
    """U16."""
    machines = gpus.bound_many(3, "batch", 100)
    decision = decided(machines, [TRAIN])
    assert preempted(decision) == ["batch-000"]
    assert reclaimed(decision) == ["batch-001", "batch-002"]


def spread_need(count: int) -> Need:
    return gpus.need("train", gpus.profile(MILLION, spread=(STRICT_ZONES,)), count)


def batch_in(zone: str, count: int, priority: int = 0) -> list[FleetMachine]:
    return [bound(f"{zone}-{i}", "batch", priority, zone=zone) for i in range(count)]


def test_victims_of_a_spread_need_stay_within_its_skew() -> None:
    """U18: a fourth victim would make three in a and one in b."""
    decision = decided(batch_in("a", 3) + batch_in("b", 1, 500), [spread_need(4)])
    assert [a.machine for a in actions_of(decision, ActionKind.PREEMPT)] == ["a-0", "b-0", "a-1"]
    assert verdict_of(decision).unresolved == gpus.gpus(8)


def test_victims_still_draining_count_for_the_skew() -> None:
    """U18: one drains in a already, so the next comes from b though it scores lower."""
    need = spread_need(2)
    draining = _draining(bound("a-victim", "batch", 0, zone="a"))
    machines = [draining, *batch_in("a", 1), *batch_in("b", 1, 500)]
    decision = decided(machines, [need], memory=memory_of(reserved("a-victim", need)))
    assert preempted(decision) == ["b-0"]


def test_a_victim_without_a_zone_is_of_no_use_to_a_spread_need() -> None:
    """U18."""
    machines = [bound("nowhere", "batch", 0), *batch_in("a", 1, 500)]
    assert preempted(decided(machines, [spread_need(1)], options=PHASES)) == ["a-0"]


def _draining(entry: FleetMachine) -> FleetMachine:
    return replace(entry, machine=replace(entry.machine, state=MachineState.DRAINING))
