"""A fake API server with an operator's caches and the driver of its drains; the shard is the test.

Waits are in turns of the event loop and end with what they wait for.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from bigfleet.edge.clock import Clock, next_turn
from bigfleet.edge.counts import Counts
from bigfleet.edge.driver import RealClock
from bigfleet.edge.logs import NullLog
from bigfleet.kube.api import Api
from bigfleet.kube.kinds import NODES, PODS
from bigfleet.kube.names import RECLAIM
from bigfleet.kube.objects import Node, ObjectKey, Pod, Reference
from bigfleet.kube.reflector import Reflector
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimAck, ReclaimInstruction
from bigfleet.model.settings import CurrentSettings, Seconds
from bigfleet.operator.drains import Drains
from bigfleet.operator.driving.drain_runner import DrainRunner
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.pods_on_nodes import AttachedVolumes, PodOnNode, PodsOnNodes, pod_on_node
from bigfleet.operator.schedule import RollupSchedule
from bigfleet.operator.settings import OperatorSettings
from tests.kube_api import FakeApiServer, api_for

#: Short, since time is real here; what the numbers mean is tested on the pure machine.
BRISK = CurrentSettings(OperatorSettings(evict_retry=Seconds(0.05)))
SETTLE_SECONDS = 0.01
BUDGETS = "poddisruptionbudgets"


class Cluster:
    def __init__(
        self, server: FakeApiServer, api: Api, concurrency: int = 32, clock: Clock | None = None
    ) -> None:
        self.server, self.clock, self.counts = server, clock or RealClock(), Counts()
        self.node_map, self.pods_on_nodes = NodeMap(), PodsOnNodes()
        self.volumes = AttachedVolumes()
        log = NullLog()
        self._nodes: Reflector[Node, Node] = Reflector(
            api, NODES, lambda node: node, self.clock, lambda: 0.5, log
        )
        self._pods: Reflector[Pod, PodOnNode] = Reflector(
            api, PODS, pod_on_node, self.clock, lambda: 0.5, log
        )
        self.drains = Drains(self, lambda: 0.5, self.counts, BRISK, settle_seconds=SETTLE_SECONDS)
        self.answers: list[tuple[str, int]] = []
        self.events: list[tuple[str, str, str]] = []
        self.draining = DrainRunner(
            self.drains,
            api,
            self.clock,
            log,
            answers=self,
            events=self,
            write_back=self,
            demand=RollupSchedule(CurrentSettings(OperatorSettings())),
            concurrency=concurrency,
        )
        self._nodes.cache.subscribe(self._on_node)
        self._pods.cache.subscribe(self._on_pod)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._nodes.run())
            tasks.create_task(self._pods.run())
            tasks.create_task(self.draining.run())

    # -- the cluster -----------------------------------------------------------------------------

    def has_node(self, name: str, *, unschedulable: bool = False) -> None:
        self.server.put(NODES, {"metadata": {"name": name}, "spec": _spec(unschedulable)})

    def has_pod(self, name: str, node: str = "n-1") -> None:
        meta = {"name": name, "namespace": "shop", "labels": {"app": "web"}}
        status = {"phase": "Running"}
        self.server.put(PODS, {"metadata": meta, "spec": {"nodeName": node}, "status": status})

    def has_budget(self, needed: int) -> None:
        """Over all pods."""
        spec = {"minAvailable": needed, "selector": {"matchLabels": {"app": "web"}}}
        meta = {"name": "web", "namespace": "shop"}
        self.server.put(BUDGETS, {"metadata": meta, "spec": spec})

    def is_cordoned(self, name: str = "n-1") -> bool:
        return bool(self.server.get(NODES, name).get("spec", {}).get("unschedulable"))

    def mark(self, name: str = "n-1") -> str | None:
        annotations = self.server.get(NODES, name)["metadata"].get("annotations") or {}
        found = annotations.get(RECLAIM)
        return str(found) if found is not None else None

    # -- the shard -------------------------------------------------------------------------------

    def connect(self, *asked: ReclaimInstruction, machines: int = 1) -> None:
        self.draining.on_connected(self.clock.now())
        for number in range(1, machines + 1):
            self.tells(MachineState.CONFIGURED, number)
        for frame in asked:
            self.draining.on_instruction(frame, self.clock.now())
        self.draining.on_replay_ended(self.clock.now())

    def tells(self, state: MachineState, number: int = 1) -> None:
        update = NodeStateUpdate(f"m-{number}", "shop", state, f"n-{number}")
        self.draining.on_node_state(update, self.clock.now())

    def asks(self, *entries: str, instruction: str = "bf1-one", grace: int = 600) -> None:
        asked = ReclaimInstruction(instruction, entries or ("n-1",), grace)
        self.draining.on_instruction(asked, self.clock.now())

    async def synced(self) -> None:
        await self.until(lambda: self._nodes.cache.synced and self._pods.cache.synced)

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                await next_turn()

    def evictions(self) -> int:
        return len(self.server.calls("evict"))

    # -- within ----------------------------------------------------------------------------------

    def say(self, ack: ReclaimAck) -> None:
        self.answers.append((ack.instruction_id, ack.nodes_started))

    def tell(self, about: Reference, kind: str, reason: str, message: str) -> None:
        self.events.append((about.name, reason, message))

    def look_again(self, machines: Iterable[str]) -> None:
        """No objects are written here."""

    def nodes_are_fresh(self, at: Instant) -> bool:
        return self._nodes.cache.synced and self._nodes.cache.stale_seconds(at) == 0

    def pods_are_fresh(self, at: Instant) -> bool:
        return self._pods.cache.synced and self._pods.cache.stale_seconds(at) == 0

    def _on_node(self, key: ObjectKey, _before: Node | None, now: Node | None) -> None:
        if now is None:
            self.node_map.remove(key.name)
        else:
            self.node_map.put(now)
        self.draining.on_node_changed(key.name, self.clock.now())

    def _on_pod(self, key: ObjectKey, before: PodOnNode | None, now: PodOnNode | None) -> None:
        if now is None:
            self.pods_on_nodes.remove(key)
        else:
            self.pods_on_nodes.put(now)
        for name in {pod.node for pod in (before, now) if pod is not None}:
            self.draining.on_pods_changed(name, self.clock.now())


def _spec(unschedulable: bool) -> dict[str, object]:
    return {"unschedulable": True} if unschedulable else {}


@asynccontextmanager
async def running(
    server: FakeApiServer, concurrency: int = 32, clock: Clock | None = None
) -> AsyncIterator[Cluster]:
    """An operator's part on what the server has; several may follow one another."""
    async with api_for(server, clock or RealClock()) as api:
        cluster = Cluster(server, api, concurrency, clock)
        task = asyncio.create_task(cluster.run())
        try:
            await cluster.synced()
            yield cluster
        finally:
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                task.result()
