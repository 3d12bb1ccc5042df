"""A drain that waits on a disruption budget, for tests of what happens meanwhile."""

from tests.e2e.joined import GROUP, Joined, join
from tests.e2e.stand.cluster import Cluster
from tests.e2e.stand.fleet import Fleet
from tests.e2e.stand.makers import Act
from tests.e2e.stand.workloads import budget, deployment, pod_spec

RECLAIM = "bigfleet.lucy.sh/reclaim"


async def cordoned(cluster: Cluster) -> list[str]:
    nodes = await cluster.nodes()
    return [name for name, node in nodes.items() if node["spec"].get("unschedulable")]


async def withdraw(here: Joined, count: int) -> None:
    """The pods stay, so many of their requests do not: as if another writer took them back.

    The others outlive their pods: one whose pod is evicted would take its Need along, and with it
    a machine that nobody meant to give back.
    """
    here.podwatch.stop()
    root = f"{GROUP}/namespaces/{here.cluster.namespace}/capacityrequests"
    paths = [f"{root}/{request['metadata']['name']}" for request in await here.requests()]
    for path in paths[count:]:
        await here.cluster.api.patch(path, {"metadata": {"ownerReferences": None}})
    for path in paths[:count]:
        await here.cluster.api.delete(path)


async def stuck_drain(
    cluster: Cluster, fleet: Fleet, act: Act, **operator_settings: str
) -> tuple[Joined, str]:
    """Two machines of one pod each; one is reclaimed, and the budget lets no pod go.

    With it comes the name of the Node that is being emptied.
    """
    here = await join(cluster, fleet, act, settings=operator_settings)
    await cluster.apply(deployment("web", 2, pod_spec(cpu="7")))
    await here.until_running("web", 2)
    await here.until_told(2)
    await cluster.apply(budget("web", app="web", maxUnavailable=0))
    await withdraw(here, 1)

    async def is_refused() -> bool:
        blocked = await here.operator.metric("bigfleet_operator_eviction_blocked_total")
        return blocked > 0 and bool(await cordoned(cluster))

    await cluster.until(is_refused, here.operator.shown)
    (name,) = await cordoned(cluster)
    return here, name


async def until_drained(here: Joined, node: str) -> None:
    """Once the budget allows it the Node goes, and its machine with it."""
    cluster = here.cluster
    await cluster.apply(budget("web", app="web", maxUnavailable=2))

    async def is_gone() -> bool:
        return node not in await cluster.nodes()

    await cluster.until(is_gone, here.operator.shown)
