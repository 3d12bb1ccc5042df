"""Who is to have a domain may have had it before: when it goes elsewhere, it is asked as well."""

import pytest

from bigfleet.coordinator.membership import domains
from tests.coordination_model import ModelFleet, ModelMachine

PAIR = ("rack", "r1")


@pytest.fixture
def fleet() -> ModelFleet:
    """The rack is b's, everything else a's."""
    fleet = ModelFleet([ModelMachine("m", "p:1", {"rack": "r1"})])
    for name in ("a", "b", "c"):
        fleet.joined(name, "p:1")
    fleet.do(domains.assign, *PAIR, "b")
    fleet.rounds(6)
    assert fleet.actors(fleet.machines[0]) == ["b"]
    return fleet


def holders(fleet: ModelFleet) -> tuple[str, ...]:
    row = fleet.book.tables.domains.get(*PAIR)
    return row.holders if row is not None else ()


def test_an_owner_that_gets_its_domain_back_is_asked_when_it_is_taken_away_again(
    fleet: ModelFleet,
) -> None:
    """Before it has heard of any of it."""
    fleet.do(domains.unassign, *PAIR)
    fleet.do(domains.assign, *PAIR, "b")
    fleet.do(domains.unassign, *PAIR)
    assert holders(fleet) == ("a", "b")
    fleet.round(fleet.shards["a"])
    fleet.round(fleet.shards["a"])
    fleet.round(fleet.shards["a"])
    fleet.assert_one_actor()
    fleet.settle()
    assert fleet.actors(fleet.machines[0]) == ["a"]


def test_it_is_asked_when_the_domain_goes_to_another_shard_instead(fleet: ModelFleet) -> None:
    fleet.do(domains.unassign, *PAIR)
    fleet.do(domains.assign, *PAIR, "b")
    fleet.do(domains.unassign, *PAIR)
    fleet.do(domains.assign, *PAIR, "c")
    assert holders(fleet) == ("a", "b")
    fleet.settle()
    assert fleet.actors(fleet.machines[0]) == ["c"]
