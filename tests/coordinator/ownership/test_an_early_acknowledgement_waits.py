"""That a shard gave something up counts once it is known to have the view that shows it."""

from bigfleet.coordinator.membership import domains
from bigfleet.coordinator.tables import DomainRow, OverrideRow
from tests.coordination_model import ModelFleet, ModelMachine, ModelShard

Z1 = ("zone", "z1")


def given_up_early() -> tuple[ModelFleet, ModelShard]:
    """The default owner has heard the instruction, and its view is older than that."""
    fleet = ModelFleet([ModelMachine("m", "p:1", {"zone": "z1"})])
    a = fleet.joined("a", "p:1")
    fleet.joined("b", "p:1")
    fleet.do(domains.assign, "zone", "z2", "b")
    fleet.rounds(5)
    fleet.do(domains.assign, *Z1, "b")
    fleet.report(a)
    fleet.report(a)
    return fleet, a


def row(fleet: ModelFleet) -> DomainRow | None:
    return fleet.book.tables.domains.get(*Z1)


def test_it_does_not_count_before_the_shard_has_said_which_view_it_has() -> None:
    fleet, _ = given_up_early()
    assert row(fleet) == DomainRow(*Z1, "b", ("a",))


def test_it_counts_with_the_sync_that_says_so_without_being_told_again() -> None:
    fleet, a = given_up_early()
    assert fleet.report(a).instructions == ()
    fleet.sync(a)
    assert row(fleet) == DomainRow(*Z1, "b", ("a",))
    fleet.sync(a)
    assert row(fleet) == DomainRow(*Z1, "b")


def test_a_leader_that_has_not_heard_of_it_asks_again() -> None:
    fleet, a = given_up_early()
    fleet.coordinator.fail_over()
    (again,) = fleet.report(a).instructions
    assert again.term == 2
    fleet.rounds(3)
    assert row(fleet) == DomainRow(*Z1, "b")


def test_a_machine_whose_own_row_went_away_meanwhile_is_not_acted_on_by_two() -> None:
    """The row goes, then its domain moves; the shard still has the row in its view."""
    fleet = ModelFleet([ModelMachine("m", "p:1", {"zone": "z1"})])
    a = fleet.joined("a", "p:1")
    b = fleet.joined("b", "p:1")
    moved = OverrideRow("m", "a", "a", "tx", "p:1", 0)
    fleet.do(lambda book, draft: (draft.overrides.put(moved), draft.new_revision()))
    fleet.do(domains.assign, *Z1, "a")
    fleet.rounds(5)
    fleet.do(lambda book, draft: (draft.overrides.delete("m"), draft.new_revision()))
    fleet.do(domains.unassign, *Z1)
    fleet.do(domains.assign, *Z1, "b")
    fleet.report(a)
    fleet.report(a)
    fleet.sync(b)
    fleet.assert_one_actor()
    fleet.rounds(5)
    assert fleet.actors(fleet.machines[0]) == ["b"]


def test_a_shard_that_never_syncs_is_believed() -> None:
    """It has no views: what it acknowledges is all there is."""
    fleet = ModelFleet()
    a = fleet.join("a", "p:1")
    fleet.report(a)
    fleet.joined("b", "q:1")
    fleet.do(domains.assign, *Z1, "b")
    fleet.report(a)
    fleet.report(a)
    assert row(fleet) == DomainRow(*Z1, "b")
