"""A drain that waits on a disruption budget, for tests of what happens meanwhile."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.e2e.joined import JoinedCluster, join
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet
from tests.e2e.rig.makers import Act
from tests.e2e.rig.workloads import budget, deployment, pod_spec
from tests.shard_system.demand import HIGH
from tests.shard_system.operators import Operator, operating

RECLAIM = "bigfleet.lucy.sh/reclaim"


async def cordoned(cluster: Cluster) -> list[str]:
    nodes = await cluster.nodes()
    return [name for name, node in nodes.items() if node["spec"].get("unschedulable")]


@asynccontextmanager
async def stuck_drain(
    cluster: Cluster, fleet: Fleet, act: Act, **operator_settings: str
) -> AsyncIterator[tuple[JoinedCluster, str, Operator]]:
    """Two machines of one pod each; a cluster of higher priority takes one, and the budget lets no
    pod go. A machine that no other cluster needs would not be drained against a budget.

    With it come the name of the Node that is being emptied, and the other cluster, which asks for
    all machines but one.
    """
    here = await join(cluster, fleet, act, settings=operator_settings)
    await cluster.apply(deployment("web", 2, pod_spec(cpu="7")))
    await here.until_running("web", 2)
    await here.until_told(2)
    await cluster.apply(budget("web", app="web", maxUnavailable=0))
    async with operating("elsewhere", lambda: fleet.shard_address) as elsewhere:
        await elsewhere.wants(len(await fleet.machines()) - 1, HIGH)

        async def is_refused() -> bool:
            blocked = await here.operator.metric("bigfleet_operator_eviction_blocked_total")
            return blocked > 0 and bool(await cordoned(cluster))

        await cluster.until(is_refused, here.operator.shown)
        (name,) = await cordoned(cluster)
        yield here, name, elsewhere


async def until_drained(here: JoinedCluster, node: str) -> None:
    """Once the budget allows it the Node goes, and its machine with it."""
    cluster = here.cluster
    await cluster.apply(budget("web", app="web", maxUnavailable=2))

    async def is_gone() -> bool:
        return node not in await cluster.nodes()

    await cluster.until(is_gone, here.operator.shown)
