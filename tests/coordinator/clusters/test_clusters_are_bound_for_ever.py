"""The first shard that names a cluster has it; the second is told whose it is."""

import pytest

from bigfleet.coordinator.membership import bindings
from bigfleet.coordinator.membership.bindings import bindings as listed
from bigfleet.model.coordination import ClusterBinding
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordination_model import START, ModelFleet


def fleet_of_two() -> ModelFleet:
    fleet = ModelFleet()
    for name in ("a", "b"):
        fleet.joined(name, "p:1")
    return fleet


def naming(fleet: ModelFleet, shard: str, *clusters: str) -> tuple[ClusterBinding, ...]:
    fleet.shards[shard].clusters = clusters
    fleet.report(fleet.shards[shard])
    return fleet.sync(fleet.shards[shard]).misbound


def misbound_events(fleet: ModelFleet) -> list[str]:
    return [event.text for event in fleet.book.events if event.kind == "cluster_misbound"]


def test_the_first_shard_that_names_a_cluster_has_it() -> None:
    fleet = fleet_of_two()
    assert naming(fleet, "a", "shop", "bank") == ()
    assert listed(fleet.book, "") == [
        ClusterBinding("bank", "a", "a:7780", START),
        ClusterBinding("shop", "a", "a:7780", START),
    ]
    assert listed(fleet.book, "b") == []


def test_the_second_one_is_told_whose_it_is_and_where() -> None:
    fleet = fleet_of_two()
    naming(fleet, "a", "shop")
    assert naming(fleet, "b", "shop", "bank") == (ClusterBinding("shop", "a", "a:7780", START),)
    assert [each.shard for each in listed(fleet.book, "")] == ["b", "a"]


def test_that_a_cluster_dials_the_wrong_shard_is_told_once() -> None:
    fleet = fleet_of_two()
    naming(fleet, "a", "shop")
    for _ in range(3):
        assert naming(fleet, "b", "shop") != ()
    assert misbound_events(fleet) == ["cluster shop dialled b, but is bound to a"]


def test_a_binding_outlives_the_session_and_the_leader() -> None:
    fleet = fleet_of_two()
    naming(fleet, "a", "shop")
    naming(fleet, "a")
    fleet.coordinator.fail_over()
    assert naming(fleet, "b", "shop") != ()


def test_a_cluster_in_session_is_not_unbound() -> None:
    fleet = fleet_of_two()
    naming(fleet, "a", "shop")
    with pytest.raises(Rejected, match="stop its operator first") as caught:
        fleet.do(bindings.unbind, "shop")
    assert caught.value.code is Code.ABORTED


@pytest.mark.parametrize("silent", [False, True], ids=["no session", "a silent shard"])
def test_a_cluster_without_a_session_is_unbound_and_free(silent: bool) -> None:
    fleet = fleet_of_two()
    naming(fleet, "a", "shop")
    if silent:
        fleet.wait(31)
    else:
        naming(fleet, "a")
    fleet.do(bindings.unbind, "shop")
    assert naming(fleet, "b", "shop") == ()


def test_an_unbound_cluster_is_not_found() -> None:
    with pytest.raises(Rejected, match="cluster_id ghost is bound to no shard") as caught:
        fleet_of_two().do(bindings.unbind, "ghost")
    assert caught.value.code is Code.NOT_FOUND


def test_removing_the_shard_frees_its_clusters() -> None:
    fleet = fleet_of_two()
    naming(fleet, "a", "shop")
    fleet.kill(fleet.shards["a"])
    assert naming(fleet, "b", "shop") == ()


def test_thousands_of_new_clusters_are_bound_over_several_syncs() -> None:
    fleet = fleet_of_two()
    names = tuple(f"c-{i:04}" for i in range(1000))
    naming(fleet, "a", *names)
    assert fleet.shards["a"].next_sync_millis == 200
    for _ in range(20):
        naming(fleet, "a", *names)
    assert len(listed(fleet.book, "a")) == 1000
    assert fleet.shards["a"].next_sync_millis == 0
    assert fleet.coordinator.largest <= 128
