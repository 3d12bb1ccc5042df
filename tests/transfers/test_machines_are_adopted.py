"""Adoptions: kept for the shortfall from the first moment, acknowledged when they are there."""

from dataclasses import replace

from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.coordinator_calls import Done, NotYet, Refused
from bigfleet.model.machines import CapacityType
from bigfleet.model.memory import ReservationKind
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import MachineOverride
from tests.transfers.shards import S, Shard, adopt, idle, machine, moving, need

GRANTED = TransferState.GRANTED
MACHINES = ("m-00", "m-01")


def receiver(count: int = 4) -> Shard:
    """shard-b, which owns nothing yet, beside the machines of shard-a."""
    return Shard(idle(count), name="shard-b")


def granted(shard: Shard, *machines: str, tier: TransferTier = TransferTier.IDLE) -> None:
    """The coordinator has given it these machines, and says so."""
    rows = [MachineOverride(m, "shard-b", "shard-a", "1-1") for m in machines]
    shard.view(*rows, transfers=[moving(GRANTED, *machines, tier=tier)])


def test_an_adoption_waits_for_the_view_and_for_a_list_begun_after_it() -> None:
    shard = receiver()
    shard.sync(transfers=[moving(GRANTED, *MACHINES)])
    assert isinstance(shard.told(adopt(*MACHINES)), NotYet)
    granted(shard, *MACHINES)
    waiting = shard.told(adopt(*MACHINES))
    assert isinstance(waiting, NotYet)
    assert "List" in waiting.why
    shard.run(1)
    assert shard.told(adopt(*MACHINES)) == Done("2 of 2 machines came")
    assert all(map(shard.has, MACHINES))
    assert not shard.has("m-02")


def test_views_that_follow_do_not_delay_it() -> None:
    shard = receiver()
    granted(shard, *MACHINES)
    shard.run(1)
    granted(shard, *MACHINES)
    assert isinstance(shard.told(adopt(*MACHINES)), Done)


def test_it_says_how_many_came() -> None:
    shard = receiver()
    granted(shard, "m-00", "m-77")
    shard.run(1)
    assert shard.told(adopt("m-00", "m-77")) == Done("1 of 2 machines came")


def test_they_are_kept_for_the_shortfall_before_a_cycle_sees_them() -> None:
    """A lower Need of another cluster waits for machines all the time and gets none of these."""
    shard = receiver()
    shard.report("batch", need("batch", 2, 10))
    shard.run(2)
    granted(shard, *MACHINES)
    assert {shard.reservations[m].kind for m in MACHINES} == {ReservationKind.TRANSFER_IN}
    shard.run(5)
    assert shard.of("batch") == set()
    shard.report("train", need("train", 2, 1000))
    shard.run(5)
    assert shard.of("train") == set(MACHINES)


def test_a_higher_need_may_take_them() -> None:
    shard = receiver()
    granted(shard, *MACHINES)
    shard.report("vital", need("vital", 1, 2000))
    shard.run(5)
    assert len(shard.of("vital")) == 1


def test_they_are_kept_two_minutes_from_their_arrival() -> None:
    shard = receiver()
    shard.report("batch", need("batch", 2, 10))
    granted(shard, *MACHINES)
    shard.run(30)
    shard.told(adopt(*MACHINES))
    assert shard.reservations["m-00"].expires_at == shard.at + 120 * SECOND
    shard.run(110)
    assert shard.of("batch") == set()
    shard.run(20)
    assert shard.of("batch") == set(MACHINES)


def test_the_coordinator_says_how_long_they_are_kept() -> None:
    shard = receiver()
    shard.report("batch", need("batch", 2, 10))
    rows = [MachineOverride(m, "shard-b", "shard-a", "1-1") for m in MACHINES]
    shard.view(*rows, transfers=[replace(moving(GRANTED, *MACHINES), hold_seconds=200)])
    shard.run(1)
    shard.told(adopt(*MACHINES))
    assert shard.reservations["m-00"].expires_at == shard.at + 200 * SECOND
    shard.run(190)
    assert shard.of("batch") == set()
    shard.run(20)
    assert shard.of("batch") == set(MACHINES)


def test_they_are_not_given_back_to_the_provider_meanwhile() -> None:
    """The hold of an idle spot machine is a minute; the reservation lasts two."""
    spot = [machine(m, capacity_type=CapacityType.SPOT) for m in MACHINES]
    shard = Shard(spot, name="shard-b")
    granted(shard, *MACHINES)
    shard.run(1)
    shard.told(adopt(*MACHINES))
    shard.run(100)
    assert {shard.shelf[m].state for m in MACHINES} == {S.IDLE}


def test_what_a_need_has_taken_is_not_reserved_anew() -> None:
    shard = receiver()
    shard.report("train", need("train", 2, 1000))
    granted(shard, *MACHINES)
    shard.run(5)
    assert shard.of("train") == set(MACHINES)
    shard.told(adopt(*MACHINES))
    assert shard.reservations == {}


def test_a_restart_before_they_are_seen_keeps_them() -> None:
    shard = receiver()
    granted(shard, *MACHINES)
    again = shard.restarted()
    again.report("batch", need("batch", 2, 10))
    again.run(5)
    assert all(map(again.has, MACHINES))
    assert again.of("batch") == set()
    again.sync(transfers=[moving(GRANTED, *MACHINES)])
    assert isinstance(again.told(adopt(*MACHINES)), Done)


def test_a_restart_before_their_provider_lists_them_keeps_them() -> None:
    shard = receiver()
    late = {name: shard.shelf.pop(name) for name in MACHINES}
    granted(shard, *MACHINES)
    again = shard.restarted()
    again.report("batch", need("batch", 2, 10))
    again.run(3)
    again.shelf |= late
    again.run(3)
    assert all(map(again.has, MACHINES))
    assert again.of("batch") == set()


def test_a_reservation_of_a_machine_that_never_comes_ends() -> None:
    shard = receiver()
    granted(shard, "m-77")
    shard.run(10)
    assert set(shard.reservations) == {"m-77"}
    shard.run(115)
    assert shard.reservations == {}


def test_slots_come_like_machines() -> None:
    slots = [machine(m, S.SPECULATIVE) for m in MACHINES]
    shard = Shard(slots, name="shard-b")
    granted(shard, *MACHINES, tier=TransferTier.SPECULATIVE)
    shard.run(1)
    assert isinstance(shard.told(adopt(*MACHINES, slots=True)), Done)
    assert {shard.reservations[m].kind for m in MACHINES} == {ReservationKind.TRANSFER_IN}


def test_a_transfer_to_another_shard_is_refused() -> None:
    shard = receiver()
    shard.sync(transfers=[moving(GRANTED, *MACHINES, target="shard-c")])
    assert isinstance(shard.told(adopt(*MACHINES)), Refused)


def test_a_transfer_that_is_not_granted_is_not_adopted() -> None:
    shard = receiver()
    shard.sync(transfers=[moving(TransferState.RELEASING, *MACHINES)])
    assert isinstance(shard.told(adopt(*MACHINES)), NotYet)
    shard.sync(transfers=[moving(TransferState.CANCELLED, *MACHINES)])
    assert isinstance(shard.told(adopt(*MACHINES)), Refused)


def test_the_story_says_where_they_came_from() -> None:
    shard = receiver()
    granted(shard, *MACHINES)
    shard.run(1)
    shard.told(adopt(*MACHINES))
    assert shard.story("m-00") == ["came from shard-a by transfer tx-1-1 (idle): shard-b is short"]
