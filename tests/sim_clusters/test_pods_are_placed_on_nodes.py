"""Real pods on real nodes: requests, DaemonSets, requirements, limits; gangs whole or not."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.scheduler import Policy
from bigfleet.sim.workloads import (
    CACHE,
    LARGE_WEB,
    SECURE_KEY,
    SMALL_WEB,
    TINY,
    checkout,
    gang,
    job,
    web,
)
from tests.sim_clusters.clusters import (
    T0,
    amounts,
    cluster_with,
    filled,
    later,
    node_update,
    pods_on,
    pods_on_all,
    waiting,
)


def test_nodes_fill_up_in_the_order_of_their_names_where_the_policy_is_first_fit() -> None:
    cluster = filled(7, "m2", "m1")
    assert pods_on_all(cluster) == {"m1": {"web": 5}, "m2": {"web": 2}}


def test_nodes_fill_up_evenly_where_the_policy_is_that_of_kubernetes() -> None:
    cluster = Cluster("shop", policy=Policy.LEAST_ALLOCATED)
    for machine in ("m1", "m2", "m3"):
        cluster.on_node_state(node_update(machine), T0)
    cluster.scale(web("web"), 6, T0)
    cluster.schedule(T0)
    assert pods_on_all(cluster) == {f"m{n}": {"web": 2} for n in (1, 2, 3)}


def test_the_sum_may_fit_while_a_pod_does_not() -> None:
    """Six pods of 5 cpu are 30 cpu, four nodes have 29.4; each node takes one."""
    cluster = filled(6, *(f"m{n}" for n in range(4)), workload=web("search", LARGE_WEB))
    assert cluster.running == 4
    for machine in ("m4", "m5"):
        cluster.on_node_state(node_update(machine), T0)
    cluster.schedule(T0)
    assert cluster.running == 6


def test_daemon_sets_take_their_share_of_every_node() -> None:
    """7500m less 150m: a pod of 7350m fits, one of 7351m does not."""
    for cpu, running in (("7350m", 1), ("7351m", 0)):
        assert filled(1, "m1", workload=web("web", amounts(cpu, "1Gi"))).running == running


def test_the_kubelet_keeps_a_part_of_the_memory() -> None:
    """28Gi less 100Mi for the kubelet and 300Mi for DaemonSets."""
    for memory, running in (("28272Mi", 1), ("28273Mi", 0)):
        assert filled(1, "m1", workload=web("web", amounts("1", memory))).running == running


def test_a_node_takes_no_more_pods_than_the_kubelet_allows() -> None:
    """110, two of which are those of DaemonSets."""
    cluster = filled(150, "m1", workload=web("exporter", TINY))
    assert cluster.running == 108
    assert waiting(cluster)[0].verdict == "0/1 nodes are available: 1 Too many pods."


def test_pods_that_exclude_each_other_need_a_node_each() -> None:
    cluster = filled(3, "m1", "m2", workload=replace(web("edge"), exclusive=True))
    assert pods_on_all(cluster) == {"m1": {"edge": 1}, "m2": {"edge": 1}}
    assert "anti-affinity" in waiting(cluster)[0].verdict


def test_shapes_share_nodes_where_they_complement_each_other() -> None:
    cluster = cluster_with("m1")
    for name, request in (("search", LARGE_WEB), ("web", SMALL_WEB), ("cache", CACHE)):
        cluster.scale(web(name, request), 1, T0)
    cluster.schedule(T0)
    assert pods_on(cluster, "m1") == {"search": 1, "web": 1, "cache": 1}


def test_a_pod_that_fits_nowhere_hears_why_in_the_words_of_a_real_scheduler() -> None:
    cluster = cluster_with("m1", "m2", "m3", "m4")
    cluster.cordon(cluster.nodes["m1"], T0)
    cluster.delete_node(cluster.nodes["m2"], T0)
    cluster.on_node_state(node_update("m5", labels={SECURE_KEY: "yes"}), T0)
    cluster.scale(web("huge", amounts("8", "30Gi")), 1, later(1))
    cluster.schedule(later(1))
    [pod] = waiting(cluster)
    assert pod.verdict == (
        "0/5 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }, "
        "1 node(s) were unschedulable, 2 Insufficient cpu."
    )
    assert pod.unschedulable_since == pod.judged_at == later(1)


def test_a_pod_is_judged_again_when_a_node_has_come_and_waits_since_the_first_time() -> None:
    cluster = filled(1, "m1", workload=web("huge", amounts("8", "1Gi")))
    cluster.schedule(later(3))
    assert [(p.unschedulable_since, p.judged_at) for p in waiting(cluster)] == [(T0, T0)]
    cluster.on_node_state(node_update("m2"), later(5))
    cluster.schedule(later(6))
    assert [(p.unschedulable_since, p.judged_at) for p in waiting(cluster)] == [(T0, later(6))]


def test_higher_priority_is_placed_first() -> None:
    cluster = cluster_with("m1")
    cluster.scale(job("etl"), 3, T0)
    cluster.scale(web("web"), 5, T0)
    cluster.schedule(T0)
    assert pods_on(cluster, "m1") == {"web": 5}
    assert cluster.pending() == {"etl": 3}


def test_a_node_that_is_not_configured_or_cordoned_or_gone_takes_no_pod() -> None:
    cluster = cluster_with("m1", "m2", "m4")
    cluster.on_node_state(node_update("m3", MachineState.CONFIGURING), T0)
    cluster.cordon(cluster.nodes["m2"], T0)
    cluster.delete_node(cluster.nodes["m4"], T0)
    cluster.scale(web("web"), 15, T0)
    cluster.schedule(T0)
    assert {name for name, pods in pods_on_all(cluster).items() if pods} == {"m1"}
    assert cluster.pending() == {"web": 10}


def test_requirements_are_kept_in_both_directions() -> None:
    cluster = cluster_with("m1")
    cluster.on_node_state(node_update("m2", labels={SECURE_KEY: "yes"}), T0)
    cluster.scale(web("web"), 10, T0)
    cluster.scale(checkout("sale", secure=True), 10, T0)
    cluster.schedule(T0)
    assert pods_on_all(cluster) == {"m1": {"web": 5}, "m2": {"sale": 5}}


def test_a_gang_waits_until_one_rack_has_room_for_all_of_it() -> None:
    cluster = Cluster("ml")
    for machine, rack in (("m1", "r1"), ("m2", "r2"), ("m3", "r2")):
        cluster.on_node_state(node_update(machine, rack=rack), T0)
    cluster.scale(gang("train"), 3, T0)
    assert cluster.schedule(T0) == 0
    assert "has room for the 3 pods of the gang; one has 2" in waiting(cluster)[0].verdict
    cluster.on_node_state(node_update("m4", rack="r2"), T0)
    assert cluster.schedule(T0) == 3
    assert pods_on(cluster, "m1") == {}


def test_a_gang_that_loses_a_member_starts_again_as_a_whole() -> None:
    cluster = Cluster("ml")
    for machine, rack in (("m1", "r1"), ("m2", "r1"), ("m3", "r2")):
        cluster.on_node_state(node_update(machine, rack=rack), T0)
    cluster.scale(gang("train"), 2, T0)
    cluster.schedule(T0)
    cluster.on_node_state(node_update("m2", MachineState.FAILED, rack="r1"), T0)
    assert cluster.running == 0
    assert cluster.schedule(T0) == 0
    cluster.on_node_state(node_update("m4", rack="r2"), T0)
    assert cluster.schedule(T0) == 2
    assert pods_on(cluster, "m1") == {}


def test_scaling_down_empties_whole_nodes() -> None:
    cluster = filled(7, "m1", "m2")
    cluster.scale(web("web"), 5, T0)
    assert pods_on(cluster, "m2") == {}
    assert cluster.running == 5


@pytest.mark.parametrize("state", [MachineState.IDLE, MachineState.FAILED])
def test_pods_of_a_lost_machine_wait_for_a_new_place(state: MachineState) -> None:
    cluster = filled(5, "m1")
    cluster.on_node_state(node_update("m1", state), T0)
    assert cluster.pending() == {"web": 5}
    assert cluster.nodes == {}
    assert all(not pod.node for pod in cluster.occupancy.pods.values())


def test_pods_of_a_deleted_node_start_again_elsewhere_and_its_machine_stays() -> None:
    cluster = filled(5, "m1", "m2")
    before = {pod.uid for pod in cluster.occupancy.movable_on("node-m1")}
    cluster.delete_node(cluster.nodes["m1"], later(1))
    cluster.schedule(later(1))
    assert pods_on_all(cluster) == {"m1": {}, "m2": {"web": 5}}
    assert not before & {pod.uid for pod in cluster.occupancy.pods.values()}


def test_a_pass_over_very_many_pods_is_cut_and_the_next_one_goes_on() -> None:
    """6,000 tiny pods on 60 nodes of 108 places: no pod is forgotten."""
    cluster = filled(6_000, *(f"m{n:02}" for n in range(60)), workload=web("exporter", TINY))
    assert cluster.running == 5_000
    cluster.schedule(later(1))
    assert cluster.running == 6_000
