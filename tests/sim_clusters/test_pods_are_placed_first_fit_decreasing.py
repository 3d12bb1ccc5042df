"""The scheduler model: Ready nodes only, requirements kept, gangs whole or not at all."""

from dataclasses import replace

from bigfleet.model.machines import MachineState
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.workloads import SECURE_KEY, checkout, gang, job, web
from tests.sim_clusters.clusters import NODE, cluster_with, filled, node_update


def test_nodes_fill_up_in_the_order_of_their_names() -> None:
    cluster = filled(7, "m2", "m1")
    assert cluster.nodes["m1"].pods == {"web": 5}
    assert cluster.nodes["m2"].pods == {"web": 2}


def test_higher_priority_is_placed_first() -> None:
    cluster = cluster_with("m1")
    cluster.scale(job("etl"), 3)
    cluster.scale(web("web"), 5)
    cluster.schedule()
    assert cluster.nodes["m1"].pods == {"web": 5}
    assert cluster.pending() == {"etl": 3}


def test_larger_pods_of_equal_priority_are_placed_first() -> None:
    small = job("a-small")
    large = replace(job("large"), request=NODE)
    cluster = cluster_with("m1")
    cluster.scale(small, 1)
    cluster.scale(large, 1)
    cluster.schedule()
    assert cluster.nodes["m1"].pods == {"large": 1}


def test_a_node_that_is_not_configured_or_is_cordoned_takes_no_pod() -> None:
    cluster = cluster_with("m1", "m2")
    cluster.on_node_state(node_update("m3", MachineState.CONFIGURING))
    cluster.cordon(cluster.nodes["m2"])
    cluster.scale(web("web"), 15)
    cluster.schedule()
    assert {name for name, node in cluster.nodes.items() if node.pods} == {"m1"}
    assert cluster.pending() == {"web": 10}


def test_requirements_are_kept_in_both_directions() -> None:
    cluster = cluster_with("m1")
    cluster.on_node_state(node_update("m2", labels={SECURE_KEY: "yes"}))
    cluster.scale(web("web"), 10)
    cluster.scale(checkout("sale", secure=True), 10)
    cluster.schedule()
    assert cluster.nodes["m1"].pods == {"web": 5}
    assert cluster.nodes["m2"].pods == {"sale": 5}


def test_a_gang_waits_until_one_rack_has_room_for_all_of_it() -> None:
    cluster = Cluster("ml")
    for machine, rack in (("m1", "r1"), ("m2", "r2"), ("m3", "r2")):
        cluster.on_node_state(node_update(machine, rack=rack))
    cluster.scale(gang("train"), 3)
    assert cluster.schedule() == {}
    cluster.on_node_state(node_update("m4", rack="r2"))
    assert cluster.schedule() == {"train": 3}
    assert cluster.nodes["m1"].pods == {}


def test_a_gang_that_loses_a_member_starts_again_as_a_whole() -> None:
    cluster = Cluster("ml")
    for machine, rack in (("m1", "r1"), ("m2", "r1"), ("m3", "r2")):
        cluster.on_node_state(node_update(machine, rack=rack))
    cluster.scale(gang("train"), 2)
    cluster.schedule()
    cluster.on_node_state(node_update("m2", MachineState.FAILED, rack="r1"))
    assert cluster.running == 0
    assert cluster.schedule() == {}
    cluster.on_node_state(node_update("m4", rack="r2"))
    assert cluster.schedule() == {"train": 2}
    assert cluster.nodes["m1"].pods == {}


def test_evicting_one_member_of_a_gang_evicts_the_gang() -> None:
    cluster = filled(2, "m1", "m2", workload=gang("train"))
    cluster.cordon(cluster.nodes["m1"])
    assert cluster.evict(cluster.nodes["m1"]) == 0
    assert cluster.pending() == {"train": 2}


def test_scaling_down_empties_whole_nodes() -> None:
    cluster = filled(7, "m1", "m2")
    cluster.scale(web("web"), 5)
    assert cluster.nodes["m2"].pods == {}
    assert cluster.running == 5


def test_pods_of_a_lost_node_wait_for_a_new_place() -> None:
    cluster = filled(5, "m1")
    cluster.on_node_state(node_update("m1", MachineState.IDLE))
    assert cluster.pending() == {"web": 5}
    assert cluster.nodes == {}
