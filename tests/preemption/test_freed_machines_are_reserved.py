"""Rulings U2, U12, U19 and U21: a victim belongs to the Need that asked for it."""

from dataclasses import replace

import pytest

from bigfleet.model.fleet import FleetMachine, Marks
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import EngineMemory, ReservationKind, Shortfall
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from tests.worlds import gpus
from tests.worlds.fleets import (
    NOW,
    bootstrapped,
    decided,
    deleted,
    memory_of,
    preempted,
    reserved,
    verdict_of,
)
from tests.worlds.gpus import MILLION, bound, gang, plain

TRAIN = plain("train", MILLION, 1)
HIGHER, EQUAL, LOWER = plain("x", 2 * MILLION, 1), plain("x", MILLION, 1), plain("x", 100, 1)


def freed(name: str = "victim", seconds_ago: int = 0, zone: str = "") -> FleetMachine:
    marks = Marks(idle_since=NOW - seconds_ago * SECOND)
    return gpus.host(name, zone=zone, marks=marks)


def draining(name: str = "victim", zone: str = "") -> FleetMachine:
    return gpus.host(name, MachineState.DRAINING, cluster="batch", zone=zone)


def test_a_preemption_reserves_its_victim_until_grace_and_margin_are_over() -> None:
    """U2: grace 30 s and a margin of 60 s."""
    decision = decided([bound("v", "batch", 400_000)], [TRAIN], now=NOW)
    expected = reserved("v", TRAIN, expires_at=NOW + 90 * SECOND)
    assert decision.memory.reservations == {"v": expected}


def test_the_same_deficit_does_not_preempt_again_while_its_victim_drains() -> None:
    """U2."""
    machines = [draining(), bound("another", "batch", 0)]
    decision = decided(machines, [TRAIN], memory=memory_of(reserved("victim", TRAIN)))
    assert preempted(decision) == []
    assert verdict_of(decision).unresolved == gpus.gpus(0).positive()
    assert "victim" in decision.memory.reservations


def test_only_what_victims_on_their_way_leave_open_is_preempted() -> None:
    """U2."""
    need = plain("train", MILLION, 3)
    machines = [draining(), *gpus.bound_many(4, "batch", 100)]
    decision = decided(machines, [need], memory=memory_of(reserved("victim", need)))
    assert len(preempted(decision)) == 2


@pytest.mark.parametrize(
    ("other", "served"),
    [
        pytest.param(LOWER, TRAIN, id="a lower Need leaves it alone"),
        pytest.param(EQUAL, TRAIN, id="so does an equal one that came first"),
        pytest.param(HIGHER, HIGHER, id="a strictly higher one may take it"),
    ],
)
def test_a_freed_victim_waits_for_the_need_that_asked_for_it(other: Need, served: Need) -> None:
    """U2."""
    late = replace(TRAIN, arrival_unix_nanos=9)
    needs = [other, late]
    decision = decided([freed()], needs, now=NOW, memory=memory_of(reserved("victim", TRAIN)))
    claimed = {needs[i].cluster: verdict_of(decision, i).claimed for i in range(2)}
    assert claimed[served.cluster] == ("victim",)
    assert decision.memory.reservations == {}


def test_a_freed_victim_waits_for_the_gang_that_asked_for_it() -> None:
    """U2: the gang takes each as it comes; no other Need takes one while the others still drain."""
    need = gang("train", MILLION, 3)
    machines = [freed("v-1", zone="a"), draining("v-2", zone="a"), draining("v-3", zone="a")]
    memory = memory_of(*(reserved(name, need) for name in ("v-1", "v-2", "v-3")))
    decision = decided(
        [*machines, bound("w", "batch", 500, zone="a")], [LOWER, need], memory=memory
    )
    assert verdict_of(decision, 1).claimed == ("v-1",)
    assert verdict_of(decision, 0).claimed == ()
    assert preempted(decision) == []
    assert set(decision.memory.reservations) == {"v-2", "v-3"}


def test_a_withdrawn_need_gives_up_its_victims() -> None:
    """U2."""
    decision = decided([freed()], [LOWER], now=NOW, memory=memory_of(reserved("victim", TRAIN)))
    assert bootstrapped(decision) == ["victim"]
    assert decision.memory.reservations == {}


@pytest.mark.parametrize("kind", [ReservationKind.OFFER, ReservationKind.TRANSFER_IN])
def test_release_skips_a_reserved_machine(kind: ReservationKind) -> None:
    """U2."""
    old = freed(seconds_ago=3600)
    memory = memory_of(reserved("victim", TRAIN, kind=kind))
    assert deleted(decided([old], now=NOW)) == ["victim"]
    assert deleted(decided([old], now=NOW, memory=memory)) == []


