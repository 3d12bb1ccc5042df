"""Cancelling: by hand, by time, by a failure; at every moment it leaves one owner or none."""

from dataclasses import replace

import pytest

from bigfleet.coordinator.rebalancing import transfers
from bigfleet.model.coordination import Transfer, TransferState
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.provider_calls import Code, Rejected
from tests.rebalance.fleets import Fleet, rules_of

EASY = rules_of(donor_rate=1.0, drain=False)


def moving(state: TransferState) -> tuple[Fleet, Transfer]:
    fleet = Fleet(EASY, a=3, b=10)
    fleet.demand("a", 5)
    fleet.settle()
    return fleet, fleet.run_until(state)


def state_of(fleet: Fleet, transfer: Transfer) -> TransferState:
    return fleet.row(transfer.id).transfer.state


@pytest.mark.parametrize("state", [TransferState.OFFERED, TransferState.RELEASING])
def test_before_the_grant_a_transfer_can_be_cancelled(state: TransferState) -> None:
    fleet, transfer = moving(state)
    assert fleet.cancel(transfer.id).state is TransferState.CANCELLED
    assert fleet.book.tables.instructions.rows == {}
    fleet.run(60)
    assert fleet.moves == []
    assert sum(machine.startswith("b") for machine in fleet.shards["b"].owned()) == 10


@pytest.mark.parametrize("state", [TransferState.GRANTED, TransferState.DONE])
def test_after_the_grant_it_cannot(state: TransferState) -> None:
    fleet, transfer = moving(state)
    rows = dict(fleet.rows)
    with pytest.raises(Rejected, match="belong to a by now") as refusal:
        fleet.cancel(transfer.id)
    assert refusal.value.code is Code.ABORTED
    assert fleet.rows == rows


def test_cancelling_twice_changes_nothing_and_an_unknown_one_is_not_found() -> None:
    fleet, transfer = moving(TransferState.OFFERED)
    first = fleet.cancel(transfer.id)
    rows = dict(fleet.rows)
    assert fleet.cancel(transfer.id) == first
    assert fleet.rows == rows
    with pytest.raises(Rejected) as refusal:
        fleet.cancel("no-such")
    assert refusal.value.code is Code.NOT_FOUND


def test_a_release_in_the_donors_hands_is_taken_back_when_it_sees_the_end() -> None:
    fleet, transfer = moving(TransferState.RELEASING)
    b = fleet.shards["b"]
    fleet.sync(b)
    told = [row.instruction for row in fleet.book.tables.instructions.rows.values()]
    fleet.cancel(transfer.id)
    for instruction in told:
        b.obey(instruction, fleet.at)
    assert [fleet.owners(machine) for machine in transfer.machine_ids] == [[], []]
    fleet.report(b)
    assert state_of(fleet, transfer) is TransferState.CANCELLED
    fleet.sync(b)
    assert [fleet.owners(machine) for machine in transfer.machine_ids] == [["b"], ["b"]]


def test_an_acknowledgement_that_comes_after_the_cancellation_grants_nothing() -> None:
    fleet, transfer = moving(TransferState.RELEASING)
    b = fleet.shards["b"]
    fleet.talk(b, rounds=1)
    assert b.acks != []
    fleet.cancel(transfer.id)
    fleet.report(b)
    assert state_of(fleet, transfer) is TransferState.CANCELLED
    assert fleet.moves == []


def test_a_lost_acknowledgement_is_repeated_and_granted_once() -> None:
    fleet, transfer = moving(TransferState.RELEASING)
    b = fleet.shards["b"]
    fleet.talk(b, rounds=1)
    fleet.report(b, lost="report reply")
    fleet.report(b)
    fleet.report(b)
    assert state_of(fleet, transfer) is TransferState.GRANTED
    assert len(fleet.moves) == 2


def test_a_release_that_keeps_failing_ends_the_transfer() -> None:
    fleet, transfer = moving(TransferState.OFFERED)
    fleet.shards["b"].stubborn = True
    fleet.run(80)
    ended = fleet.row(transfer.id).transfer
    assert ended.state is TransferState.CANCELLED
    assert "b could not release" in ended.reason
    assert fleet.moves == []


def test_a_donor_that_does_not_release_in_time_keeps_its_machines() -> None:
    fleet, transfer = moving(TransferState.RELEASING)
    for _ in range(7):
        fleet.at += 10 * SECOND
        fleet.talk(fleet.shards["a"])
        fleet.sweep()
    assert state_of(fleet, transfer) is TransferState.CANCELLED
    fleet.run(30)
    assert fleet.moves == []


def test_a_donor_that_was_away_for_hours_learns_that_its_transfer_was_cancelled() -> None:
    fleet, transfer = moving(TransferState.RELEASING)
    a, b = fleet.shards["a"], fleet.shards["b"]
    fleet.sync(b)
    fleet.report(b, lost="report")
    told = [row.instruction for row in fleet.book.tables.instructions.rows.values()]
    for instruction in told:
        b.obey(instruction, fleet.at)
    fleet.cancel(transfer.id)
    for _ in range(500):
        fleet.at += 10 * SECOND
        fleet.talk(a)
        fleet.sweep()
    assert fleet.book.tables.transfers.get(transfer.id) is None, "it is forgotten"
    assert [fleet.owners(machine) for machine in transfer.machine_ids] == [[], []]
    fleet.sync(b)
    assert [fleet.owners(machine) for machine in transfer.machine_ids] == [["b"], ["b"]]


