"""Releases: all machines of a transfer leave, or none; and what is off comes back."""

from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.coordinator_calls import Done, NotYet, Refused
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from tests.transfers.shards import S, Shard, idle, machine, moving, need, offer, release

RELEASING, CANCELLED = TransferState.RELEASING, TransferState.CANCELLED


def releasing(shard: Shard, *machines: str) -> None:
    """The coordinator has taken the offer."""
    shard.sync(transfers=[moving(RELEASING, *machines)])


def offered(shard: Shard, machines: int) -> tuple[str, ...]:
    given = shard.asked_for(offer(machines)).machine_ids
    releasing(shard, *given)
    return given


def test_released_machines_leave_and_no_list_brings_them_back() -> None:
    shard = Shard(idle(6))
    given = offered(shard, 2)
    assert shard.told(release(*given)) == Done("2 machines released to shard-b")
    assert not any(map(shard.has, given))
    shard.report("shop", need("shop", 6, 100))
    shard.run(5)
    assert shard.of("shop") == {"m-02", "m-03", "m-04", "m-05"}
    assert {shard.shelf[m].state for m in given} == {S.IDLE}


def test_a_release_is_on_disk_when_it_is_done() -> None:
    """Another life knows of it, with or without being told."""
    shard = Shard(idle(6))
    given = offered(shard, 2)
    shard.told(release(*given))
    again = shard.restarted()
    again.report("shop", need("shop", 6, 100))
    again.run(5)
    assert not any(map(again.has, given))
    assert len(again.of("shop")) == 4


def test_the_coordinator_is_told_what_is_released() -> None:
    shard = Shard(idle(6))
    [given] = offered(shard, 1)
    shard.told(release(given))
    assert shard.sync().held_overrides == (MachineOverride(given, "", "shard-a", "1-1"),)


def test_nothing_is_released_before_the_list_of_transfers_says_so() -> None:
    shard = Shard(idle(6))
    assert isinstance(shard.told(release("m-00")), NotYet)
    assert shard.has("m-00")
    shard.sync()
    answer = shard.told(release("m-00"))
    assert isinstance(answer, Refused)
    assert "no transfer 1-1" in answer.why


def test_a_restarted_shard_waits_for_the_list_of_transfers() -> None:
    shard = Shard(idle(6))
    given = offered(shard, 2)
    again = shard.restarted()
    again.run(1)
    assert isinstance(again.told(release(*given)), NotYet)
    releasing(again, *given)
    assert isinstance(again.told(release(*given)), Done)
    assert not any(map(again.has, given))


def test_a_machine_that_is_in_use_keeps_all_of_them_here() -> None:
    shard = Shard(idle(6))
    releasing(shard, "m-00", "m-01")
    shard.report("shop", need("shop", 1, 100))
    shard.run(2)
    answer = shard.told(release("m-00", "m-01"))
    assert isinstance(answer, Refused)
    assert "nothing is released: m-00 is" in answer.why
    assert all(map(shard.has, ("m-00", "m-01")))


def test_a_machine_a_need_is_about_to_take_stays() -> None:
    """The offer has ended; a cycle has claimed the machine and its action waits in the queue."""
    shard = Shard(idle(6))
    releasing(shard, "m-00")
    shard.report("shop", need("shop", 6, 100))
    shard.finish(shard.state.begin_cycle(shard.at))
    assert isinstance(shard.told(release("m-00")), Refused)


def test_a_machine_of_another_transfer_stays() -> None:
    shard = Shard(idle(6))
    given = shard.asked_for(offer(2, transfer="1-2")).machine_ids
    others = moving(TransferState.OFFERED, transfer="1-2")
    shard.sync(transfers=[others, moving(RELEASING, *given)])
    answer = shard.told(release(*given))
    assert isinstance(answer, Refused)
    assert "m-00 is reserved (offer)" in answer.why


def test_a_machine_that_is_not_of_the_transfer_stays() -> None:
    shard = Shard(idle(6))
    releasing(shard, "m-00")
    assert isinstance(shard.told(release("m-00", "m-01")), Refused)
    assert isinstance(shard.told(release()), Refused)
    assert all(map(shard.has, ("m-00", "m-01")))


