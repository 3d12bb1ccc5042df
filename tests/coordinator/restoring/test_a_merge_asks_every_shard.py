"""After a restore nothing is told or given before every shard has said what it holds."""

from dataclasses import replace

import pytest

from bigfleet.coordinator.membership import domains, snapshot_merge
from bigfleet.coordinator.membership.instructions import pending
from bigfleet.coordinator.tables import DomainRow, OverrideRow, SeqRow, TransferRow
from bigfleet.model.coordination import Transfer, TransferState, TransferTier
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordination_model import ModelFleet, ModelMachine, ModelShard

Z1 = ("zone", "z1")


def fleet_of(*names: str) -> ModelFleet:
    """The first is the default owner."""
    fleet = ModelFleet([ModelMachine("m", "p:1", {"zone": "z1"})])
    for name in names:
        fleet.joined(name, "p:1")
    return fleet


def moved(fleet: ModelFleet, to: str) -> None:
    fleet.do(domains.unassign, *Z1)
    if to:
        fleet.do(domains.assign, *Z1, to)
    fleet.rounds(6)


def merged(fleet: ModelFleet) -> None:
    """Up to the transaction that ends the merge: no shard has heard of it yet."""
    fleet.rounds(3, 10)
    assert fleet.book.merging
    fleet.wait(10)
    fleet.tick()
    assert not fleet.book.merging


def domain(fleet: ModelFleet) -> DomainRow | None:
    return fleet.book.tables.domains.get(*Z1)


def numbers(fleet: ModelFleet) -> SeqRow:
    row = fleet.book.tables.seq.get()
    assert row is not None
    return row


# -- waiting -------------------------------------------------------------------------------------


def test_no_view_is_told_and_everybody_is_asked_back_within_a_second() -> None:
    fleet = fleet_of("a", "b")
    early = dict(fleet.coordinator.rows)
    moved(fleet, "b")
    fleet.coordinator.restore(early)
    for shard in fleet.alive():
        fleet.report(shard)
        reply = fleet.sync(shard)
        assert (reply.merging, reply.ownership, reply.next_sync_millis) == (True, None, 1000)


@pytest.mark.parametrize(
    ("operation", "args"),
    [
        (domains.assign, ("zone", "z9", "a")),
        (domains.unassign, Z1),
        (domains.set_default_owner, ("p:1", "b")),
    ],
    ids=["assign", "unassign", "set the default owner"],
)
def test_nothing_is_assigned_meanwhile(operation: object, args: tuple[str, ...]) -> None:
    fleet = fleet_of("a", "b")
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    with pytest.raises(Rejected, match="try again when every shard has synced") as caught:
        fleet.do(operation, *args)  # type: ignore[arg-type]
    assert caught.value.code is Code.UNAVAILABLE


def test_no_instruction_is_sent_meanwhile_and_no_answer_counts() -> None:
    fleet = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    a = fleet.shards["a"]
    fleet.round(a)
    fleet.report(a)
    assert a.acks
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    assert fleet.report(a).instructions == ()
    assert domain(fleet) == DomainRow(*Z1, "b", ("a",))


def test_it_does_not_end_before_three_intervals_have_passed() -> None:
    """Who joined after the snapshot has that time to appear."""
    fleet = fleet_of("a", "b")
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    fleet.rounds(29)
    assert fleet.book.merging
    fleet.rounds(3)
    assert not fleet.book.merging


def test_it_waits_for_a_silent_member_and_goes_on_when_that_is_removed() -> None:
    fleet = fleet_of("a", "b")
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    a, b = fleet.shards["a"], fleet.shards["b"]
    for _ in range(10):
        fleet.wait(10)
        fleet.tick()
        fleet.round(a)
    assert fleet.book.merging
    members = list(fleet.book.tables.shards.rows.values())
    assert snapshot_merge.waiting_for(fleet.book, members) == ["b"]
    fleet.kill(b)
    fleet.tick()
    assert not fleet.book.merging


def test_a_sync_that_does_not_tell_all_is_not_an_answer() -> None:
    """Its reply was lost, so the shard does not know that it is asked."""
    fleet = fleet_of("a")
    a = fleet.shards["a"]
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    for _ in range(5):
        fleet.wait(10)
        fleet.report(a)
        fleet.sync(a, answered=False)
        fleet.tick()
    assert fleet.book.merging
    fleet.round(a)
    fleet.round(a)
    fleet.tick()
    assert not fleet.book.merging


