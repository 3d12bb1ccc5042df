"""Pods that amounts alone would leave over: the real scheduler places every one of them.

Machines have 8 cpu, of which a Node gives 7.5 away.
"""

from tests.e2e.joined import JoinedCluster, join
from tests.e2e.placed import OPERATOR_HASTE, PODWATCH_HASTE, stays_quiet, until_all_run
from tests.e2e.rig.api import Object
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import IMAGE, daemon_set, deployment, node_name, pod, pod_spec

HOSTNAME = "kubernetes.io/hostname"


async def joined(
    east: Cluster, make_fleet: MakeFleet, act: Act, machines: int, capacity: str = "bare_metal"
) -> JoinedCluster:
    fleet = await make_fleet([offered(capacity, machines)])
    return await join(east, fleet, act, settings=OPERATOR_HASTE, podwatch_settings=PODWATCH_HASTE)


async def test_six_pods_of_five_cpus_get_six_machines(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 8)
    await east.apply(deployment("web", 6, pod_spec(cpu="5")))
    await until_all_run(here, 6)
    await stays_quiet(here)
    assert len(await here.fleet.bound_to("east")) == 6


async def test_pods_of_mixed_sizes_that_fragment_all_run(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 8)
    await east.apply(
        deployment("large", 2, pod_spec(cpu="5")),
        deployment("medium", 3, pod_spec(cpu="4")),
        deployment("small", 4, pod_spec(cpu="2")),
    )
    await until_all_run(here, 9)
    await stays_quiet(here)
    # Each of the five large and medium ones has a Node of its own; the small ones fit beside them.
    assert len(await here.fleet.bound_to("east")) <= 6


async def test_more_tiny_pods_than_a_node_may_have_all_run(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 4)
    await east.apply(deployment("tiny", 150, pod_spec(cpu="10m", memory="8Mi")))
    await until_all_run(here, 150)
    await stays_quiet(here)
    assert len(await here.fleet.bound_to("east")) == 2


async def test_pods_without_requests_get_a_machine(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 2)
    best_effort = {"containers": [{"name": "main", "image": IMAGE}]}
    await east.apply(deployment("besteffort", 5, best_effort))
    await until_all_run(here, 5)
    await stays_quiet(here)
    assert len(await here.fleet.bound_to("east")) == 1


async def test_gated_pods_buy_nothing_until_their_last_gate_is_gone(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 4)
    gated = pod_spec(cpu="5", schedulingGates=[{"name": "example.com/quota"}])
    await east.apply(pod("gated", gated), pod("open", pod_spec(cpu="1")))

    async def open_one_runs() -> bool:
        return await here.running("open", 1)

    await east.until(open_one_runs)
    await stays_quiet(here, 5)
    assert len(await here.requests()) == 1
    assert len(await here.fleet.bound_to("east")) == 1
    path = f"/api/v1/namespaces/{east.namespace}/pods/gated"
    await east.api.patch(path, {"spec": {"schedulingGates": None}})
    await until_all_run(here, 2)
    await stays_quiet(here)


async def test_replicas_that_repel_each_other_get_a_machine_each(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 5)
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    await east.apply(deployment("db", 3, pod_spec(cpu="1", affinity=affinity)))
    await until_all_run(here, 3)
    await stays_quiet(here)
    assert len({node_name(each) for each in await east.pods()}) == 3
    assert len(await here.fleet.bound_to("east")) == 3


async def test_replicas_with_a_host_port_get_a_machine_each(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 5)
    spec = pod_spec(cpu="1")
    spec["containers"][0]["ports"] = [{"containerPort": 9100, "hostPort": 9100}]
    await east.apply(deployment("exporter", 3, spec))
    await until_all_run(here, 3)
    await stays_quiet(here)
    assert len({node_name(each) for each in await east.pods()}) == 3


async def test_a_node_selector_for_os_and_architecture_is_met(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 2)
    selector = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    await east.apply(deployment("web", 2, pod_spec(cpu="5", nodeSelector=selector)))
    await until_all_run(here, 2)
    await stays_quiet(here)


async def test_a_pod_that_fits_only_without_the_daemons_share_gets_a_larger_machine(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    """7 cpu and a daemon of 2 do not fit on 7.5; the next size has 15.5."""
    larger = {**offered("on_demand", 2), "instance_type": "std-16"}
    fleet = await make_fleet([offered("bare_metal", 2), larger])
    here = await join(east, fleet, act, settings=OPERATOR_HASTE, podwatch_settings=PODWATCH_HASTE)
    await east.apply(daemon_set("agent", pod_spec(cpu="2")))
    # A first pod brings a first Node, on which the daemon's share is seen.
    await east.apply(deployment("web", 1, pod_spec(cpu="3")))
    await here.until_running("web", 1)
    await east.apply(deployment("large", 1, pod_spec(cpu="7")))
    await here.until_running("large", 1)
    await stays_quiet(here)
    (large,) = await east.pods("app=large")
    node = (await east.nodes())[node_name(large)]
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "std-16"


async def test_pods_on_the_clusters_own_nodes_buy_nothing(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    here = await joined(east, make_fleet, act, 3)
    await east.api.create("/api/v1/nodes", own_node("own-1"))
    await east.apply(deployment("web", 3, pod_spec(cpu="2")))

    async def three_are_bound_to_the_own_node() -> bool:
        pods = await east.pods("app=web")
        return len(pods) == 3 and {node_name(each) for each in pods} == {"own-1"}

    await east.until(three_are_bound_to_the_own_node)
    await stays_quiet(here, 10)
    assert await here.fleet.bound_to("east") == set()
    # What no longer fits there is demand; what runs there still is not.
    await east.apply(deployment("web", 5, pod_spec(cpu="2")))

    async def all_are_bound() -> bool:
        pods = await east.pods("app=web")
        return len(pods) == 5 and all(node_name(each) for each in pods)

    await east.until(all_are_bound)
    await stays_quiet(here)
    assert len(await here.fleet.bound_to("east")) == 1


def own_node(name: str) -> Object:
    """A Node that another tool runs: nothing about it says that it is a machine of the fleet."""
    room = {"cpu": "7500m", "memory": "28Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, "kubernetes.io/os": "linux"}},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