def test_no_need_may_claim_what_is_offered_to_another_shard() -> None:
    """U2."""
    memory = memory_of(reserved("victim", TRAIN, kind=ReservationKind.OFFER))
    decision = decided([freed()], [TRAIN, HIGHER], now=NOW, memory=memory)
    assert bootstrapped(decision) == []


def test_what_came_from_another_shard_is_for_needs_of_its_fingerprint_and_higher_ones() -> None:
    """U2."""
    memory = memory_of(reserved("victim", TRAIN, kind=ReservationKind.TRANSFER_IN))
    same_fingerprint = plain("elsewhere", MILLION, 1, "g")
    for need, taken in ((LOWER, []), (same_fingerprint, ["victim"]), (HIGHER, ["victim"])):
        assert bootstrapped(decided([freed()], [need], now=NOW, memory=memory)) == taken


def test_while_a_victim_drains_a_momentary_cover_does_not_end_its_reservation() -> None:
    """U21."""
    memory = memory_of(reserved("victim", TRAIN, expires_at=NOW - SECOND))
    decision = decided([draining(), gpus.host("idle")], [TRAIN], now=NOW, memory=memory)
    assert verdict_of(decision).claimed == ("idle",)
    assert set(decision.memory.reservations) == {"victim"}


def test_an_idle_victim_is_free_once_its_need_is_covered_without_it() -> None:
    """U21 and U2: the bound machine counts before anything is taken."""
    machines = [freed(), bound("own", "train", MILLION)]
    memory = memory_of(reserved("victim", TRAIN, expires_at=NOW + 90 * SECOND))
    decision = decided(machines, [TRAIN], now=NOW, memory=memory)
    assert decision.memory.reservations == {}


def test_expiry_is_judged_after_the_holder_was_offered_its_victim() -> None:
    """U21: however late the cycle, the holder comes first once."""
    first = replace(EQUAL, arrival_unix_nanos=1)
    late = replace(TRAIN, arrival_unix_nanos=9)
    memory = memory_of(reserved("victim", TRAIN, expires_at=NOW - 3600 * SECOND))
    machines = [freed(seconds_ago=3600)]
    decision = decided(machines, [first, late], now=NOW, memory=memory)
    assert verdict_of(decision, 1).claimed == ("victim",)


@pytest.mark.parametrize(("idle_seconds", "kept"), [(59, True), (60, False)])
def test_a_reservation_lasts_the_margin_after_its_victim_became_idle(
    idle_seconds: int, kept: bool
) -> None:
    """U2: expired long ago; the holder waits in another zone and cannot use it yet."""
    need = gang("train", MILLION, 3)
    machines = [freed(seconds_ago=idle_seconds, zone="b"), *gpus.bound_many(2, "train", zone="a")]
    memory = memory_of(reserved("victim", need, expires_at=NOW - 600 * SECOND))
    decision = decided(machines, [need], now=NOW, memory=memory)
    assert verdict_of(decision).domain == "a"
    assert ("victim" in decision.memory.reservations) is kept


def test_without_a_clock_no_reservation_expires() -> None:
    need = gang("train", MILLION, 3)
    machines = [freed(seconds_ago=3600, zone="b"), *gpus.bound_many(2, "train", zone="a")]
    memory = memory_of(reserved("victim", need, expires_at=NOW - 600 * SECOND))
    assert "victim" in decided(machines, [need], memory=memory).memory.reservations


def test_a_shortfall_keeps_its_age_while_victims_drain_for_it() -> None:
    """U12."""
    known = Shortfall(gpus.units(1), age=7)
    memory = EngineMemory({"victim": reserved("victim", TRAIN)}, {}, {TRAIN.key: known})
    assert decided([draining()], [TRAIN], memory=memory).memory.shortfalls == {TRAIN.key: known}
    grown = decided([], [TRAIN], memory=memory).memory.shortfalls
    assert grown == {TRAIN.key: Shortfall(gpus.units(1), age=8)}


def test_a_gang_whose_victims_drain_is_not_parked_and_does_not_age() -> None:
    """U19."""
    need = gang("train", MILLION, 4)
    machines = [bound("own", "train", MILLION, zone="a"), draining(zone="a")]
    ages = {need.key: 9}
    waiting = EngineMemory({"victim": reserved("victim", need)}, ages)
    decision = decided(machines, [need], memory=waiting)
    assert not verdict_of(decision).parked
    assert decision.memory.parking == {need.key: 9}
    alone = decided(machines, [need], memory=EngineMemory(parking=ages))
    assert verdict_of(alone).parked
    assert alone.memory.parking == {need.key: 10}