def test_another_leader_asks_every_shard_anew() -> None:
    fleet = fleet_of("a", "b")
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    fleet.rounds(20)
    fleet.coordinator.fail_over()
    fleet.rounds(20)
    assert fleet.book.merging
    fleet.rounds(15)
    assert not fleet.book.merging


def test_a_shard_that_joined_after_the_snapshot_is_a_member_of_the_merge() -> None:
    fleet = fleet_of("a")
    early = dict(fleet.coordinator.rows)
    fleet.joined("late", "p:1")
    moved(fleet, "late")
    fleet.coordinator.restore(early)
    merged(fleet)
    assert domain(fleet) == DomainRow(*Z1, "late")
    fleet.rounds(2)
    fleet.assert_settled()


# -- what is agreed ------------------------------------------------------------------------------


def test_what_a_shard_holds_stays_with_it() -> None:
    fleet = fleet_of("a", "b", "c")
    moved(fleet, "b")
    early = dict(fleet.coordinator.rows)
    moved(fleet, "c")
    fleet.coordinator.restore(early)
    assert domain(fleet) == DomainRow(*Z1, "b")
    merged(fleet)
    assert domain(fleet) == DomainRow(*Z1, "c")


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_domain_only_the_snapshot_knows_changes_hands_once_more(first: str) -> None:
    """Since then it was unassigned, and the default owner acts there."""
    fleet = fleet_of("a", "b")
    moved(fleet, "b")
    early = dict(fleet.coordinator.rows)
    moved(fleet, "")
    assert fleet.actors(fleet.machines[0]) == ["a"]
    fleet.coordinator.restore(early)
    merged(fleet)
    assert domain(fleet) == DomainRow(*Z1, "b", ("a",))
    fleet.round(fleet.shards[first])
    fleet.assert_one_actor()
    fleet.rounds(6)
    assert domain(fleet) == DomainRow(*Z1, "b")
    fleet.assert_settled()


def test_a_hand_over_that_was_under_way_goes_on_with_instructions_no_shard_has_done() -> None:
    fleet = fleet_of("a", "b")
    fleet.machines[0].occupied = True
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(3)
    (old,) = pending(fleet.book, "a")
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    merged(fleet)
    (new,) = pending(fleet.book, "a")
    assert new.instruction.sequence > old.instruction.sequence + 1_000_000
    assert domain(fleet) == DomainRow(*Z1, "b", ("a",))
    fleet.settle(6)
    fleet.assert_settled()


def test_an_instruction_a_shard_has_done_in_the_lost_time_is_not_believed_again() -> None:
    """`a` gave the zone up, got it back, and would answer the old instruction from memory."""
    fleet = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    early = dict(fleet.coordinator.rows)
    fleet.rounds(6)
    moved(fleet, "a")
    assert fleet.actors(fleet.machines[0]) == ["a"]
    fleet.coordinator.restore(early)
    merged(fleet)
    for name in ("b", "a", "b"):
        fleet.round(fleet.shards[name])
        fleet.assert_one_actor()
    fleet.rounds(6)
    fleet.assert_settled()


def test_the_new_revision_is_above_every_reported_one() -> None:
    fleet = fleet_of("a", "b")
    early = dict(fleet.coordinator.rows)
    for _ in range(3):
        moved(fleet, "b")
        moved(fleet, "a")
    reported = max(shard.ownership.revision for shard in fleet.alive())
    fleet.coordinator.restore(early)
    merged(fleet)
    assert numbers(fleet).revision > reported
    fleet.rounds(1)
    assert {shard.ownership.revision for shard in fleet.alive()} == {numbers(fleet).revision}


def test_a_shard_with_a_view_from_the_future_begins_a_merge_by_itself() -> None:
    """Rows were put back without a word to the coordinator."""
    fleet = fleet_of("a", "b")
    early = dict(fleet.coordinator.rows)
    moved(fleet, "b")
    fleet.coordinator.rows = early
    fleet.coordinator.fail_over()
    reply = fleet.report(fleet.shards["b"])
    assert reply.instructions == ()
    assert fleet.sync(fleet.shards["b"]).merging
    assert "merge_begun" in [event.kind for event in fleet.book.events]
    fleet.rounds(40)
    assert domain(fleet) == DomainRow(*Z1, "b")
    fleet.assert_settled()


# -- machines ------------------------------------------------------------------------------------


def put_row(fleet: ModelFleet, row: OverrideRow) -> None:
    fleet.do(lambda book, draft: (draft.overrides.put(row), draft.new_revision()))
    fleet.rounds(2)