def test_a_transfer_from_another_shard_releases_nothing_here() -> None:
    shard = Shard(idle(6))
    shard.sync(transfers=[moving(RELEASING, "m-00", source="shard-c")])
    assert isinstance(shard.told(release("m-00")), Refused)
    assert shard.has("m-00")


def test_slots_are_not_released_by_the_name_of_hosts() -> None:
    slots = [machine(f"slot-{n}", S.SPECULATIVE) for n in range(4)]
    shard = Shard(slots)
    given = shard.asked_for(offer(1, tier=TransferTier.SPECULATIVE)).machine_ids
    shard.sync(transfers=[moving(RELEASING, *given, tier=TransferTier.SPECULATIVE)])
    assert isinstance(shard.told(release(*given)), Refused)
    assert isinstance(shard.told(release(*given, slots=True)), Done)
    assert not any(map(shard.has, given))


def test_told_twice_it_is_done_once() -> None:
    shard = Shard(idle(6))
    given = offered(shard, 2)
    shard.told(release(*given))
    assert shard.told(release(*given)) == Done("released before")
    assert len(shard.state.coordination.request(shard.at, False).held_overrides) == 2


def test_nothing_stays_reserved_after_a_release() -> None:
    shard = Shard(idle(6))
    given = offered(shard, 2)
    shard.told(release(*given))
    assert shard.reservations == {}
    shard.run(2)
    assert shard.reservations == {}
    assert shard.disk["reservations"] == {}


def test_what_was_offered_and_not_taken_is_free_again() -> None:
    shard = Shard(idle(6))
    given = shard.asked_for(offer(3)).machine_ids
    releasing(shard, *given[:1])
    assert set(shard.reservations) == set(given[:1])


def test_machines_of_a_transfer_that_is_off_come_back_with_the_next_list() -> None:
    shard = Shard(idle(6))
    given = offered(shard, 2)
    shard.told(release(*given))
    shard.sync(transfers=[moving(CANCELLED, *given)])
    shard.run(2)
    assert all(map(shard.has, given))
    assert "taken back" in shard.story(given[0])[-1]
    shard.report("shop", need("shop", 6, 100))
    shard.run(3)
    assert len(shard.of("shop")) == 6
    assert isinstance(shard.told(release(*given)), Refused)


def test_they_come_back_also_after_a_restart() -> None:
    shard = Shard(idle(6))
    given = offered(shard, 2)
    shard.told(release(*given))
    again = shard.restarted()
    again.run(1)
    assert not any(map(again.has, given))
    again.sync(transfers=[moving(CANCELLED, *given)])
    again.run(2)
    assert all(map(again.has, given))


def test_what_was_granted_to_another_is_never_taken_back() -> None:
    shard = Shard(idle(6))
    given = offered(shard, 2)
    shard.told(release(*given))
    rows = [MachineOverride(m, "shard-b", "shard-a", "1-1") for m in given]
    shard.view(*rows, transfers=[moving(TransferState.GRANTED, *given)])
    shard.sync(transfers=[moving(CANCELLED, *given)])
    shard.run(3)
    assert not any(map(shard.has, given))
    assert shard.sync().held_overrides == ()


def test_a_release_waits_while_the_shard_is_paused() -> None:
    shard = Shard(idle(6))
    given = shard.asked_for(offer(2)).machine_ids
    shard.pauses = (Pause("p", PauseSource.COORDINATOR, PauseScope(), "ada", "a drill"),)
    releasing(shard, *given)
    assert shard.told(release(*given)) == NotYet("paused by ada: a drill")
    shard.pauses = ()
    releasing(shard, *given)
    assert isinstance(shard.told(release(*given)), Done)


def test_the_story_says_to_whom_and_by_which_transfer() -> None:
    shard = Shard(idle(6))
    [given] = offered(shard, 1)
    shard.told(release(given))
    told = shard.story(given)
    assert "released to shard-b by transfer tx-1-1 (idle): shard-b is short" in told
