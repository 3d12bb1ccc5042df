"""The cluster's view of its machines and of capacity it could have, kept up to date.

Wires what happens (frames of the session, changes of the caches, time) to the plans of `upcoming`
and `available`, and their writes to the pool. The sweep waits until the shard has told everything
and every cache is full: before that, an object without a machine proves nothing.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.calls import Calls
from bigfleet.kube.events import TellsEvents
from bigfleet.kube.objects import AvailableCapacity, ObjectKey, UpcomingNode
from bigfleet.kube.reflector import Reflector
from bigfleet.model.machines import Instant
from bigfleet.model.session_frames import AvailableCapacityUpdate, NodeStateUpdate
from bigfleet.operator.available import AvailableCapacities
from bigfleet.operator.driving.object_writer import Writer
from bigfleet.operator.upcoming_nodes import (
    DrainsOfMachines,
    NodesOfMachines,
    UpcomingNodes,
    Usability,
)

#: How often it is looked for what only time brings: missing Nodes, stale objects.
LOOK_SECONDS = 15.0


class WrittenCluster(Protocol):
    """What else the operator knows of its cluster."""

    upcoming: Reflector[UpcomingNode, UpcomingNode]
    available: Reflector[AvailableCapacity, AvailableCapacity]

    @property
    def node_map(self) -> NodesOfMachines: ...

    @property
    def machines(self) -> Usability: ...

    def nodes_are_fresh(self, at: Instant) -> bool: ...


class WriteBack:
    def __init__(
        self,
        calls: Calls,
        clock: Clock,
        draw: Callable[[], float],
        log: Log,
        counts: Counts,
        cluster: WrittenCluster,
        drains: DrainsOfMachines,
        events: TellsEvents,
        *,
        dispatch: int = 32,
    ) -> None:
        self._clock = clock
        self._log = log
        self._counts = counts
        self._cluster = cluster
        self._events = events
        self.writer = Writer(calls, clock, draw, log, counts, dispatch=dispatch)
        self.upcoming = UpcomingNodes(cluster.node_map, drains, cluster.machines)
        self.available = AvailableCapacities()
        self._sweep_due = False
        cluster.upcoming.cache.subscribe(self._on_upcoming_cached, self._sweep_if_due)
        cluster.available.cache.subscribe(self._on_available_cached)

    def on_connected(self) -> None:
        at = self._clock.now()
        self._sweep_due = False
        self.upcoming.on_connected(at)
        self.available.on_connected(at)

    def on_disconnected(self) -> None:
        self._sweep_due = False
        self.upcoming.on_disconnected()
        self.available.on_disconnected()
        # A write that the server has not taken yet must not come true without a session.
        self.writer.cut_off()

    def on_replay_ended(self) -> None:
        self._sweep_due = True
        self._sweep_if_due()

    def on_node_state(self, update: NodeStateUpdate) -> None:
        name = self.upcoming.on_update(update, self._clock.now())
        self.writer.touch(self.upcoming, name)

    def on_available(self, update: AvailableCapacityUpdate) -> None:
        name = self.available.on_update(update, self._clock.now())
        self.writer.touch(self.available, name)

    def look_again(self, machines: Iterable[str]) -> None:
        """Their Node came, went or changed, or their eviction went on."""
        if not self.upcoming.is_connected:
            # All machines are told anew at the next session; nothing is kept in mind until then.
            return
        for name in self.upcoming.names_of(machines):
            self.writer.touch(self.upcoming, name)

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.writer.run())
            tasks.create_task(self._keep_looking())

    async def _keep_looking(self) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self._look()

    def _look(self) -> None:
        at = self._clock.now()
        self._sweep_if_due()
        # A Node may become usable by time alone.
        self.look_again(self._cluster.machines.refresh_all(at))
        for missing in self.upcoming.tick(at) if self._cluster.nodes_are_fresh(at) else ():
            self._counts.add("node_missing_total")
            self._events.tell(missing.about, "Warning", "NodeMissing", missing.message)
            self._log.warning(
                "write_back.node_missing", msg=missing.message, machine=missing.machine_id
            )
        for name in self.available.tick(at):
            self.writer.touch(self.available, name)

    def _sweep_if_due(self) -> None:
        cluster = self._cluster
        known = cluster.upcoming.cache.synced and cluster.nodes_are_fresh(self._clock.now())
        if not self._sweep_due or not known:
            return
        self._sweep_due = False
        for name in self.upcoming.on_replay_ended():
            self.writer.touch(self.upcoming, name)

    def _on_upcoming_cached(
        self, key: ObjectKey, _before: UpcomingNode | None, now: UpcomingNode | None
    ) -> None:
        self.upcoming.seen.on_cached(key.name, now)
        if now is None and self.upcoming.is_connected:
            # By a hand, maybe: its machine is still there.
            self.writer.touch(self.upcoming, key.name)

    def _on_available_cached(
        self, key: ObjectKey, _before: AvailableCapacity | None, now: AvailableCapacity | None
    ) -> None:
        self.available.seen.on_cached(key.name, now)
        if now is None and self.upcoming.is_connected:
            self.writer.touch(self.available, key.name)