def test_a_cancelled_transfer_is_kept_while_its_donor_has_not_acted_on_it() -> None:
    fleet, transfer = moving(TransferState.RELEASING)
    fleet.cancel(transfer.id)
    memory = fleet.book.memory("b")
    assert memory.sync is not None
    mark = MachineOverride(transfer.machine_ids[0], "", "b", transfer.id)
    memory.sync = replace(memory.sync, held_overrides=(mark,))
    fleet.at += 4000 * SECOND
    fleet.sweep()
    assert state_of(fleet, transfer) is TransferState.CANCELLED
    memory.sync = replace(memory.sync, held_overrides=())
    fleet.sweep()
    assert fleet.book.tables.transfers.get(transfer.id) is None


def test_what_has_ended_is_forgotten_after_an_hour_and_rests_with_it() -> None:
    fleet, transfer = moving(TransferState.DONE)
    fleet.run(3500, every=100)
    assert fleet.book.tables.transfers.get(transfer.id) is not None
    fleet.run(300, every=100)
    assert fleet.book.tables.transfers.get(transfer.id) is None
    assert fleet.book.tables.cooldowns.rows == {}


@pytest.mark.parametrize("shard", ["a", "b"])
@pytest.mark.parametrize("state", [TransferState.OFFERED, TransferState.RELEASING])
def test_removing_a_side_before_the_grant_cancels(shard: str, state: TransferState) -> None:
    fleet, transfer = moving(state)
    fleet.transact(lambda book, draft: transfers.drop_shard(book, draft, shard))
    assert state_of(fleet, transfer) is TransferState.CANCELLED
    assert fleet.book.tables.instructions.rows == {}


def test_after_the_grant_the_donor_may_go_and_a_receiver_that_goes_ends_it() -> None:
    fleet, transfer = moving(TransferState.GRANTED)
    fleet.transact(lambda book, draft: transfers.drop_shard(book, draft, "b"))
    assert state_of(fleet, transfer) is TransferState.GRANTED
    fleet.transact(lambda book, draft: transfers.drop_shard(book, draft, "a"))
    assert state_of(fleet, transfer) is TransferState.DONE


def test_a_sweep_ends_what_a_removed_shard_has_left() -> None:
    fleet, transfer = moving(TransferState.RELEASING)
    row = fleet.book.tables.shards.rows["a",]
    fleet.transact(lambda book, draft: draft.shards.put(replace(row, removed=True)))
    fleet.sweep()
    assert state_of(fleet, transfer) is TransferState.CANCELLED


def test_a_receiver_that_never_confirms_has_the_machines_all_the_same() -> None:
    fleet, transfer = moving(TransferState.GRANTED)
    (row,) = fleet.book.tables.instructions.rows.values()
    fleet.transact(lambda book, draft: transfers.on_step_failed(book, draft, row, "it is confused"))
    assert state_of(fleet, transfer) is TransferState.DONE
    assert fleet.book.counts.of("transfers_total", tier="idle", result="unconfirmed") == 1
    assert {row.shard for row in fleet.book.tables.overrides.rows.values()} == {"a"}


@pytest.mark.parametrize("state", [TransferState.RELEASING, TransferState.GRANTED])
def test_nothing_of_an_old_snapshot_goes_on(state: TransferState) -> None:
    fleet, transfer = moving(state)
    fleet.transact(lambda book, draft: draft.seq.put(replace(draft.numbers, merging=True)))
    (row,) = fleet.book.tables.instructions.rows.values()
    held = [MachineOverride(transfer.machine_ids[0], "", "b", transfer.id)]
    told = fleet.transact(lambda book, draft: transfers.transfers_for(book, draft, "b", held))
    assert told == (), "who holds what is not known, so no shard takes anything back"
    fleet.transact(lambda book, draft: transfers.on_step_done(book, draft, row))
    fleet.sweep()
    assert not state_of(fleet, transfer).open
    assert fleet.book.tables.instructions.rows == {}
    assert len(fleet.moves) == (2 if state is TransferState.GRANTED else 0)


def test_a_release_of_an_old_snapshot_is_not_granted_by_the_second() -> None:
    fleet, transfer = moving(TransferState.RELEASING)
    released = replace(fleet.row(transfer.id), released=True)
    fleet.transact(lambda book, draft: draft.transfers.put(released))
    fleet.transact(lambda book, draft: draft.seq.put(replace(draft.numbers, merging=True)))
    fleet.second()
    assert (state_of(fleet, transfer), fleet.moves) == (TransferState.RELEASING, [])
    fleet.transact(lambda book, draft: draft.seq.put(replace(draft.numbers, merging=False)))
    b = fleet.shards["b"]
    b.ownership = b.ownership.releasing(transfer.machine_ids, transfer.id)
    fleet.sync(b)
    fleet.second()
    assert state_of(fleet, transfer) is TransferState.GRANTED


def test_a_donor_that_has_lost_its_disk_has_released_nothing() -> None:
    """It acknowledged, the receiver was silent; started anew, it is given what it had."""
    fleet, transfer = moving(TransferState.RELEASING)
    released = replace(fleet.row(transfer.id), released=True)
    fleet.transact(lambda book, draft: draft.transfers.put(released))
    fleet.sync(fleet.shards["b"])
    fleet.second()
    assert (state_of(fleet, transfer), fleet.moves) == (TransferState.RELEASING, [])
    fleet.at += 100 * SECOND
    fleet.sweep()
    assert state_of(fleet, transfer) is TransferState.CANCELLED


def test_people_see_what_is_under_way_and_on_demand_what_is_over() -> None:
    fleet, first = moving(TransferState.DONE)
    fleet.demand("a", 8)
    fleet.run(200)
    (second,) = [each for each in fleet.all() if each.id != first.id]
    assert [each.id for each in transfers.transfers(fleet.book, True, 0)] == [second.id, first.id]
    assert [each.id for each in transfers.transfers(fleet.book, True, 1)] == [second.id]
    assert transfers.transfers(fleet.book, False, 0) == []
