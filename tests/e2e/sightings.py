"""When each step of a pod's way was seen, by watches of our own: finer than objects tell."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from bigfleet.edge.clock import Clock
from bigfleet.kube.names import OWNED_BY_POD
from bigfleet.model.machines import Instant
from tests.e2e.joined import GROUP
from tests.e2e.rig.api import KubeApi, Object


@dataclass
class Sightings:
    """First sights, by uid of the pod or name of the Node."""

    clock: Clock
    pods: dict[str, Instant] = field(default_factory=dict)
    requests: dict[str, Instant] = field(default_factory=dict)
    acknowledged: dict[str, Instant] = field(default_factory=dict)
    nodes: dict[str, Instant] = field(default_factory=dict)
    bound: dict[str, Instant] = field(default_factory=dict)
    ready: dict[str, Instant] = field(default_factory=dict)
    node_of_pod: dict[str, str] = field(default_factory=dict)
    #: What is still to be followed; nothing that happens afterwards is missed.
    _unheard: int = 3

    @property
    def follows(self) -> bool:
        return not self._unheard

    async def follow(self, api: KubeApi, namespace: str) -> None:
        """Until cancelled."""
        pods = f"/api/v1/namespaces/{namespace}/pods"
        requests = f"{GROUP}/namespaces/{namespace}/capacityrequests"
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch(api, pods, self._on_pod))
            tasks.create_task(self._watch(api, requests, self._on_request))
            tasks.create_task(self._watch(api, "/api/v1/nodes", self._on_node))

    async def _watch(self, api: KubeApi, path: str, note: Callable[[Object], None]) -> None:
        version = (await api.get(path, limit="1"))["metadata"]["resourceVersion"]
        self._unheard -= 1
        while True:
            # A server ends a watch that is read too slowly; what was missed comes again.
            async with aclosing(api.watch(path, version)) as events:
                async for event in events:
                    assert event["type"] != "ERROR", event
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] in ("ADDED", "MODIFIED"):
                        note(event["object"])

    def _on_pod(self, pod: Object) -> None:
        uid, at = pod["metadata"]["uid"], self.clock.now()
        self.pods.setdefault(uid, at)
        if node := pod["spec"].get("nodeName"):
            self.bound.setdefault(uid, at)
            self.node_of_pod[uid] = node
        conditions = pod.get("status", {}).get("conditions", [])
        if any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
            self.ready.setdefault(uid, at)

    def _on_request(self, request: Object) -> None:
        uid, at = request["metadata"]["labels"][OWNED_BY_POD], self.clock.now()
        self.requests.setdefault(uid, at)
        if request.get("status", {}).get("phase") == "Acknowledged":
            self.acknowledged.setdefault(uid, at)

    def _on_node(self, node: Object) -> None:
        self.nodes.setdefault(node["metadata"]["name"], self.clock.now())
