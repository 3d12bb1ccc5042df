"""A cluster's API server beside a living shard, with one pod and its way through both."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import Result

from bigfleet.kube.kinds import CAPACITY_REQUESTS, EVENTS, NODES, PODS, UPCOMING_NODES
from bigfleet.kube.names import MACHINE_ID, OWNED_BY_POD, upcoming_node_name
from bigfleet.kube.request_demand import TranslatedDemand, translate
from bigfleet.model.needs import Need
from tests.cli.shard_commands.rig import LiveShard, living_shard
from tests.kube_api import FakeApiServer, kubeconfig_for
from tests.podwatch.pods import UNSCHEDULABLE, pod_json

SAID = "0/3 nodes are available: 3 node(s) had untolerated taint."
TYPE = "node.kubernetes.io/instance-type"
#: What one pod asks for; a machine of the rig has 7.5 cpus for pods.
SPEC: dict[str, Any] = {
    "priority": 100,
    "resources": {"cpu": "5"},
    "requirements": [{"key": TYPE, "operator": "In", "values": ["std-8"]}],
}


@dataclass(slots=True)
class PodsCluster:
    server: FakeApiServer
    shard: LiveShard
    kubeconfig: Path

    async def why(self, name: str, *words: str) -> Result:
        return await self.shard.run("why", name, "--kubeconfig", str(self.kubeconfig), *words)

    async def shown(self, name: str, *words: str) -> str:
        result = await self.why(name, *words)
        assert result.exit_code == 0, result.output
        return result.stdout

    async def document(self, name: str) -> Any:
        return json.loads(await self.shown(name, "-o", "json"))

    # -- what is there ---------------------------------------------------------------------------

    def pod(self, name: str = "web-1", *, node: str = "", **words: Any) -> None:
        spec: dict[str, Any] = {"nodeName": node} if node else {}
        body = pod_json(name, **spec, **words)
        if not node and body["status"].get("conditions"):
            body["status"]["conditions"] = [{**UNSCHEDULABLE, "message": SAID}]
        self.server.put(PODS, body)

    def request(
        self,
        pod: str = "web-1",
        *,
        phase: str = "Acknowledged",
        name: str = "",
        spec: dict[str, Any] | None = None,
    ) -> None:
        uid = f"uid-{pod}"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": True}
        meta = {
            "name": name or f"cr-{pod}",
            "namespace": "shop",
            "labels": {OWNED_BY_POD: uid},
            "ownerReferences": [owner],
        }
        body = {"metadata": meta, "spec": spec or SPEC, "status": {"phase": phase}}
        self.server.put(CAPACITY_REQUESTS, body)

    def joined(self, machine: str, node: str, phase: str = "Ready") -> None:
        """The machine is a Node, and its UpcomingNode says so."""
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        self.server.put(NODES, {"metadata": {"name": node}, "status": ready})
        meta = {"name": upcoming_node_name(machine), "annotations": {MACHINE_ID: machine}}
        status = {"phase": phase, "nodeRef": {"kind": "Node", "name": node}}
        self.server.put(UPCOMING_NODES, {"metadata": meta, "status": status})

    def event(self, uid: str, reason: str, text: str, by: str = "bigfleet-operator") -> None:
        body = {
            "metadata": {"name": f"{uid}.{reason.lower()}", "namespace": "shop"},
            "involvedObject": {"uid": uid},
            "reason": reason,
            "message": text,
            "reportingComponent": by,
        }
        self.server.put(EVENTS, body)


@asynccontextmanager
async def pods_cluster(folder: Path) -> AsyncIterator[PodsCluster]:
    async with FakeApiServer() as server, living_shard(folder) as shard:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(kubeconfig_for(server))
        yield PodsCluster(server, shard, kubeconfig)


def need_of(spec: dict[str, Any], pods: int, cluster: str = "east", group: str = "") -> Need:
    """As an operator would tell it."""
    demand = translate(json.dumps(spec).encode())
    assert isinstance(demand, TranslatedDemand)
    return Need(cluster, demand.profile, demand.unit.times(pods), demand.unit, group=group)
