"""The first report makes a shard a member; who owns its provider then."""

import pytest

from bigfleet.coordinator.membership import domains, removal, reports
from bigfleet.coordinator.membership.reports import shard_entries
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordination_model import START, ModelFleet


def owner_of_provider(fleet: ModelFleet, address: str) -> str | None:
    row = fleet.book.tables.defaults.get(address)
    return row.owner if row is not None else None


def notes(fleet: ModelFleet, kind: str) -> list[str]:
    return [event.text for event in fleet.book.events if event.kind == kind]


def test_the_first_report_makes_a_shard_a_member() -> None:
    fleet = ModelFleet()
    assert fleet.report(fleet.join("a", "p:1")).acknowledged
    (entry,) = shard_entries(fleet.book)
    assert (entry.shard_id, entry.address) == ("a", "a:7780")
    assert (entry.registered_at, entry.last_heartbeat_at) == (START, START)
    assert notes(fleet, "shard_registered") == ["a reports for the first time, from a:7780"]


def test_members_are_listed_by_name_and_the_removed_are_not() -> None:
    fleet = ModelFleet()
    for name in ("b", "c", "a"):
        fleet.joined(name)
    fleet.kill(fleet.shards["c"])
    assert [entry.shard_id for entry in shard_entries(fleet.book)] == ["a", "b"]


def test_the_first_shard_of_a_provider_owns_it_whole() -> None:
    fleet = ModelFleet()
    fleet.report(fleet.join("a", "p:1"))
    assert owner_of_provider(fleet, "p:1") == "a"
    assert "first shard there" in notes(fleet, "assigned")[0]


def test_later_shards_of_the_provider_own_nothing() -> None:
    fleet = ModelFleet()
    fleet.joined("a", "p:1")
    late = fleet.joined("b", "p:1")
    assert owner_of_provider(fleet, "p:1") == "a"
    view = late.ownership.view
    assert view is not None
    assert view.default_owners == {"p:1": "a"}


def test_a_provider_whose_domains_are_assigned_gets_no_default_owner_by_itself() -> None:
    fleet = ModelFleet()
    first = fleet.joined("a", "p:1")
    fleet.do(domains.assign, "zone", "z1", "a")
    first.providers = ("p:1", "q:1")
    fleet.round(first)
    fleet.joined("b", "q:1")
    assert owner_of_provider(fleet, "q:1") is None


def test_a_provider_that_is_attached_later_has_its_owner_too() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1")
    shard.providers = ("p:1", "q:1")
    fleet.round(shard)
    assert owner_of_provider(fleet, "q:1") == "a"


def test_a_provider_that_runs_inside_the_shard_belongs_to_no_other_shard() -> None:
    fleet = ModelFleet()
    fleet.report(fleet.join("a"))
    assert dict(fleet.book.tables.defaults.rows) == {}


def test_a_member_without_a_provider_still_gets_a_view() -> None:
    fleet = ModelFleet()
    assert fleet.joined("a").ownership.known


def test_a_new_life_brings_its_address_and_its_epoch() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1")
    shard.crash()
    fleet.report(shard)
    row = fleet.book.shard("a")
    assert row is not None
    assert (row.epoch, row.registered_at) == (2, START)
    assert notes(fleet, "shard_restarted") == ["a has restarted: epoch 2, at a:7780"]


def test_an_older_life_is_not_acknowledged_told_nothing_and_counted() -> None:
    fleet = ModelFleet()
    fleet.joined("a", "p:1")
    zombie = fleet.join("a", "p:1")
    fleet.joined("b", "p:1")
    zombie.crash()
    fleet.report(zombie)
    fleet.do(domains.assign, "zone", "z1", "b")
    zombie.epoch, zombie.cycle = 1, 1_000
    heard = fleet.book.memory("a").heard_at
    fleet.wait(5)
    reply = fleet.report(zombie)
    assert not reply.acknowledged
    assert reply.instructions == ()
    assert fleet.book.memory("a").heard_at == heard
    assert fleet.book.counts.of("reports_total", result="stale_epoch") == 1


def test_a_removed_shard_is_not_a_member_again_before_all_of_it_is_gone() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1")
    shard.clusters = tuple(f"c-{i}" for i in range(8))
    fleet.round(shard)
    fleet.do(removal.remove_shard, "a", 8)
    assert not fleet.report(shard).acknowledged
    fleet.tick()
    assert fleet.report(shard).acknowledged
    assert owner_of_provider(fleet, "p:1") == "a"


def test_a_report_without_a_name_is_refused() -> None:
    fleet = ModelFleet()
    with pytest.raises(Rejected, match="shard_id is empty") as caught:
        fleet.do(reports.on_report, fleet.join("").report())
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_a_report_that_is_not_news_writes_nothing() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1")
    before = dict(fleet.coordinator.rows)
    fleet.wait(10)
    fleet.report(shard)
    assert fleet.coordinator.rows == before
