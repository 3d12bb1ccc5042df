"""Everything a removed shard had is free, in one transaction or in several."""

import pytest

from bigfleet.coordinator.membership import domains, removal
from bigfleet.coordinator.membership.instructions import pending
from bigfleet.coordinator.tables import (
    AllocationRow,
    DefaultRow,
    DomainRow,
    OverrideRow,
    QuotaRow,
    TransferRow,
)
from bigfleet.model.coordination import Transfer, TransferState, TransferTier
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordination_model import ModelFleet, ModelMachine, ModelShard

Z1 = ("zone", "z1")


def fleet_of(*names: str) -> tuple[ModelFleet, list[ModelShard]]:
    fleet = ModelFleet([ModelMachine("m", "p:1", {"zone": "z1"})])
    return fleet, [fleet.joined(name, "p:1") for name in names]


def domain(fleet: ModelFleet) -> DomainRow | None:
    return fleet.book.tables.domains.get(*Z1)


def test_an_unknown_shard_is_not_found() -> None:
    fleet, _ = fleet_of("a")
    with pytest.raises(Rejected, match="ghost") as caught:
        fleet.do(removal.remove_shard, "ghost", None)
    assert caught.value.code is Code.NOT_FOUND


def test_nothing_of_it_is_left() -> None:
    fleet, (_, b) = fleet_of("a", "b")
    b.clusters = ("shop",)
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(5)
    fleet.do(domains.assign, "rack", "r1", "b")
    fleet.do(lambda book, draft: draft.quotas.put(QuotaRow("p", "eu", 9)))
    fleet.do(lambda book, draft: draft.allocations.put(AllocationRow("p", "eu", "b", 3)))
    moved = Transfer("7", TransferTier.IDLE, "b", "a", TransferState.OFFERED, ("m",))
    fleet.do(lambda book, draft: draft.transfers.put(TransferRow(moved, "p:1")))
    fleet.kill(b)
    row = fleet.book.tables.transfers.get("7")
    assert row is not None
    assert row.transfer.state is TransferState.CANCELLED
    left = [
        key
        for key, value in fleet.coordinator.rows.items()
        if not key.startswith(("transfers/", "cooldowns/")) and b'"b"' in value
    ]
    assert left == []
    assert pending(fleet.book, "b") == []
    assert "b" not in fleet.book.shards


def test_its_domains_fall_to_the_keys_that_are_asked_later() -> None:
    fleet, (_, b) = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(5)
    fleet.kill(b)
    assert domain(fleet) is None
    fleet.rounds(1)
    assert fleet.actors(fleet.machines[0]) == ["a"]


def test_a_dead_holder_is_cleared_and_may_complete_a_hand_over() -> None:
    fleet, (a, _) = fleet_of("a", "b")
    fleet.machines[0].occupied = True
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(3)
    fleet.kill(a)
    assert domain(fleet) == DomainRow(*Z1, "b")
    assert [each.instruction.topology_value for each in pending(fleet.book, "b")] == ["z1"]


def test_a_hand_over_to_it_ends_without_an_owner() -> None:
    fleet, (_, b) = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    fleet.kill(b)
    assert domain(fleet) == DomainRow(*Z1, "", ("a",))
    fleet.rounds(5)
    assert domain(fleet) is None
    assert fleet.actors(fleet.machines[0]) == ["a"]


def test_its_provider_has_no_default_owner_any_more() -> None:
    fleet, (a, _) = fleet_of("a", "b")
    fleet.kill(a)
    assert fleet.book.tables.defaults.rows == {}
    assert fleet.do(domains.set_default_owner, "p:1", "b") == "b"


def test_a_default_hand_over_from_it_is_complete() -> None:
    fleet, (a, _) = fleet_of("a", "b")
    fleet.do(domains.set_default_owner, "p:1", "b")
    fleet.kill(a)
    assert fleet.book.tables.defaults.get("p:1") == DefaultRow("p:1", "b")


def test_machines_moved_to_it_follow_their_domain_and_those_it_gave_away_stay() -> None:
    fleet, (a, b) = fleet_of("a", "b")
    for row in (
        OverrideRow("m", "b", "a", "t1", "p:1", 5),
        OverrideRow("n", "a", "b", "t2", "p:1", 5),
    ):
        fleet.do(lambda book, draft, row=row: (draft.overrides.put(row), draft.new_revision()))
    fleet.rounds(2)
    assert fleet.actors(fleet.machines[0]) == ["b"]
    fleet.kill(b)
    rows = list(fleet.book.tables.overrides.rows.values())
    assert rows == [OverrideRow("n", "a", "a", "t2", "p:1", 5)]
    fleet.rounds(1)
    assert a.may_act(fleet.machines[0])


@pytest.mark.parametrize("most", [10, 20, 128])
def test_what_one_transaction_does_not_hold_is_swept_in_the_next_ones(most: int) -> None:
    fleet, (_, b) = fleet_of("a", "b")
    for number in range(60):
        fleet.do(domains.assign, "rack", f"r{number}", "b")
    fleet.rounds(5)
    b.dead = True
    fleet.coordinator.largest = 0
    fleet.do(removal.remove_shard, "b", most)
    while fleet.do(removal.sweep_removed, most):
        assert fleet.book.shard("b") is None
        fleet.assert_one_actor()
    assert fleet.coordinator.largest <= most
    assert fleet.book.tables.shards.get("b") is None
    assert fleet.book.tables.domains.rows == {}


def test_removing_it_twice_is_not_an_error_while_it_is_swept() -> None:
    fleet, (_, b) = fleet_of("a", "b")
    b.clusters = tuple(f"c-{i}" for i in range(20))
    fleet.round(b)
    fleet.do(removal.remove_shard, "b", 8)
    fleet.do(removal.remove_shard, "b", 8)
    for _ in range(9):
        fleet.do(removal.sweep_removed, 8)
    assert fleet.book.tables.shards.get("b") is None


def test_a_shard_that_is_being_swept_is_given_nothing() -> None:
    fleet, (_, b) = fleet_of("a", "b")
    b.clusters = tuple(f"c-{i}" for i in range(20))
    fleet.round(b)
    fleet.do(removal.remove_shard, "b", 8)
    with pytest.raises(Rejected, match="being removed"):
        fleet.do(domains.assign, *Z1, "b")
    with pytest.raises(Rejected, match="being removed"):
        fleet.sync(b)
