"""Override, then domain, then default owner; a machine without an owner is not touched."""

from dataclasses import replace

from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.ownership import (
    MachineOverride,
    Owner,
    Ownership,
    OwnershipView,
    owner_of,
)
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY
from bigfleet.model.shard_views import OwnerSource

ACME = "acme:1"
MACHINE = Machine(
    "m", MachineState.SPECULATIVE, instance_type="std-8", zone="eu-1a", labels={"rack": "r1"}
)
VIEW = OwnershipView.of(
    revision=3,
    partition_keys=["rack", ZONE_KEY],
    domains={
        ("rack", "r1"): "by-rack",
        (ZONE_KEY, "eu-1a"): "by-zone",
        (INSTANCE_TYPE_KEY, "std-8"): "by-type",
        ("a-key", "x"): "by-a",
    },
    overrides=[MachineOverride("special", "by-id", home="by-rack", transfer="t1")],
    default_owners={ACME: "by-default"},
)


def owner(machine: Machine, provider: str = ACME, view: OwnershipView = VIEW) -> Owner:
    return owner_of(machine.id, machine.attribute, provider, view)


def like(name: str = "m", **fields: object) -> Machine:
    return replace(MACHINE, id=name, **fields)  # type: ignore[arg-type]


def test_an_override_comes_first() -> None:
    assert owner(like("special")) == Owner("by-id", OwnerSource.OVERRIDE)


def test_keys_are_asked_in_their_order() -> None:
    assert owner(MACHINE) == Owner("by-rack", OwnerSource.DOMAIN)


def test_an_unassigned_value_leads_to_the_next_key() -> None:
    assert owner(like(labels={"rack": "r2"})) == Owner("by-zone", OwnerSource.DOMAIN)


def test_keys_that_are_not_listed_come_last_by_name() -> None:
    assert VIEW.keys == ("rack", ZONE_KEY, "a-key", INSTANCE_TYPE_KEY)
    assert owner(like(labels={}, zone="eu-1b")).shard == "by-type"
    assert owner(like(zone="eu-1b", labels={"a-key": "x"})).shard == "by-a"


def test_the_default_owner_takes_what_is_in_no_domain() -> None:
    other = like(labels={}, zone="", instance_type="")
    assert owner(other) == Owner("by-default", OwnerSource.DEFAULT)
    assert owner(other, "unheard:1").shard == ""


def test_a_domain_without_an_owner_blocks_the_default_owner() -> None:
    view = OwnershipView.of(1, domains={("rack", "r1"): ""}, default_owners={ACME: "by-default"})
    assert owner(MACHINE, view=view) == Owner("", OwnerSource.DOMAIN)


def test_a_shard_on_its_own_owns_all_it_sees() -> None:
    alone = Ownership("shard-0")
    assert alone.known
    assert alone.owns("m", MACHINE.attribute, ACME)
    assert alone.owner("m", MACHINE.attribute, ACME).source is OwnerSource.ALL


def test_a_shard_without_its_view_owns_nothing() -> None:
    waiting = Ownership("by-rack", everything=False)
    assert not waiting.known
    assert not waiting.owns("m", MACHINE.attribute, ACME)


def test_a_view_that_is_not_newer_is_ignored() -> None:
    held = Ownership("by-rack", everything=False).newer(VIEW, [ACME])
    assert held.owns("m", MACHINE.attribute, ACME)
    assert held.newer(OwnershipView.of(2), [ACME]) is held
    assert held.newer(OwnershipView.of(3), [ACME]) is held
    assert not held.newer(OwnershipView.of(4), [ACME]).owns("m", MACHINE.attribute, ACME)


def test_a_view_counts_only_for_the_providers_it_was_asked_for() -> None:
    held = Ownership("by-rack", everything=False).newer(VIEW, ["bolt:1"])
    assert not held.owns("m", MACHINE.attribute, ACME)
    assert held.owns("m", MACHINE.attribute, "bolt:1")


def test_who_holds_a_pair_is_said_of_default_owners_too() -> None:
    assert VIEW.held_by(("rack", "r1")) == "by-rack"
    assert VIEW.held_by(("rack", "r9")) is None
    assert VIEW.held_by(("bigfleet.lucy.sh/provider", ACME)) == "by-default"
    assert VIEW.held_by(("bigfleet.lucy.sh/provider", "bolt:1")) is None
