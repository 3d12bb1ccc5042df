"""A fail-over at any step: the next leader has what was committed, and goes on from there."""

import pytest

from bigfleet.coordinator.keys import tables_of
from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.options import SECOND
from tests.rebalance.fleets import Fleet, rules_of

EASY = rules_of(donor_rate=1.0)


def fleet_of(tier: TransferTier) -> Fleet:
    """Shard a is short of two machines that b has in the way of the tier."""
    fleet = Fleet(EASY, a=3, b=0 if tier is TransferTier.SPECULATIVE else 10)
    if tier is TransferTier.SPECULATIVE:
        fleet.add("b", 10, speculative=True)
    if tier is TransferTier.DRAIN:
        fleet.demand("b", 10, "batch", priority=10)
    fleet.demand("a", 5, priority=1000)
    fleet.settle()
    return fleet


@pytest.mark.parametrize("tier", [TransferTier.IDLE, TransferTier.SPECULATIVE])
@pytest.mark.parametrize(
    "state",
    [
        TransferState.OFFERED,
        TransferState.RELEASING,
        TransferState.GRANTED,
        TransferState.DONE,
    ],
)
def test_a_transfer_goes_on_under_the_next_leader(tier: TransferTier, state: TransferState) -> None:
    fleet = fleet_of(tier)
    before = fleet.run_until(state)
    fleet.fail_over()
    assert fleet.newest() == before
    done = fleet.run_until(TransferState.DONE)
    assert done.tier is tier
    assert done.id == before.id or before.tier is not tier, "no shard had idle machines"
    fleet.run(30)
    assert fleet.shards["a"].short("web") == 0
    assert sorted(move.machine for move in fleet.moves) == sorted(done.machine_ids)


@pytest.mark.parametrize(
    "state", [TransferState.DRAINING, TransferState.RELEASING, TransferState.GRANTED]
)
def test_a_drain_goes_on_under_the_next_leader(state: TransferState) -> None:
    fleet = fleet_of(TransferTier.DRAIN)
    before = fleet.run_until(state)
    fleet.fail_over()
    done = fleet.run_until(TransferState.DONE)
    assert (done.id, len(fleet.moves)) == (before.id, 2)


def test_a_return_goes_on_under_the_next_leader() -> None:
    fleet = fleet_of(TransferTier.IDLE)
    fleet.run_until(TransferState.DONE)
    fleet.demand("a", 0)
    fleet.run(1800)
    released = fleet.run_until(TransferState.RELEASING)
    assert released.tier is TransferTier.RETURN
    fleet.fail_over()
    assert fleet.run_until(TransferState.DONE).id == released.id
    assert {machine[0] for machine in fleet.shards["a"].owned()} == {"a"}


def test_a_fail_over_after_every_single_step_moves_every_machine_once() -> None:
    fleet = fleet_of(TransferTier.IDLE)
    for _ in range(300):
        fleet.run(1, rounds=1)
        rows = dict(fleet.rows)
        fleet.fail_over()
        assert fleet.rows == rows
        for shard in fleet.shards.values():
            fleet.sync(shard)
            fleet.report(shard)
    assert fleet.shards["a"].short("web") == 0
    assert len(fleet.moves) == 2


def test_rests_outlive_a_leader() -> None:
    fleet = fleet_of(TransferTier.IDLE)
    fleet.run_until(TransferState.DONE)
    fleet.fail_over()
    fleet.demand("a", 7)
    fleet.run(100)
    assert (len(fleet.all()), fleet.blocked("cooldown")) == (1, 1)
    fleet.run(60)
    assert len(fleet.all()) == 2


def test_ids_of_two_reigns_are_never_the_same() -> None:
    fleet = fleet_of(TransferTier.IDLE)
    first = fleet.run_until(TransferState.DONE)
    fleet.fail_over()
    fleet.demand("a", 7)
    fleet.run(200)
    (second,) = [each for each in fleet.all() if each.id != first.id]
    assert (first.id.split("-")[0], second.id.split("-")[0]) == ("1", "2")


def test_a_machine_whose_receiver_has_not_come_to_the_new_leader_waits_for_it() -> None:
    fleet = fleet_of(TransferTier.IDLE)
    fleet.run_until(TransferState.RELEASING)
    a, b = fleet.shards["a"], fleet.shards["b"]
    fleet.fail_over()
    fleet.sync(b)
    fleet.report(b)
    fleet.report(b)
    fleet.sync(b)
    waiting = fleet.newest()
    assert waiting is not None
    assert waiting.state is TransferState.RELEASING
    assert [fleet.owners(machine) for machine in waiting.machine_ids] == [[], []]
    fleet.talk(a, rounds=1)
    fleet.second()
    granted = fleet.newest()
    assert granted is not None
    assert granted.state is TransferState.GRANTED, "without a sweep"


def test_a_machine_whose_receiver_does_not_come_back_goes_back_to_its_donor() -> None:
    fleet = fleet_of(TransferTier.IDLE)
    fleet.run_until(TransferState.RELEASING)
    b = fleet.shards["b"]
    fleet.fail_over()
    for _ in range(10):
        fleet.at += 10 * SECOND
        fleet.sync(b)
        fleet.report(b)
        fleet.sweep()
    ended = fleet.newest()
    assert ended is not None
    assert (ended.state, ended.reason.split("; ")[-1]) == (
        TransferState.CANCELLED,
        "a was silent for too long",
    )
    assert [fleet.owners(machine) for machine in ended.machine_ids] == [["b"], ["b"]]


def test_every_row_can_be_read_back() -> None:
    fleet = fleet_of(TransferTier.DRAIN)
    fleet.run_until(TransferState.DONE)
    read = tables_of(fleet.rows)
    assert read.transfers.rows == fleet.book.tables.transfers.rows
    assert read.cooldowns.rows == fleet.book.tables.cooldowns.rows
    assert read.overrides.rows == fleet.book.tables.overrides.rows
