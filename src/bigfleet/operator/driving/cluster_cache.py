"""What the operator knows of its cluster: its caches, and what is drawn from them as they change.

Both replicas keep them, so that the one that takes over is ready at once. Nothing is written from
here, but for the Events about requests that cannot be told, and those only while they may be.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.api import Api
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import (
    AVAILABLE_CAPACITIES,
    CAPACITY_REQUESTS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    UPCOMING_NODES,
    VOLUME_ATTACHMENTS,
)
from bigfleet.kube.names import MACHINE_ID
from bigfleet.kube.objects import (
    AvailableCapacity,
    CapacityRequest,
    Node,
    ObjectKey,
    Pod,
    PodDisruptionBudget,
    Reference,
    UpcomingNode,
    VolumeAttachment,
)
from bigfleet.kube.reflector import Reflector
from bigfleet.model.machines import Instant
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.cluster_view import ClusterView
from bigfleet.operator.evictions import DisruptionBudgets, HeldBudget, held_budget
from bigfleet.operator.held_requests import HeldRequest, HeldRequests
from bigfleet.operator.machine_nodes import MachineNodes
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.node_rules import NodeRules
from bigfleet.operator.pods_on_nodes import (
    AttachedVolumes,
    PodOnNode,
    PodsOnNodes,
    node_of_attachment,
    pod_on_node,
)
from bigfleet.operator.revised_demand import OverheadUnits
from bigfleet.operator.rollup import DemandBook
from bigfleet.operator.translator import Untranslatable
from bigfleet.placement.admission import SUCCESSOR_AFTER, Admissions
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.overhead import Overheads

T = TypeVar("T")


class CacheListener(Protocol):
    def on_node_changed(self, name: str, /) -> None: ...

    def on_machine_changed(self, machine: str, /) -> None:
        """Its Node came, changed, or went."""
        ...

    def on_pods_changed(self, node: str, /) -> None: ...


class ClusterCache:
    def __init__(
        self,
        api: Api,
        events: Events,
        cluster: str,
        clock: Clock,
        draw: Callable[[], float],
        log: Log,
        counts: Counts,
        *,
        stale_after_seconds: float,
        node_rules: CurrentSettings[NodeRules] | None = None,
        successor_after: Instant = SUCCESSOR_AFTER,
    ) -> None:
        self._api = api
        self._events = events
        self._counts = counts
        self._log = log
        self._stale_after = stale_after_seconds
        self._clock = clock
        self._listeners: list[CacheListener] = []
        self.overheads = Overheads()
        self.units = OverheadUnits(self.overheads)
        self.book = DemandBook(cluster, units=self.units)
        self.node_map = NodeMap()
        self.pods_on_nodes = PodsOnNodes()
        self.volumes = AttachedVolumes()
        self.budgets = DisruptionBudgets(self.pods_on_nodes)
        self.machines = MachineNodes(self.node_map, self.book.devices, node_rules)
        self.occupancy = Occupancy()
        self.admissions = Admissions(self.occupancy, self.budgets, successor_after)
        self.view = ClusterView(self.book, self.machines, self.occupancy, self.admissions)
        held = HeldRequests()
        self.requests: Reflector[CapacityRequest, HeldRequest] = Reflector(
            api, CAPACITY_REQUESTS, held.narrow, clock, draw, log
        )
        self.nodes: Reflector[Node, Node] = Reflector(api, NODES, _whole, clock, draw, log)
        self.pods: Reflector[Pod, PodOnNode] = Reflector(api, PODS, pod_on_node, clock, draw, log)
        self.upcoming: Reflector[UpcomingNode, UpcomingNode] = Reflector(
            api, UPCOMING_NODES, _whole, clock, draw, log
        )
        self.available: Reflector[AvailableCapacity, AvailableCapacity] = Reflector(
            api, AVAILABLE_CAPACITIES, _whole, clock, draw, log
        )
        self.attachments: Reflector[VolumeAttachment, str] = Reflector(
            api, VOLUME_ATTACHMENTS, node_of_attachment, clock, draw, log
        )
        self.disruption_budgets: Reflector[PodDisruptionBudget, HeldBudget] = Reflector(
            api, POD_DISRUPTION_BUDGETS, held_budget, clock, draw, log
        )
        self.requests.cache.subscribe(self._on_request)
        self.nodes.cache.subscribe(self._on_node)
        self.pods.cache.subscribe(self._on_pod)
        self.upcoming.cache.subscribe(self._on_upcoming)
        self.attachments.cache.subscribe(self._on_attachment)
        self.disruption_budgets.cache.subscribe(self._on_budget)

    def listen(self, listener: CacheListener) -> None:
        self._listeners.append(listener)

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as tasks:
            for _, reflector in (*self._reflectors(), *self._helpful()):
                tasks.create_task(reflector.run())

    @property
    def unsynced(self) -> list[str]:
        """Kinds of which not all is known yet."""
        return [kind for kind, each in self._reflectors() if not each.cache.synced]

    def why_unsynced(self) -> str:
        """Empty: all is known, or was once."""
        unsynced = [
            (kind, each.trouble) for kind, each in self._reflectors() if not each.cache.synced
        ]
        troubles = [f"{kind}: {trouble}" for kind, trouble in unsynced if trouble]
        return "; ".join([", ".join(kind for kind, _ in unsynced), *troubles])

    def _reflectors(self) -> tuple[tuple[str, Reflector[Any, Any]], ...]:
        return (
            ("CapacityRequests", self.requests),
            ("Nodes", self.nodes),
            ("Pods", self.pods),
            ("UpcomingNodes", self.upcoming),
            ("AvailableCapacities", self.available),
        )

    def _helpful(self) -> tuple[tuple[str, Reflector[Any, Any]], ...]:
        """Good to know; an operator that may not read them works without."""
        return (
            ("VolumeAttachments", self.attachments),
            ("PodDisruptionBudgets", self.disruption_budgets),
        )

    def is_fresh(self, at: Instant) -> bool:
        """Whether requests, pods and Nodes are all as they are now."""
        requests = self.requests.cache
        return (
            requests.synced
            and requests.stale_seconds(at) == 0
            and self.nodes_are_fresh(at)
            and self.pods_are_fresh(at)
        )

    def nodes_are_fresh(self, at: Instant) -> bool:
        cache = self.nodes.cache
        return cache.synced and cache.stale_seconds(at) == 0

    def pods_are_fresh(self, at: Instant) -> bool:
        """That a Node is empty is believed only while every change is heard."""
        cache = self.pods.cache
        return cache.synced and cache.stale_seconds(at) == 0

    def on_connected(self) -> None:
        self._events.resume()
        self._tell_skipped()

    def _tell_skipped(self) -> None:
        """Of every request that cannot be told; an Event that was written lately is not again."""
        for key, wrong in self.book.skipped.items():
            if (held := self.requests.cache.objects.get(key)) is not None:
                self._tell(key, held.uid, wrong)
        if self.book.skipped:
            text = f"{len(self.book.skipped)} CapacityRequests cannot be told to a shard"
            self._log.warning("request.untranslatable", msg=f"{text}; their Events say why")

    def tell_held(self) -> None:
        """Of requests that are left out because the cluster asks for too much."""
        held = self.book.take_held()
        for key, wrong in held.items():
            self._counts.add("crs_skipped_total", reason=wrong.reason)
            if (request := self.requests.cache.objects.get(key)) is not None:
                self._tell(key, request.uid, wrong)
        if held:
            why = next(iter(held.values())).text
            text = f"{len(held)} CapacityRequests are left out of the roll-up: {why}"
            self._log.warning("request.left_out", msg=text)

    # -- questions -------------------------------------------------------------------------------

    def is_trustworthy(self, at: Instant) -> bool:
        cache = self.requests.cache
        return cache.synced and cache.stale_seconds(at) <= self._stale_after

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow."""
        reflectors = (*self._reflectors(), *self._helpful())
        cached = {kind: len(each.cache.objects) for kind, each in reflectors}
        return {
            **{kind[0].lower() + kind[1:]: size for kind, size in cached.items()},
            "requestsSkipped": len(self.book.skipped),
            "podsUnscheduled": len(self.pods_on_nodes.unscheduled),
            "machines": len(self.machines),
            **self.view.sizes(),
        }

    # -- changes ---------------------------------------------------------------------------------

    def _on_request(
        self, key: ObjectKey, before: HeldRequest | None, now: HeldRequest | None
    ) -> None:
        if now is None:
            self.book.remove(key)
        elif (wrong := self.book.put(key, now.uid, now.spec, now.phase)) is not None:
            self._counts.add("crs_skipped_total", reason=wrong.reason)
            if self._tell(key, now.uid, wrong):
                text = f"{wrong.field}: {wrong.text}"
                self._log.warning("request.untranslatable", msg=text, request=str(key))
        self._view_request(key, before, now)

    def _view_request(
        self, key: ObjectKey, before: HeldRequest | None, now: HeldRequest | None
    ) -> None:
        """Most changes are of the phase, and say nothing new of the pod."""
        at = self._clock.now()
        had, has = (each.pod_uid if each is not None else "" for each in (before, now))
        if before is not None and had != has:
            self.view.on_request(key, had, False, at)
        if now is not None and (before is None or had != has or before.spec != now.spec):
            self.view.on_request(key, has, True, at)

    def _tell(self, key: ObjectKey, uid: str, wrong: Untranslatable) -> bool:
        if not self._api.may_write():
            return False
        about = Reference(
            api_version=CAPACITY_REQUESTS.api_version,
            kind=CAPACITY_REQUESTS.kind,
            name=key.name,
            namespace=key.namespace,
            uid=uid,
        )
        text = f"{wrong.field}: {wrong.text}"
        self._events.tell(about, "Warning", "UntranslatableRequirement", text)
        return True

    def _on_node(self, key: ObjectKey, _before: Node | None, now: Node | None) -> None:
        # A Node that went, or took another machine's name, is news of the machine it was.
        machines = {self.node_map.machine_of(key.name)}
        if now is None:
            self.node_map.remove(key.name)
        else:
            self.node_map.put(now)
        machines.add(self.node_map.machine_of(key.name))
        for machine in sorted(machines - {""}):
            for listener in self._listeners:
                listener.on_machine_changed(machine)
        for listener in self._listeners:
            listener.on_node_changed(key.name)

    def _on_pod(self, key: ObjectKey, before: PodOnNode | None, now: PodOnNode | None) -> None:
        if now is None:
            self.pods_on_nodes.remove(key)
        else:
            self.pods_on_nodes.put(now)
        self.view.on_pod(before, now, self._clock.now())
        self._on_pods_changed({pod.node for pod in (before, now) if pod is not None and pod.node})

    def _on_attachment(self, key: ObjectKey, before: str | None, now: str | None) -> None:
        if before is not None:
            self.volumes.remove(key.name, before)
        if now is not None:
            self.volumes.put(key.name, now)
        self._on_pods_changed({each for each in (before, now) if each is not None})

    def _on_pods_changed(self, nodes: set[str]) -> None:
        for name in nodes:
            for listener in self._listeners:
                listener.on_pods_changed(name)

    def _on_budget(
        self, key: ObjectKey, _before: HeldBudget | None, now: HeldBudget | None
    ) -> None:
        if now is None:
            self.budgets.remove(key)
        else:
            self.budgets.put(key, now)

    def _on_upcoming(
        self, _key: ObjectKey, before: UpcomingNode | None, now: UpcomingNode | None
    ) -> None:
        known = now or before
        machine = known.metadata.annotations.get(MACHINE_ID, "") if known is not None else ""
        if machine:
            self.node_map.refer(machine, now.status.node_ref if now is not None else None)


def _whole(each: T) -> T:
    return each
