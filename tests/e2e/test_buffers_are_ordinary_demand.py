"""CapacityBuffers in a fleet: machines are bought for them, given up for others, and given back."""

from bigfleet.kube.buffers import BUFFER_KINDS
from bigfleet.kube.names import OWNED_BY_BUFFER
from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import NeedView
from bigfleet.wire.shard_read import ShardReadClient
from tests.e2e.joined import JoinedCluster, join
from tests.e2e.rig.api import Object
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import (
    CAPACITY_BUFFERS,
    deployment,
    node_name,
    pod,
    pod_spec,
    priority_class,
)

#: One of these fills a machine: a fleet covers sums, and only so a chunk is a machine.
WHOLE_MACHINE = "7"
BUFFER_PRIORITY = -10
#: Of a shard that would have preempted long ago, if it meant to.
MANY_CYCLES = 10


def template(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name},
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(cpu=WHOLE_MACHINE)},
    }


def buffer(name: str, **spec: object) -> Object:
    return {
        "apiVersion": BUFFER_KINDS[0].api_version,
        "kind": "CapacityBuffer",
        "metadata": {"name": name},
        "spec": spec,
    }


async def join_with_buffers(cluster: Cluster, fleet: Fleet, act: Act) -> JoinedCluster:
    await cluster.apply_crds(CAPACITY_BUFFERS.read_text())
    return await join(cluster, fleet, act)


async def until_machines_are(here: JoinedCluster, count: int) -> None:
    """Exactly so many are bound to the cluster, and each is a Node."""

    async def are_nodes() -> bool:
        bound = await here.fleet.bound_to(here.cluster.name)
        return len(bound) == count == len(await here.cluster.nodes())

    await here.cluster.until(are_nodes, lambda: (count, here.actor.troubles))


async def chunks(here: JoinedCluster) -> int:
    found = await here.requests()
    return sum(OWNED_BY_BUFFER in each["metadata"].get("labels", {}) for each in found)


async def need_of_buffers(fleet: Fleet, cluster: str) -> NeedView | None:
    async with ShardReadClient(fleet.shard_address) as reading:
        views = (await reading.needs(cluster)).needs
    return next((v for v in views if v.need.profile.priority == BUFFER_PRIORITY), None)


async def preemptions(fleet: Fleet) -> float:
    assert fleet.shard is not None
    _, text = await fleet.shard.page("/metrics")
    rows = [line for line in text.splitlines() if 'actions_total{kind="Preempt"}' in line]
    return sum(float(row.rpartition(" ")[2]) for row in rows)


async def test_a_buffer_buys_machines_and_refills_when_a_pod_takes_one(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 1), offered("on_demand", 4)])
    here = await join_with_buffers(east, fleet, act)
    await east.apply(deployment("web", 1, pod_spec(cpu=WHOLE_MACHINE)))
    await here.until_running("web", 1)
    await until_machines_are(here, 1)
    await east.apply(template("spare"))
    await east.apply(buffer("spare", podTemplateRef={"name": "spare"}, replicas=3))
    await until_machines_are(here, 4)
    path = BUFFER_KINDS[0].path(east.namespace, "spare")

    async def is_covered() -> bool:
        return bool((await east.api.get(path)).get("status", {}).get("replicas") == 3)

    await east.until(is_covered)
    free = set(await east.nodes()) - {node_name(each) for each in await east.pods()}
    assert len(free) == 3
    # No pod may ask for a machine of its own before the scheduler has had its turn.
    here.podwatch.stop()
    await east.apply(pod("guest", pod_spec(cpu=WHOLE_MACHINE)))
    await here.until_running("guest", 1)
    (guest,) = await east.pods("app=guest")
    assert node_name(guest) in free
    here.podwatch.start()
    await until_machines_are(here, 5)
    assert await chunks(here) == 3
    assert await preemptions(fleet) == 0


async def test_a_deleted_buffer_gives_its_machines_back(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("on_demand", 3)], on_demand="200ms")
    here = await join_with_buffers(east, fleet, act)
    await east.apply(pod("web", pod_spec(cpu=WHOLE_MACHINE)), template("spare"))
    await here.until_running("web", 1)
    await east.apply(buffer("spare", podTemplateRef={"name": "spare"}, replicas=2))
    await until_machines_are(here, 3)
    await east.api.delete(BUFFER_KINDS[0].path(east.namespace, "spare"))
    await until_machines_are(here, 1)
    await here.until_running("web", 1)
    assert await chunks(here) == 0
    assert await need_of_buffers(fleet, "east") is None

    async def are_sold() -> bool:
        states = [machine.state for machine in (await fleet.machines()).values()]
        return states.count(MachineState.SPECULATIVE) == 2

    await east.until(are_sold, lambda: "unclaimed machines are kept")


async def test_a_buffer_of_a_percentage_follows_its_deployment(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("on_demand", 6)])
    here = await join_with_buffers(east, fleet, act)
    await east.apply(deployment("web", 1, pod_spec(cpu=WHOLE_MACHINE)))
    ref = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
    await east.apply(buffer("spare", scalableRef=ref, percentage=50))
    await here.until_running("web", 1)
    await until_machines_are(here, 2)
    await east.apply(deployment("web", 4, pod_spec(cpu=WHOLE_MACHINE)))
    await here.until_running("web", 4)
    await until_machines_are(here, 6)
    assert await chunks(here) == 2
    await east.apply(deployment("web", 0, pod_spec(cpu=WHOLE_MACHINE)))
    await until_machines_are(here, 0)
    assert await chunks(here) == 0


async def test_a_buffer_preempts_no_pod_and_gives_its_own_machines_up(
    east: Cluster, west: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 3)])
    here, there = await join_with_buffers(east, fleet, act), await join(west, fleet, act)
    # Lower than anything that names no priority, and yet above every buffer that names none.
    low = pod_spec(cpu=WHOLE_MACHINE, priorityClassName="low")
    await west.apply(priority_class("low", BUFFER_PRIORITY + 1), deployment("batch", 2, low))
    await there.until_running("batch", 2)
    before = {each["metadata"]["uid"] for each in await west.pods()}
    await east.apply(template("spare"))
    await east.apply(buffer("spare", podTemplateRef={"name": "spare"}, replicas=2))
    await until_machines_are(here, 1)

    async def is_short_for_long() -> bool:
        view = await need_of_buffers(fleet, "east")
        return view is not None and not view.satisfied and view.unmet_age >= MANY_CYCLES

    await east.until(is_short_for_long, lambda: "the buffer is met")
    assert await preemptions(fleet) == 0
    assert {each["metadata"]["uid"] for each in await west.pods()} == before
    await there.until_running("batch", 2)
    # What a buffer holds goes to any pod of higher priority. (A class of its own, or the scheduler
    # makes room by itself.)
    high = pod_spec(cpu=WHOLE_MACHINE, priorityClassName="high")
    await west.apply(priority_class("high", 1), deployment("web", 1, high))
    await there.until_running("web", 1)
    assert await fleet.bound_to("east") == set()
    assert await preemptions(fleet) == 1
    assert {each["metadata"]["uid"] for each in await west.pods("app=batch")} == before
