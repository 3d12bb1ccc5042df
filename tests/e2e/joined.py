"""Clusters that have joined a fleet: CRDs, an operator, a pod controller, kubelets."""

from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.kube.crd_files import crd_documents
from tests.e2e.stand.api import Object
from tests.e2e.stand.cluster import Cluster
from tests.e2e.stand.fleet import Fleet
from tests.e2e.stand.makers import Act
from tests.e2e.stand.node_actor import NodeActor
from tests.e2e.stand.nodes import Naming, named_by_host
from tests.e2e.stand.processes import Supervised
from tests.e2e.stand.workloads import is_ready, node_name

GROUP = "/apis/bigfleet.lucy.sh/v1alpha1"


@dataclass
class Joined:
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

    async def until_running(self, app: str, count: int, patience: float = 60.0) -> None:
        await self.cluster.until(
            lambda: self.running(app, count), lambda: (app, count, self.actor.troubles), patience
        )


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
) -> Joined:
    """Settings are flags by name: the operator's as words or as a whole, podwatch's as a whole."""
    await cluster.apply_crds(crd_documents())
    actor = await act(cluster, fleet, naming=naming, tells_machine_id=tells_machine_id)
    operator = await fleet.start_operator(cluster, **operator_settings, **(settings or {}))
    podwatch = await fleet.start_podwatch(cluster, **(podwatch_settings or {}))
    return Joined(cluster, fleet, actor, operator, podwatch)
