"""The rig itself: machines become Nodes, the real scheduler binds pods to them, budgets hold."""

import signal

import pytest

from bigfleet.model.requirements import HOSTNAME_KEY, INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY
from tests.e2e.rig.api import Refused
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.rig.makers import Act, MakeProvider
from tests.e2e.rig.nodes import MACHINE_ID_KEY, named_apart
from tests.e2e.rig.workloads import budget, deployment, is_ready, node_name, pod, pod_spec
from tests.shard_system.waiting import until

METAL = {**offered("bare_metal", 3), "sim": {"walk": False, "racks": 3}}


async def metal(make_provider: MakeProvider) -> tuple[Fleet, list[str]]:
    """A provider without a shard, and its machines."""
    fleet = await make_provider([METAL])
    return fleet, sorted(await fleet.machines())


async def all_run(cluster: Cluster, count: int) -> bool:
    pods = await cluster.pods()
    return len(pods) == count and all(is_ready(pod) for pod in pods)


async def test_the_scheduler_binds_a_deployment_onto_machines_of_the_provider(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    fleet, machines = await metal(make_provider)
    await fleet.configure("east", *machines[:2])
    actor = await act(east, fleet)
    # Eight CPUs a machine, a half of one reserved: two of three fit on each.
    await east.apply(deployment("web", 4, pod_spec(cpu="3")))
    await east.until(lambda: all_run(east, 4), lambda: actor.troubles)
    pods = await east.pods("app=web")
    assert {node_name(pod) for pod in pods} == set(actor.machines)
    assert len({pod["status"]["podIP"] for pod in pods}) == 4


async def test_a_pod_that_fits_nowhere_waits_until_a_machine_is_bound_to_the_cluster(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    fleet, machines = await metal(make_provider)
    await fleet.configure("west", machines[0])
    actor = await act(east, fleet)
    await east.apply(deployment("web", 1))

    async def is_unschedulable() -> bool:
        conditions = [c for pod in await east.pods() for c in pod["status"].get("conditions", [])]
        return any(c.get("reason") == "Unschedulable" for c in conditions)

    await east.until(is_unschedulable)
    await fleet.configure("east", machines[1])
    await east.until(lambda: all_run(east, 1), lambda: actor.troubles)


async def test_a_node_tells_what_its_machine_is_and_is_not_named_like_it(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    fleet, machines = await metal(make_provider)
    await fleet.configure("east", machines[0])
    actor = await act(east, fleet, naming=named_apart)
    await until(lambda: actor.machines, lambda: actor.troubles)
    record = (await fleet.machines())[machines[0]]
    name = actor.node_of(machines[0])
    assert name is not None
    assert name not in (record.id, record.labels[HOSTNAME_KEY])
    node = (await east.nodes())[name]
    assert record.host is not None
    assert node["spec"]["providerID"].endswith(f"/{record.host.ref}")
    labels = node["metadata"]["labels"]
    assert labels[INSTANCE_TYPE_KEY] == "std-8"
    assert labels[ZONE_KEY] == "sim-1a"
    assert labels[RACK_KEY] == record.labels[RACK_KEY]
    assert MACHINE_ID_KEY not in labels
    assert node["status"]["allocatable"]["cpu"] == "7500m"
    assert "taints" not in node["spec"]


async def test_a_budget_forbids_an_eviction_until_it_allows_one(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    fleet, machines = await metal(make_provider)
    await fleet.configure("east", machines[0])
    await act(east, fleet)
    await east.apply(deployment("web", 2), budget("web", app="web", maxUnavailable=0))
    await east.until(lambda: all_run(east, 2))
    before = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in await east.pods()}
    victim = next(iter(before.values()))

    async def budget_counts(allowed: int) -> bool:
        path = f"/apis/policy/v1/namespaces/{east.namespace}/poddisruptionbudgets/web"
        status = (await east.api.get(path)).get("status", {})
        return (status.get("expectedPods"), status.get("disruptionsAllowed")) == (2, allowed)

    await east.until(lambda: budget_counts(0))
    with pytest.raises(Refused) as forbidden:
        await east.evict(victim)
    assert forbidden.value.status == 429
    await east.apply(budget("web", app="web", maxUnavailable=1))
    await east.until(lambda: budget_counts(1))
    await east.evict(victim)

    async def is_replaced() -> bool:
        now = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in await east.pods()}
        return victim not in now.values() and await all_run(east, 2)

    await east.until(is_replaced)


async def test_a_node_and_its_pods_go_when_the_machine_is_drained(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    fleet, machines = await metal(make_provider)
    await fleet.configure("east", *machines[:2])
    actor = await act(east, fleet)
    await east.apply(deployment("web", 4, pod_spec(cpu="3")))
    await east.until(lambda: all_run(east, 4), lambda: actor.troubles)
    gone = actor.node_of(machines[0])
    await fleet.drain(machines[0])

    async def is_gone() -> bool:
        bound = {node_name(pod) for pod in await east.pods()}
        return gone not in await east.nodes() and gone not in bound

    await east.until(is_gone, lambda: actor.troubles)
    assert set(await east.nodes()) == {actor.node_of(machines[1])}


async def test_a_pod_that_is_bound_too_late_goes_like_the_node_it_was_meant_for(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    """A scheduler may not have heard yet that the node is gone; the collector takes a minute."""
    fleet, machines = await metal(make_provider)
    await fleet.configure("east", machines[0])
    actor = await act(east, fleet)
    await until(lambda: actor.machines, lambda: actor.troubles)
    (node,) = actor.machines
    await fleet.drain(machines[0])
    await until(lambda: not actor.machines, lambda: actor.troubles)
    collector = east.plane.process("kube-controller-manager")
    collector.send(signal.SIGSTOP)
    try:
        await east.apply(pod("late", pod_spec(nodeName=node)))
        path = f"/api/v1/namespaces/{east.namespace}/pods/late"

        async def is_gone() -> bool:
            return await east.api.find(path) is None

        await east.until(is_gone, lambda: actor.troubles)
    finally:
        collector.send(signal.SIGCONT)


async def test_a_pod_that_lingers_keeps_terminating(
    east: Cluster, make_provider: MakeProvider, act: Act
) -> None:
    fleet, machines = await metal(make_provider)
    await fleet.configure("east", machines[0])
    actor = await act(east, fleet)
    await east.apply(deployment("web", 1, pod_spec(grace=600)))
    await east.until(lambda: all_run(east, 1), lambda: actor.troubles)
    (only,) = await east.pods()
    name = only["metadata"]["name"]
    path = f"/api/v1/namespaces/{east.namespace}/pods/{name}"
    actor.lingering.add(name)
    await east.api.delete(path)
    await east.until(lambda: all_run_but(east, name))
    assert "deletionTimestamp" in (await east.api.get(path))["metadata"]


async def all_run_but(cluster: Cluster, name: str) -> bool:
    """Its replacement runs, beside it."""
    others = [pod for pod in await cluster.pods() if pod["metadata"]["name"] != name]
    return len(others) == 1 and is_ready(others[0])