def with_view_of(shard: ModelShard, row: MachineOverride) -> None:
    view = shard.ownership.view
    assert view is not None
    newer = replace(view, revision=view.revision + 1, overrides={row.machine: row})
    shard.ownership = shard.ownership.newer(newer, shard.providers)


def test_an_adopted_machine_stays_with_its_adopter() -> None:
    fleet = fleet_of("a", "b")
    early = dict(fleet.coordinator.rows)
    put_row(fleet, OverrideRow("m", "b", "a", "t1", "p:1", fleet.now))
    fleet.coordinator.restore(early)
    merged(fleet)
    row = fleet.book.tables.overrides.get("m")
    assert row is not None
    assert (row.shard, row.home, row.transfer, row.provider) == ("b", "a", "t1", "p:1")
    fleet.rounds(2)
    assert fleet.actors(fleet.machines[0]) == ["b"]


def test_a_machine_that_went_home_in_the_lost_time_is_not_given_away_again() -> None:
    fleet = fleet_of("a", "b")
    put_row(fleet, OverrideRow("m", "b", "a", "t1", "p:1", fleet.now))
    early = dict(fleet.coordinator.rows)
    fleet.do(lambda book, draft: (draft.overrides.delete("m"), draft.new_revision()))
    fleet.rounds(2)
    fleet.coordinator.restore(early)
    merged(fleet)
    assert fleet.book.tables.overrides.rows == {}
    fleet.round(fleet.shards["b"])
    assert fleet.actors(fleet.machines[0]) == ["a"]


def test_a_shard_that_released_a_machine_no_longer_has_it_even_if_it_holds_a_row() -> None:
    fleet = fleet_of("a", "b", "c")
    put_row(fleet, OverrideRow("m", "b", "a", "t1", "p:1", fleet.now))
    early = dict(fleet.coordinator.rows)
    b, c = fleet.shards["b"], fleet.shards["c"]
    b.ownership = b.ownership.releasing(["m"], "t2")
    with_view_of(c, MachineOverride("m", "c", "a", "t2"))
    fleet.coordinator.restore(early)
    merged(fleet)
    row = fleet.book.tables.overrides.get("m")
    assert row is not None
    assert row.shard == "c"
    fleet.rounds(2)
    assert fleet.actors(fleet.machines[0]) == ["c"]


def test_a_row_learned_from_a_shard_with_several_providers_is_told_to_everybody() -> None:
    fleet = fleet_of("a")
    b = fleet.joined("b", "p:1", "q:1")
    early = dict(fleet.coordinator.rows)
    put_row(fleet, OverrideRow("m", "b", "a", "t1", "p:1", fleet.now))
    fleet.coordinator.restore(early)
    merged(fleet)
    fleet.rounds(2)
    assert fleet.actors(fleet.machines[0]) == ["b"]
    a = fleet.shards["a"]
    assert a.ownership.view is not None
    assert list(a.ownership.view.overrides) == ["m"]
    assert b.ownership.view is not None


def test_transfers_under_way_are_over_and_marks_of_forgotten_ones_too() -> None:
    fleet = fleet_of("a", "b")
    moving = Transfer("7", TransferTier.IDLE, "a", "b", TransferState.RELEASING, ("m",))
    fleet.do(lambda book, draft: draft.transfers.put(TransferRow(moving, "p:1")))
    a = fleet.shards["a"]
    a.ownership = a.ownership.releasing(["m"], "7").releasing(["n"], "forgotten")
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    merged(fleet)
    told = {each.id: each.state for each in fleet.sync(a).transfers}
    cancelled = TransferState.CANCELLED
    assert told == {"7": cancelled, "forgotten": cancelled}


# -- many ----------------------------------------------------------------------------------------


def test_a_merge_of_many_rows_fits_the_transactions_of_etcd() -> None:
    fleet = fleet_of("a", "b", "c")
    fleet.coordinator.settings = replace(fleet.coordinator.settings, store="etcd")
    for number in range(300):
        fleet.do(domains.assign, "rack", f"r{number}", "b")
    fleet.coordinator.restore(dict(fleet.coordinator.rows))
    fleet.coordinator.largest = 0
    fleet.rounds(60)
    assert not fleet.book.merging
    assert fleet.coordinator.largest <= 128
    fleet.rounds(40)
    fleet.assert_settled()
    assert {row.owner for row in fleet.book.tables.domains.rows.values()} == {"b"}
