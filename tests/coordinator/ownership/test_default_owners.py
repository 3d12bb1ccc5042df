"""Who owns what a provider has outside of every domain, and how that changes hands."""

import pytest

from bigfleet.coordinator.membership import domains
from bigfleet.coordinator.membership.instructions import pending
from bigfleet.coordinator.tables import DefaultRow
from bigfleet.model.coordinator_calls import InstructionKind
from bigfleet.model.ownership import PROVIDER_KEY
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordination_model import ModelFleet, ModelMachine


def fleet_of_two() -> ModelFleet:
    fleet = ModelFleet([ModelMachine("m", "p:1")])
    fleet.joined("a", "p:1")
    fleet.joined("b", "p:1")
    return fleet


def test_the_default_owner_changes_hands_in_two_steps() -> None:
    fleet = fleet_of_two()
    assert fleet.do(domains.set_default_owner, "p:1", "b") == ""
    assert fleet.book.tables.defaults.get("p:1") == DefaultRow("p:1", "b", ("a",))
    (told,) = pending(fleet.book, "a")
    assert told.instruction.kind is InstructionKind.UNASSIGN_DOMAIN
    assert told.instruction.topology_key == PROVIDER_KEY
    assert told.instruction.topology_value == "p:1"
    fleet.rounds(5)
    assert fleet.book.tables.defaults.get("p:1") == DefaultRow("p:1", "b")
    assert fleet.actors(fleet.machines[0]) == ["b"]


def test_the_owner_it_has_already_is_answered_at_once() -> None:
    fleet = fleet_of_two()
    assert fleet.do(domains.set_default_owner, "p:1", "a") == "a"
    assert pending(fleet.book, "") == []


def test_an_unknown_provider_may_have_an_owner() -> None:
    fleet = fleet_of_two()
    assert fleet.do(domains.set_default_owner, "new:1", "b") == "b"


def test_a_target_may_be_replaced_on_the_way() -> None:
    fleet = fleet_of_two()
    fleet.joined("c", "p:1")
    fleet.do(domains.set_default_owner, "p:1", "b")
    fleet.do(domains.set_default_owner, "p:1", "c")
    assert fleet.book.tables.defaults.get("p:1") == DefaultRow("p:1", "c", ("a", "b"))
    fleet.rounds(5)
    assert fleet.actors(fleet.machines[0]) == ["c"]


def test_holders_on_the_way_of_a_default_owner_are_holders_of_a_domain_too() -> None:
    fleet = fleet_of_two()
    fleet.joined("c", "p:1")
    fleet.do(domains.set_default_owner, "p:1", "b")
    fleet.do(domains.assign, "zone", "z1", "c")
    row = fleet.book.tables.domains.get("zone", "z1")
    assert row is not None
    assert row.holders == ("a", "b")


@pytest.mark.parametrize(
    ("args", "code", "field"),
    [
        (("", "a"), Code.INVALID_ARGUMENT, "provider_address"),
        (("p:1", ""), Code.INVALID_ARGUMENT, "shard_id"),
        (("p:1", "ghost"), Code.NOT_FOUND, "ghost"),
    ],
    ids=["no provider", "no shard", "an unknown shard"],
)
def test_what_is_wrong_is_named(args: tuple[str, str], code: Code, field: str) -> None:
    fleet = fleet_of_two()
    with pytest.raises(Rejected, match=field) as caught:
        fleet.do(domains.set_default_owner, *args)
    assert caught.value.code is code
