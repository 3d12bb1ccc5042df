"""U24: every kind of reservation is judged after Phase 1, and what ended it is not forgotten."""

from dataclasses import replace

import pytest

from bigfleet.model.fleet import FleetMachine, Marks
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import EngineMemory, ReservationKind, Shortfall
from bigfleet.model.options import SECOND
from tests.worlds import gpus
from tests.worlds.fleets import NOW, decided, memory_of, reserved, verdict_of
from tests.worlds.gpus import MILLION, gang, plain

TRAIN = plain("train", MILLION, 1)
KINDS = [ReservationKind.PREEMPTION, ReservationKind.TRANSFER_IN]


def idle_for_an_hour() -> FleetMachine:
    return gpus.host("m", marks=Marks(idle_since=NOW - 3600 * SECOND))


@pytest.mark.parametrize("kind", KINDS)
def test_the_holder_is_offered_its_machine_however_late_the_cycle(kind: ReservationKind) -> None:
    """The other Need is equal and came first; the reservation ran out an hour ago."""
    needs = [replace(plain("x", MILLION, 1), group="first"), replace(TRAIN, arrival_unix_nanos=9)]
    if kind is ReservationKind.TRANSFER_IN:
        # A transfer is for every Need of its fingerprint; the other one differs in its bucket.
        needs[0] = replace(needs[0], profile=gpus.profile(MILLION, interruption=1))
        needs[0] = replace(needs[0], arrival_unix_nanos=1)
    memory = memory_of(reserved("m", TRAIN, kind=kind, expires_at=NOW - 3600 * SECOND))
    decision = decided([idle_for_an_hour()], needs, now=NOW, memory=memory)
    assert verdict_of(decision, 1).claimed == ("m",)


def test_an_expired_offer_still_keeps_everybody_off_for_this_cycle() -> None:
    memory = memory_of(
        reserved("m", TRAIN, kind=ReservationKind.OFFER, expires_at=NOW - 3600 * SECOND)
    )
    decision = decided([idle_for_an_hour()], [TRAIN], now=NOW, memory=memory)
    assert verdict_of(decision).claimed == ()
    assert decision.memory.reservations == {}


def test_what_drains_counts_also_for_a_gang_without_a_domain() -> None:
    """The victim has no zone, so it makes no domain; it is on its way all the same."""
    need = gang("train", MILLION, 2)
    victim = gpus.host("victim", MachineState.DRAINING, cluster="batch")
    decision = decided([victim], [need], memory=memory_of(reserved("victim", need)))
    assert verdict_of(decision).domain is None
    assert verdict_of(decision).unresolved.positive().texts() == {"gpu": "8"}


def test_when_a_higher_need_takes_the_machine_the_age_goes_on() -> None:
    higher = plain("x", 2 * MILLION, 1)
    memory = EngineMemory(
        {"m": reserved("m", TRAIN)}, {}, {TRAIN.key: Shortfall(gpus.units(1), age=7)}
    )
    decision = decided([idle_for_an_hour()], [higher, TRAIN], memory=memory)
    assert verdict_of(decision, 0).claimed == ("m",)
    assert decision.memory.reservations == {}
    assert decision.memory.shortfalls == {TRAIN.key: Shortfall(gpus.units(1), age=8)}


def test_a_gang_that_lost_its_machine_to_a_higher_need_ages_again() -> None:
    higher, need = plain("x", 2 * MILLION, 1), gang("train", MILLION, 4)
    machines = [gpus.host("m", zone="a"), gpus.bound("own", "train", MILLION, zone="b")]
    memory = EngineMemory({"m": reserved("m", need)}, {need.key: 3})
    decision = decided(machines, [higher, need], memory=memory)
    assert verdict_of(decision, 0).claimed == ("m",)
    assert decision.memory.parking == {need.key: 4}
