"""A machine in use lingers where it was ours until it lost its owner, by any kind of ownership."""

from bigfleet.model.ownership import OwnershipView
from tests.ownership.test_a_domain_is_given_up import (
    PROVIDER,
    RACK,
    ZONE,
    lingers_in,
    owns,
    shard,
    view,
)


def test_a_pair_that_comes_back_while_it_lingers_was_ours_all_along() -> None:
    """The zone is given back before another shard had it; the rack above it is on its way."""
    after = shard(
        view(1, {ZONE: "us"}, "them"),
        view(2, {ZONE: "", RACK: ""}, "them"),
        view(3, {ZONE: "us", RACK: ""}, "them"),
    )
    assert lingers_in(after, rack="r1", zone="z1") == (RACK,)
    assert owns(after, occupied=True, rack="r1", zone="z1")
    assert not owns(after, occupied=True, rack="r1", zone="z2")


def test_what_becomes_ours_by_name_was_ours_as_the_default_owners() -> None:
    """In one view the zone becomes ours by name, and the rack above it is taken away."""
    after = shard(view(1, default="us"), view(2, {ZONE: "us", RACK: ""}, "us"))
    assert lingers_in(after, rack="r1", zone="z1") == (RACK,)
    assert not owns(after, occupied=False, rack="r1", zone="z1")


def test_what_becomes_ours_by_name_was_anothers_as_the_default_owners() -> None:
    after = shard(view(1, default="them"), view(2, {ZONE: "us", RACK: ""}, "them"))
    assert not owns(after, occupied=True, rack="r1", zone="z1")
    assert owns(after, occupied=False, zone="z1")


def test_what_the_default_owner_gets_by_name_later_is_judged_by_whose_it_was() -> None:
    """A rack and a zone are taken away one after the other, and the zone comes back by name."""
    after = shard(
        view(1, default="us"),
        view(2, {RACK: ""}, "us"),
        view(3, {RACK: "", ZONE: ""}, "us"),
        view(4, {RACK: "", ZONE: "us"}, "us"),
        view(5, {RACK: "", ZONE: "us"}, ""),
    )
    assert lingers_in(after, rack="r1", zone="z1") == (RACK,)
    assert lingers_in(after, rack="r1") == (RACK, PROVIDER)
    assert lingers_in(after) == (PROVIDER,)


def test_a_listed_key_without_any_row_changes_nothing_by_its_place() -> None:
    """No rack was ever assigned: where the list names racks decides about no machine."""
    after = shard(
        OwnershipView.of(1, ("rack", "zone"), {ZONE: "us"}),
        OwnershipView.of(2, ("zone", "rack"), {ZONE: ""}),
    )
    assert lingers_in(after, rack="r1", zone="z1") == (ZONE,)
    assert owns(after, occupied=True, zone="z1")


def test_a_listed_key_without_any_row_changes_nothing_while_a_zone_lingers() -> None:
    after = shard(
        OwnershipView.of(1, ("zone", "rack"), {ZONE: "us"}),
        OwnershipView.of(2, ("zone", "rack"), {ZONE: ""}),
        OwnershipView.of(3, ("rack", "zone"), {ZONE: ""}),
    )
    assert lingers_in(after, rack="r1", zone="z1") == (ZONE,)


def test_nothing_lingers_where_keys_that_decide_change_places() -> None:
    """The rack had a row of its own: which of the two decides is not what it was."""
    after = shard(
        OwnershipView.of(1, ("rack", "zone"), {ZONE: "us", RACK: "them"}),
        OwnershipView.of(2, ("zone", "rack"), {ZONE: "", RACK: "them"}),
    )
    assert not after.lingering
