"""A domain is given to a shard once no other shard can still act there."""

import pytest

from bigfleet.coordinator.membership import domains
from bigfleet.coordinator.membership.domains import assignments
from bigfleet.coordinator.membership.instructions import pending
from bigfleet.coordinator.partition_keys import set_partition_keys
from bigfleet.coordinator.tables import DomainRow
from bigfleet.model.coordination import DomainAssignment
from bigfleet.model.coordinator_calls import InstructionKind
from bigfleet.model.ownership import PROVIDER_KEY
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordination_model import ModelFleet, ModelMachine, ModelShard

Z1 = ("zone", "z1")
ASSIGN, UNASSIGN = InstructionKind.ASSIGN_DOMAIN, InstructionKind.UNASSIGN_DOMAIN


def fleet_of(*names: str) -> tuple[ModelFleet, list[ModelShard]]:
    """The first is the default owner of the provider they share."""
    machines = [ModelMachine(f"m-{zone}", "p:1", {"zone": zone}) for zone in ("z1", "z2")]
    fleet = ModelFleet(machines)
    return fleet, [fleet.joined(name, "p:1") for name in names]


def row(fleet: ModelFleet, *pair: str) -> DomainRow | None:
    return fleet.book.tables.domains.get(*pair)


def told(fleet: ModelFleet, shard: str) -> list[tuple[InstructionKind, str]]:
    return [
        (each.instruction.kind, each.instruction.topology_value)
        for each in pending(fleet.book, shard)
    ]


def rejected(fleet: ModelFleet, operation: object, *args: str) -> Rejected:
    before = dict(fleet.coordinator.rows)
    with pytest.raises(Rejected) as caught:
        fleet.do(operation, *args)  # type: ignore[arg-type]
    assert fleet.coordinator.rows == before
    return caught.value


# -- what is refused -----------------------------------------------------------------------------


def test_a_domain_is_not_given_to_an_unknown_shard() -> None:
    fleet, _ = fleet_of("a")
    problem = rejected(fleet, domains.assign, *Z1, "ghost")
    assert problem.code is Code.NOT_FOUND
    assert "shard_id ghost is not known" in problem.text


def test_a_domain_of_another_owner_is_not_given_over_its_head() -> None:
    fleet, _ = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "a")
    problem = rejected(fleet, domains.assign, *Z1, "b")
    assert problem.code is Code.ALREADY_EXISTS
    assert problem.text == "domain zone=z1 is owned by a: unassign it first, then assign it to b"


def test_a_domain_on_its_way_to_one_shard_is_not_given_to_another() -> None:
    fleet, _ = fleet_of("a", "b", "c")
    fleet.do(domains.assign, *Z1, "b")
    problem = rejected(fleet, domains.assign, *Z1, "c")
    assert problem.code is Code.ALREADY_EXISTS
    assert "is on its way to b" in problem.text


@pytest.mark.parametrize(
    ("args", "field"),
    [
        (("", "z1", "a"), "topology_key"),
        (("zone", "", "a"), "topology_value"),
        (("zone", "z1", ""), "shard_id"),
        ((PROVIDER_KEY, "p:1", "a"), "SetDefaultOwner"),
    ],
    ids=["no key", "no value", "no shard", "the key of default owners"],
)
def test_what_is_missing_is_named(args: tuple[str, str, str], field: str) -> None:
    fleet, _ = fleet_of("a")
    problem = rejected(fleet, domains.assign, *args)
    assert problem.code is Code.INVALID_ARGUMENT
    assert field in problem.text


def test_what_has_no_row_is_unassigned_already() -> None:
    fleet, _ = fleet_of("a")
    before = dict(fleet.coordinator.rows)
    fleet.do(domains.unassign, *Z1)
    assert fleet.coordinator.rows == before


def test_assigning_again_to_the_same_shard_changes_nothing() -> None:
    fleet, _ = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    before = dict(fleet.coordinator.rows)
    fleet.do(domains.assign, *Z1, "b")
    assert fleet.coordinator.rows == before


# -- who may still hold it -----------------------------------------------------------------------


def test_where_no_other_shard_can_act_the_target_owns_at_once() -> None:
    fleet, _ = fleet_of("a")
    fleet.do(domains.assign, *Z1, "a")
    assert row(fleet, *Z1) == DomainRow(*Z1, "a")
    assert told(fleet, "a") == [(ASSIGN, "z1")]


def test_the_default_owner_is_asked_to_give_it_up_first() -> None:
    fleet, _ = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    assert row(fleet, *Z1) == DomainRow(*Z1, "b", ("a",))
    assert told(fleet, "a") == [(UNASSIGN, "z1")]
    assert told(fleet, "b") == []


def test_owners_by_keys_that_are_asked_later_are_asked_too_and_others_are_not() -> None:
    fleet, _ = fleet_of("a", "b", "c", "d")
    fleet.do(set_partition_keys, ("rack", "zone", "row"))
    for shard, pair in (("b", ("row", "w1")), ("c", ("rack", "r1"))):
        fleet.do(domains.assign, *pair, shard)
        fleet.rounds(4)
    fleet.do(domains.assign, *Z1, "d")
    assert row(fleet, *Z1) == DomainRow(*Z1, "d", ("a", "b"))


