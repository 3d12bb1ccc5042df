"""Giving machines back: only where the pods have a place to go, the empty machines first."""

from bigfleet.model.requirements import HOSTNAME_KEY
from tests.e2e.joined import JoinedCluster, join
from tests.e2e.placed import (
    OPERATOR_HASTE,
    PODWATCH_HASTE,
    stays_quiet,
    until_all_run,
)
from tests.e2e.rig.api import Object
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import deployment, node_name, pod_spec


async def joined(east: Cluster, fleet: Fleet, act: Act) -> JoinedCluster:
    return await join(east, fleet, act, settings=OPERATOR_HASTE, podwatch_settings=PODWATCH_HASTE)


async def places(east: Cluster, selector: str = "") -> dict[str, str]:
    """The Node of every pod, by the pod's uid."""
    return {pod["metadata"]["uid"]: node_name(pod) for pod in await east.pods(selector)}


def alone(app: str, cpu: str) -> Object:
    """The spec of a pod that shares no Node with another of its kind."""
    term = {"topologyKey": HOSTNAME_KEY, "labelSelector": {"matchLabels": {"app": app}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod_spec(cpu=cpu, affinity=affinity)


async def test_a_reclaim_is_refused_for_want_of_room_and_allowed_when_there_is_some(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    """Pods of 4 and of 3 cpu fill three Nodes in pairs. Without the smaller ones two machines
    would do by their amounts, but no two of the larger ones fit on one Node."""
    fleet = await make_fleet([offered("bare_metal", 4)])
    here = await joined(east, fleet, act)
    await east.apply(
        deployment("large", 3, alone("large", "4")), deployment("small", 3, alone("small", "3"))
    )
    await until_all_run(here, 6)
    await stays_quiet(here, 3)
    assert len(await fleet.bound_to("east")) == 3
    before = await places(east, "app=large")
    await east.apply(deployment("small", 0, alone("small", "3")))

    async def is_refused() -> bool:
        metric = "bigfleet_operator_reclaims_refused_total"
        return await here.operator.metric(metric) > 0

    await east.until(is_refused, here.operator.shown)
    await until_all_run(here, 3)
    await stays_quiet(here)
    assert await places(east, "app=large") == before
    assert len(await fleet.bound_to("east")) == 3
    # One of the larger ones fewer: nothing stands on its machine any more.
    await east.apply(deployment("large", 2, alone("large", "4")))

    async def one_less() -> bool:
        return len(await fleet.bound_to("east")) == 2

    await east.until(one_less, here.operator.shown)
    await until_all_run(here, 2)


async def test_a_pod_that_must_not_be_disrupted_keeps_its_machine(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 4)])
    here = await joined(east, fleet, act)
    await east.apply(deployment("big", 1, pod_spec(cpu="7")))
    await until_all_run(here, 1)
    asked = {"bigfleet.lucy.sh/do-not-disrupt": "true"}
    await east.apply(deployment("precious", 1, pod_spec(cpu="1"), annotations=asked))
    await until_all_run(here, 2)
    assert len(await fleet.bound_to("east")) == 2
    # Amounts alone now say that the one pod needs one machine, and any will do.
    await east.apply(deployment("big", 0, pod_spec(cpu="7")))
    (precious,) = await east.pods("app=precious")

    async def one_is_left() -> bool:
        return len(await fleet.bound_to("east")) == 1

    await east.until(one_is_left, here.operator.shown)
    await stays_quiet(here)
    (now,) = await east.pods("app=precious")
    assert now["metadata"]["uid"] == precious["metadata"]["uid"]


async def test_a_cluster_that_shrinks_gives_its_empty_machines_back_first(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 6)])
    here = await joined(east, fleet, act)
    for name in ("a", "b", "c", "d"):
        await east.apply(deployment(name, 1, pod_spec(cpu="5")))
    await until_all_run(here, 4)
    kept = {
        pod["metadata"]["uid"]: node_name(pod)
        for name in "bd"
        for pod in await east.pods(f"app={name}")
    }
    for name in ("a", "c"):
        await east.apply(deployment(name, 0, pod_spec(cpu="5")))

    async def two_are_left() -> bool:
        return len(await fleet.bound_to("east")) == 2

    await east.until(two_are_left, here.operator.shown)
    await stays_quiet(here)
    assert await places(east) == kept
