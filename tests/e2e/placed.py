"""Waits until every pod runs, then watches that nothing moves any more."""

from collections.abc import Sequence

from bigfleet.edge.driver import RealClock
from tests.e2e.joined import JoinedCluster
from tests.e2e.rig.api import STRATEGIC, Object
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.waiting import PATIENCE
from tests.e2e.rig.workloads import is_ready, node_name
from tests.nightly import IS_NIGHTLY

#: The waits of the product, shortened: what is tested is what happens after them.
OPERATOR_HASTE = {
    "stuck_grace": "1s",
    "revision_judged_after": "10s",
    "revision_empty_for": "5s",
    "admission_delay": "1s",
    "successor_wait": "5s",
    "node_gone": "5s",
    "node_delete_after": "5s",
}
PODWATCH_HASTE = {"unjudged_grace": "1s"}
#: How long nothing may move once every pod runs; ten minutes at night.
QUIET_SECONDS = 600 if IS_NIGHTLY else 30

_CLOCK = RealClock()
#: Looks in a row, a second apart, that are alike.
_ALIKE = 4


async def until_all_run(here: JoinedCluster, count: int, patience: float = PATIENCE) -> None:
    """Exactly so many pods of the test's namespace, each bound to a Node and Ready."""
    waiting: list[str] = []

    async def all_run() -> bool:
        pods = await here.cluster.pods()
        waiting[:] = [_said_of(pod) for pod in pods if not (is_ready(pod) and node_name(pod))]
        return len(pods) == count and not waiting

    def seen() -> object:
        return waiting[:5], here.actor.troubles, here.operator.shown()

    await here.cluster.until(all_run, seen, patience)


async def stays_quiet(here: JoinedCluster, seconds: float = QUIET_SECONDS) -> None:
    """No pod moves, no machine comes or goes, no Node is cordoned, once the last of it has ended.

    A Node goes a moment after its machine, and that is still part of what went before.
    """
    before = await _at_rest(here)
    for _ in range(int(seconds)):
        await _CLOCK.sleep(1.0)
        now = await _sight(here)
        moved = {what: (before[what], now[what]) for what in now if before[what] != now[what]}
        assert not moved, f"{moved}\n{here.operator.shown()}"


async def _at_rest(here: JoinedCluster) -> dict[str, object]:
    """As it stands once nothing has moved for a few seconds."""
    last, alike = await _sight(here), 0

    async def rests() -> bool:
        nonlocal last, alike
        await _CLOCK.sleep(1.0)
        before, last = last, await _sight(here)
        alike = alike + 1 if before == last else 0
        return alike >= _ALIKE

    await here.cluster.until(rests, lambda: f"it does not come to rest: {last}")
    return last


async def _sight(here: JoinedCluster) -> dict[str, object]:
    nodes = await here.cluster.nodes()
    return {
        "pods": {pod["metadata"]["name"]: node_name(pod) for pod in await here.cluster.pods()},
        "machines": await here.fleet.bound_to(here.cluster.name),
        "nodes": set(nodes),
        "cordoned": {n for n, node in nodes.items() if node["spec"].get("unschedulable")},
    }


async def set_ready(cluster: Cluster, nodes: Sequence[str], ready: bool, since: str) -> None:
    """What the kubelets of these Nodes, or those that miss their heartbeat, would write."""
    condition = {
        "type": "Ready",
        "status": "True" if ready else "Unknown",
        "reason": "KubeletReady" if ready else "NodeStatusUnknown",
        "lastTransitionTime": since,
        "lastHeartbeatTime": since,
    }
    for name in nodes:
        patch = {"status": {"conditions": [condition]}}
        await cluster.api.patch(f"/api/v1/nodes/{name}/status", patch, STRATEGIC)


def _said_of(pod: Object) -> str:
    conditions = pod.get("status", {}).get("conditions", [])
    texts = [c.get("message", "") for c in conditions if c["type"] == "PodScheduled"]
    return f"{pod['metadata']['name']} on {node_name(pod) or 'no Node'}: {' '.join(texts)}"