def test_on_its_way_it_has_no_owner_in_views_and_the_default_owner_is_blocked() -> None:
    fleet, (a, _) = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    fleet.sync(a)
    assert a.ownership.view is not None
    assert a.ownership.view.domains == {Z1: ""}
    assert [a.owns(machine, occupied=False) for machine in fleet.machines] == [False, True]
    assert assignments(fleet.book) == [DomainAssignment(*Z1, "")]


def test_the_last_acknowledgement_makes_the_target_the_owner_in_the_same_transaction() -> None:
    fleet, (a, b, _) = fleet_of("a", "b", "c")
    fleet.do(set_partition_keys, ("zone", "rack"))
    fleet.do(domains.assign, "rack", "r1", "b")
    fleet.rounds(4)
    fleet.do(domains.assign, *Z1, "c")
    revision = fleet.book.revision
    for _ in range(3):
        fleet.round(a)
    assert row(fleet, *Z1) == DomainRow(*Z1, "c", ("b",))
    assert (told(fleet, "a"), fleet.book.revision) == ([], revision)
    fleet.round(b)
    fleet.round(b)
    sent = b.report()
    assert len(sent.acks) == 0
    assert row(fleet, *Z1) == DomainRow(*Z1, "c")
    assert told(fleet, "c") == [(ASSIGN, "z1")]
    assert fleet.book.revision == revision + 1


def test_the_new_owner_acts_and_the_old_one_does_not() -> None:
    fleet, _ = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(5)
    assert [fleet.actors(machine) for machine in fleet.machines] == [["b"], ["a"]]
    assert told(fleet, "b") == []


def test_an_occupied_machine_keeps_the_domain_waiting() -> None:
    fleet, (a, _) = fleet_of("a", "b")
    fleet.machines[0].occupied = True
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(8)
    assert row(fleet, *Z1) == DomainRow(*Z1, "b", ("a",))
    assert a.owns(fleet.machines[0], occupied=True)
    fleet.machines[0].occupied = False
    fleet.rounds(5)
    assert fleet.actors(fleet.machines[0]) == ["b"]


# -- unassigning ---------------------------------------------------------------------------------


def test_an_owned_domain_is_given_up_before_its_row_goes() -> None:
    fleet, _ = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(5)
    fleet.do(domains.unassign, *Z1)
    assert row(fleet, *Z1) == DomainRow(*Z1, "", ("b",))
    fleet.rounds(5)
    assert row(fleet, *Z1) is None
    assert fleet.actors(fleet.machines[0]) == ["a"]


def test_a_domain_that_is_being_given_up_may_be_promised_to_another() -> None:
    fleet, _ = fleet_of("a", "b", "c")
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(5)
    fleet.do(domains.unassign, *Z1)
    fleet.do(domains.assign, *Z1, "c")
    assert row(fleet, *Z1) == DomainRow(*Z1, "c", ("a", "b"))
    fleet.rounds(5)
    assert fleet.actors(fleet.machines[0]) == ["c"]


def test_an_owner_that_gets_its_domain_back_is_not_asked_to_give_it_up() -> None:
    fleet, (_, b) = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(5)
    fleet.do(domains.unassign, *Z1)
    fleet.do(domains.assign, *Z1, "b")
    assert UNASSIGN not in [kind for kind, _ in told(fleet, "b")]
    fleet.rounds(5)
    assert b.may_act(fleet.machines[0])


def test_unassigning_on_the_way_sends_it_back_to_the_keys_that_are_asked_later() -> None:
    fleet, _ = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "b")
    fleet.do(domains.unassign, *Z1)
    assert row(fleet, *Z1) == DomainRow(*Z1, "", ("a", "b"))
    fleet.rounds(5)
    assert row(fleet, *Z1) is None
    assert fleet.actors(fleet.machines[0]) == ["a"]


def test_an_instruction_the_old_owner_never_took_up_is_overtaken() -> None:
    fleet, _ = fleet_of("a", "b")
    fleet.do(domains.assign, *Z1, "a")
    fleet.do(domains.unassign, *Z1)
    assert told(fleet, "a") == [(UNASSIGN, "z1")]


# -- many ----------------------------------------------------------------------------------------


def test_a_hand_over_from_two_hundred_default_owners_fits_a_transaction_and_ends() -> None:
    fleet = ModelFleet()
    shards = [fleet.joined(f"s-{i:03}", f"p-{i}:1") for i in range(200)]
    fleet.do(domains.assign, *Z1, "s-000")
    held = row(fleet, *Z1)
    assert held is not None
    assert len(held.holders) == 199
    assert sum(bool(told(fleet, shard.id)) for shard in shards) == 64
    fleet.rounds(14)
    assert row(fleet, *Z1) == DomainRow(*Z1, "s-000")
    assert fleet.coordinator.largest <= 128


def test_two_hundred_domains_that_end_together_fit_a_transaction() -> None:
    fleet, _ = fleet_of("a", "b")
    for number in range(200):
        fleet.do(domains.assign, "rack", f"r{number}", "b")
    fleet.coordinator.largest = 0
    fleet.rounds(20)
    assert {each.owner for each in fleet.book.tables.domains.rows.values()} == {"b"}
    assert fleet.coordinator.largest <= 128
