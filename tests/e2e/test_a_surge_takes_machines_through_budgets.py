"""A surge in one cluster takes machines from another, and no disruption budget is broken."""

import asyncio

from bigfleet.kube.names import OWNED_BY_POD
from bigfleet.model.machines import MachineState
from tests.e2e.draining import RECLAIM, cordoned
from tests.e2e.joined import JoinedCluster, join
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.waiting import until_so
from tests.e2e.rig.workloads import budget, deployment, is_ready, pod_spec, priority_class


async def filled(
    east: Cluster, west: Cluster, make_fleet: MakeFleet, act: Act, reclaim_grace: str = "10m"
) -> tuple[Fleet, JoinedCluster, JoinedCluster]:
    """Three machines, all of them east's, with two pods of low priority on each."""
    fleet = await make_fleet([offered("bare_metal", 3)], reclaim_grace=reclaim_grace)
    here, there = await join(east, fleet, act), await join(west, fleet, act)
    for cluster in (east, west):
        await cluster.apply(priority_class("low", 10), priority_class("high", 100_000))
    await east.apply(deployment("web", 6, pod_spec(cpu="3", priorityClassName="low")))
    await here.until_running("web", 6)
    assert len(await fleet.bound_to("east")) == 3
    return fleet, here, there


async def healthy(cluster: Cluster, app: str) -> int:
    return sum(is_ready(pod) for pod in await cluster.pods(f"app={app}"))


async def test_a_surge_of_high_priority_takes_a_machine_and_the_budget_holds_throughout(
    east: Cluster, west: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet, here, there = await filled(east, west, make_fleet, act)
    await east.apply(budget("web", app="web", minAvailable=4))
    least = 6

    async def watch() -> None:
        while True:
            await look()

    async def look() -> None:
        nonlocal least
        least = min(least, await healthy(east, "web"))

    watching = asyncio.create_task(watch())
    await west.apply(deployment("train", 1, pod_spec(cpu="5", priorityClassName="high")))
    await there.until_running("train", 1)
    watching.cancel()
    await asyncio.wait({watching})
    assert watching.cancelled(), watching.exception()
    # For what was evicted there is no place: it looks no better now.
    await look()
    assert least == 4
    assert len(await fleet.bound_to("east")) == 2

    # What was evicted waits for capacity, as demand of its own; what went, the cluster collects.
    async def are_collected() -> bool:
        found = [each["metadata"]["labels"][OWNED_BY_POD] for each in await here.requests()]
        return sorted(found) == sorted(each["metadata"]["uid"] for each in await east.pods())

    await until_so(are_collected)


async def test_a_budget_that_allows_no_eviction_keeps_a_machine_no_other_cluster_needs(
    east: Cluster, west: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet, here, _ = await filled(east, west, make_fleet, act, reclaim_grace="30s")
    await east.apply(budget("web", app="web", maxUnavailable=0))
    # The pods stay, their requests do not: as if another writer withdrew the demand.
    here.podwatch.stop()
    for request in (await here.requests())[:2]:
        name = request["metadata"]["name"]
        await east.api.delete(
            f"/apis/bigfleet.lucy.sh/v1alpha1/namespaces/{east.namespace}/capacityrequests/{name}"
        )

    async def is_refused() -> bool:
        return await here.operator.metric("bigfleet_operator_reclaims_refused_total") > 0

    await east.until(is_refused, here.operator.shown)
    assert await cordoned(east) == []
    assert len(await fleet.bound_to("east")) == 3
    assert await healthy(east, "web") == 6
    states = {machine.state for machine in (await fleet.machines()).values()}
    assert states == {MachineState.CONFIGURED}
    marks = [node["metadata"].get("annotations", {}) for node in (await east.nodes()).values()]
    assert not any(RECLAIM in each for each in marks)


async def test_an_operator_that_is_killed_in_the_middle_of_a_drain_is_succeeded_and_it_ends(
    east: Cluster, west: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet, here, there = await filled(east, west, make_fleet, act)
    await east.apply(budget("web", app="web", minAvailable=6))
    await west.apply(deployment("train", 1, pod_spec(cpu="5", priorityClassName="high")))

    await east.until(lambda: cordoned(east), here.operator.shown)
    here.operator.kill()
    await east.apply(budget("web", app="web", minAvailable=4))
    here.operator.start()
    await there.until_running("train", 1)
    assert len(await fleet.bound_to("east")) == 2

    async def is_gone() -> bool:
        return len(await east.nodes()) == 2

    await east.until(is_gone, here.operator.shown)
    assert await cordoned(east) == []
