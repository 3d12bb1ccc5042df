"""A roll-up is the whole demand: what runs and what waits, one row per profile and gang."""

from dataclasses import replace

from bigfleet.model.resources import Resources
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.workloads import checkout, gang, job, web
from tests.sim_clusters.clusters import cluster_with, filled, node_update


def amounts(cpu: str, memory: str) -> Resources:
    return Resources.parse({"cpu": cpu, "memory": memory})


def test_deployments_of_one_profile_are_one_need() -> None:
    cluster = Cluster("shop")
    cluster.scale(web("web"), 6)
    cluster.scale(web("api"), 4)
    [need] = cluster.needs()
    assert need.cluster == "shop"
    assert need.aggregate == amounts("15", "50Gi")
    assert need.min_unit == amounts("1500m", "5Gi")


def test_the_unit_is_the_largest_request_of_each_dimension() -> None:
    cluster = Cluster("shop")
    wide = replace(web("wide"), request=amounts("3", "1Gi"))
    cluster.scale(web("web"), 1)
    cluster.scale(wide, 1)
    [need] = cluster.needs()
    assert need.aggregate == amounts("4500m", "6Gi")
    assert need.min_unit == amounts("3", "5Gi")


def test_another_priority_or_requirement_is_another_need() -> None:
    cluster = Cluster("shop")
    for workload in (web("web"), checkout("sale", secure=True), checkout("spare", secure=False)):
        cluster.scale(workload, 1)
    assert len({need.profile.fingerprint for need in cluster.needs()}) == 3


def test_every_gang_is_a_need_of_its_own() -> None:
    cluster = Cluster("ml")
    cluster.scale(gang("train-1"), 16)
    cluster.scale(gang("train-2"), 16)
    first, second = cluster.needs()
    assert first.profile == second.profile
    assert first.group != second.group
    assert first.aggregate == amounts("120", "448Gi")


def test_a_pod_is_demand_before_and_after_it_found_a_place() -> None:
    cluster = filled(9, "m1")
    assert cluster.pending() == {"web": 4}
    before = cluster.needs()
    cluster.on_node_state(node_update("m2"))
    cluster.schedule()
    assert cluster.pending() == {}
    assert cluster.needs() == before


def test_a_workload_that_ended_is_no_demand_any_more() -> None:
    cluster = cluster_with("m1")
    cluster.scale(job("etl"), 3)
    cluster.schedule()
    cluster.scale(job("etl"), 0)
    assert cluster.needs() == []
    assert cluster.nodes["m1"].pods == {}
    assert dict(cluster.nodes["m1"].free) == dict(cluster.nodes["m1"].capacity)
