"""Providers people register, and those shards only report."""

import pytest

from bigfleet.coordinator.membership import registry
from bigfleet.coordinator.membership.registry import providers
from bigfleet.model.coordination import ProviderEntry
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordination_model import ModelFleet

ACME = ProviderEntry("acme", "acme:1", "eu-1", supports_delete=True)


def test_a_registered_provider_is_told_to_every_shard() -> None:
    fleet = ModelFleet()
    a = fleet.joined("a")
    assert fleet.do(registry.upsert_provider, ACME) == ACME
    assert fleet.sync(a).providers == (ACME,)
    a.providers = ("acme:1",)
    fleet.round(a)
    assert fleet.sync(a).providers == (ProviderEntry("acme", "acme:1", "eu-1", True, ("a",)),)


def test_what_a_shard_only_reports_is_listed_and_not_told_to_others() -> None:
    fleet = ModelFleet()
    fleet.joined("a", "p:1")
    b = fleet.joined("b", "p:1")
    assert providers(fleet.book) == [
        ProviderEntry("name-of-p:1", "p:1", attached_shards=("a", "b"))
    ]
    assert fleet.sync(b).providers == ()


def test_registering_again_replaces_and_the_same_again_changes_nothing() -> None:
    fleet = ModelFleet()
    fleet.do(registry.upsert_provider, ACME)
    before = dict(fleet.coordinator.rows)
    fleet.do(registry.upsert_provider, ACME)
    assert fleet.coordinator.rows == before
    fleet.do(registry.upsert_provider, ProviderEntry("acme", "acme:2"))
    assert providers(fleet.book) == [ProviderEntry("acme", "acme:2")]


def test_an_address_has_one_name() -> None:
    fleet = ModelFleet()
    fleet.do(registry.upsert_provider, ACME)
    with pytest.raises(Rejected, match="registered as provider acme") as caught:
        fleet.do(registry.upsert_provider, ProviderEntry("other", "acme:1"))
    assert caught.value.code is Code.ALREADY_EXISTS


@pytest.mark.parametrize(
    ("entry", "field"),
    [(ProviderEntry("", "acme:1"), "name"), (ProviderEntry("acme", ""), "address")],
    ids=["no name", "no address"],
)
def test_what_is_missing_is_named(entry: ProviderEntry, field: str) -> None:
    with pytest.raises(Rejected, match=f"^INVALID_ARGUMENT: {field} is empty"):
        ModelFleet().do(registry.upsert_provider, entry)


def test_a_provider_in_use_is_not_deleted() -> None:
    fleet = ModelFleet()
    fleet.do(registry.upsert_provider, ACME)
    shard = fleet.joined("a", "acme:1")
    with pytest.raises(Rejected, match="attached to a: detach it there first") as caught:
        fleet.do(registry.delete_provider, "acme")
    assert caught.value.code is Code.ABORTED
    shard.providers = ()
    fleet.round(shard)
    fleet.do(registry.delete_provider, "acme")
    assert providers(fleet.book) == []


def test_an_unregistered_provider_is_not_found() -> None:
    with pytest.raises(Rejected) as caught:
        ModelFleet().do(registry.delete_provider, "ghost")
    assert caught.value.code is Code.NOT_FOUND
