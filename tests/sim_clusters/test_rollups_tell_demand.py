"""A roll-up is the whole demand: what runs and what fits nowhere, one row per profile and gang."""

from dataclasses import replace

from bigfleet.sim.cluster import Cluster
from bigfleet.sim.workloads import LARGE_WEB, Workload, checkout, gang, job, web
from tests.sim_clusters.clusters import (
    T0,
    amounts,
    cluster_with,
    connected,
    filled,
    later,
    node_update,
    rollups,
)


def judged(name: str, *workloads: tuple[Workload, int]) -> Cluster:
    """A cluster without nodes, whose scheduler has said so."""
    cluster = Cluster(name)
    for workload, pods in workloads:
        cluster.scale(workload, pods, T0)
    cluster.schedule(T0)
    return cluster


def test_deployments_of_one_profile_are_one_need() -> None:
    [need] = judged("shop", (web("web"), 6), (web("api"), 4)).needs()
    assert need.cluster == "shop"
    assert need.aggregate == amounts("14", "50Gi")
    assert need.min_unit == amounts("1400m", "5Gi")


def test_the_unit_is_the_largest_request_of_each_dimension() -> None:
    wide = replace(web("wide"), request=amounts("3", "1Gi"))
    [need] = judged("shop", (web("web"), 1), (wide, 1)).needs()
    assert need.aggregate == amounts("4400m", "6Gi")
    assert need.min_unit == amounts("3", "5Gi")


def test_another_priority_or_requirement_is_another_need() -> None:
    kinds = (web("web"), checkout("sale", secure=True), checkout("spare", secure=False))
    needs = judged("shop", *((each, 1) for each in kinds)).needs()
    assert len({need.profile.fingerprint for need in needs}) == 3


def test_every_gang_is_a_need_of_its_own() -> None:
    first, second = judged("ml", (gang("train-1"), 16), (gang("train-2"), 16)).needs()
    assert first.profile == second.profile
    assert first.group != second.group
    assert first.aggregate == amounts("112", "432Gi")


def test_a_pod_that_the_scheduler_has_not_judged_is_not_demand_yet() -> None:
    cluster = Cluster("shop")
    cluster.scale(web("web"), 3, T0)
    assert cluster.needs() == []
    cluster.schedule(later(1))
    assert [need.aggregate for need in cluster.needs()] == [amounts("4200m", "15Gi")]


def test_a_pod_is_demand_before_and_after_it_found_a_place() -> None:
    cluster = filled(9, "m1")
    assert cluster.pending() == {"web": 4}
    before = cluster.needs()
    cluster.on_node_state(node_update("m2"), T0)
    cluster.schedule(T0)
    assert cluster.pending() == {}
    assert cluster.needs() == before


def test_a_workload_that_ended_is_not_demand_any_more() -> None:
    cluster = cluster_with("m1")
    free = dict(cluster.occupancy.rooms["node-m1"].free)
    cluster.scale(job("etl"), 3, T0)
    cluster.schedule(T0)
    cluster.scale(job("etl"), 0, T0)
    assert cluster.needs() == []
    assert dict(cluster.occupancy.rooms["node-m1"].free) == free


def test_the_unit_in_a_rollup_is_the_largest_pod_and_what_of_a_node_no_pod_gets() -> None:
    """150m and 300Mi of DaemonSets, 100Mi of the kubelet."""
    operator = connected(filled(1, "m1", workload=web("search", LARGE_WEB)))
    [rollup] = rollups(operator.tick(later(10)))
    [row] = rollup.needs
    assert row.aggregate == amounts("5", "8Gi")
    assert row.min_unit == amounts("5150m", "8592Mi")
