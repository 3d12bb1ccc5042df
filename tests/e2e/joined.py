"""Clusters that have joined a fleet: CRDs, an operator, a pod controller, kubelets."""

from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.kube.kinds import crd_documents
from tests.e2e.rig.api import Object
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet
from tests.e2e.rig.makers import Act
from tests.e2e.rig.node_actor import NodeActor
from tests.e2e.rig.nodes import Naming, named_by_host
from tests.e2e.rig.processes import Supervised
from tests.e2e.rig.waiting import PATIENCE
from tests.e2e.rig.workloads import is_ready, node_name

GROUP = "/apis/bigfleet.lucy.sh/v1alpha1"


@dataclass
class JoinedCluster:
    cluster: Cluster
    fleet: Fleet
    actor: NodeActor
    operator: Supervised
    podwatch: Supervised

    async def requests(self) -> list[Object]:
        path = f"{GROUP}/namespaces/{self.cluster.namespace}/capacityrequests"
        return await self.cluster.api.list(path)

    async def upcoming(self) -> list[Object]:
        return await self.cluster.api.list(f"{GROUP}/upcomingnodes")

    async def running(self, app: str, count: int) -> bool:
        """Exactly so many pods of it, each bound and Ready."""
        pods = await self.cluster.pods(f"app={app}")
        return len(pods) == count and all(is_ready(pod) and node_name(pod) for pod in pods)

    async def until_running(self, app: str, count: int, patience: float = PATIENCE) -> None:
        await self.cluster.until(
            lambda: self.running(app, count), lambda: (app, count, self.actor.troubles), patience
        )

    async def until_told(self, machines: int) -> None:
        """Every request is acknowledged, and each of so many machines Ready with its Node.

        Pods that run do not say so: what the cluster is told comes beside the machines, not before.
        """

        async def is_told() -> bool:
            upcoming = [each.get("status", {}) for each in await self.upcoming()]
            ready = [
                each for each in upcoming if each.get("phase") == "Ready" and "nodeRef" in each
            ]
            requests = [each.get("status", {}).get("phase") for each in await self.requests()]
            return len(ready) == len(upcoming) == machines and set(requests) == {"Acknowledged"}

        await self.cluster.until(is_told, self.operator.shown)


async def join(
    cluster: Cluster,
    fleet: Fleet,
    act: Act,
    *,
    naming: Naming = named_by_host,
    tells_machine_id: bool = False,
    settings: Mapping[str, str] | None = None,
    podwatch_settings: Mapping[str, str] | None = None,
    **operator_settings: str,
) -> JoinedCluster:
    """Settings are flags by name: the operator's as words or as a whole, podwatch's as a whole."""
    await cluster.apply_crds(crd_documents())
    actor = await act(cluster, fleet, naming=naming, tells_machine_id=tells_machine_id)
    operator = await fleet.start_operator(cluster, **operator_settings, **(settings or {}))
    podwatch = await fleet.start_podwatch(cluster, **(podwatch_settings or {}))
    return JoinedCluster(cluster, fleet, actor, operator, podwatch)
