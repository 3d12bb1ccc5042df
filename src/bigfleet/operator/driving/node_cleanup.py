"""Deletes the Node objects of machines that have left, after asking the server once more."""

import asyncio
from typing import Protocol

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem, Conflict, NotFound
from bigfleet.kube.calls import Calls
from bigfleet.kube.events import TellsEvents
from bigfleet.kube.kinds import NODES
from bigfleet.model.machines import Instant
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.departed_nodes import DepartedNode, DepartedNodes
from bigfleet.operator.drain_steps import reference_of
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.settings import OperatorSettings

#: How often it is looked at most.
LOOK_SECONDS = 15.0


class KnowsNodes(Protocol):
    @property
    def node_map(self) -> NodeMap: ...

    def nodes_are_fresh(self, at: Instant) -> bool: ...


class NodeCleanup:
    def __init__(
        self,
        knows: KnowsNodes,
        calls: Calls,
        events: TellsEvents,
        clock: Clock,
        log: Log,
        counts: Counts,
        settings: CurrentSettings[OperatorSettings],
    ) -> None:
        self._knows = knows
        self._calls = calls
        self._events = events
        self._clock = clock
        self._log = log
        self._counts = counts
        self._settings = settings
        self._departed = DepartedNodes(knows.node_map, settings)
        self._asking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """For ever."""
        while True:
            wait = min(LOOK_SECONDS, max(0.1, self._settings.now.node_delete_after / 4))
            await self._clock.sleep(wait)
            if not self._settings.now.delete_nodes:
                continue
            at = self._clock.now()
            fresh = self._knows.nodes_are_fresh(at)
            for departed in self._departed.to_delete(at, nodes_are_fresh=fresh):
                self._asking = asyncio.create_task(self._delete(departed), name="node-cleanup")
                try:
                    await asyncio.wait({self._asking})
                finally:
                    self._asking.cancel()

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow."""
        return {"nodesDeparted": len(self._departed)}

    # -- what happens ----------------------------------------------------------------------------

    def on_connected(self) -> None:
        self._departed.on_connected()

    def on_disconnected(self) -> None:
        self._departed.on_disconnected()
        if self._asking is not None:
            self._asking.cancel()

    def before_node_state(self, update: NodeStateUpdate, at: Instant) -> None:
        self._departed.before_node_state(update, at)

    def on_replay_ended(self) -> None:
        self._departed.on_replay_ended()

    # -- within ----------------------------------------------------------------------------------

    async def _delete(self, departed: DepartedNode) -> None:
        name, machine = departed.name, departed.machine
        try:
            found = await self._calls.get(NODES, name)
            if not self._departed.may_delete(departed, found):
                return
            await self._calls.delete(NODES, name, uid=departed.uid)
        except (NotFound, Conflict):
            # Gone, or another Node of that name: the cache will say which.
            self._departed.on_deleted(departed)
            return
        except ApiProblem as problem:
            self._departed.on_failed(departed, self._clock.now())
            text = f"Node {name} of machine {machine}, which has left, was not deleted"
            self._log.warning("node_cleanup.failed", msg=f"{text}: {problem.text}", node=name)
            return
        self._departed.on_deleted(departed)
        self._counts.add("nodes_deleted_total")
        text = f"machine {machine} has left the cluster and its Node was not Ready: deleted"
        self._events.tell(reference_of(found), "Normal", "NodeDeleted", text)
        self._log.info("node_cleanup.deleted", msg=f"{name}: {text}", node=name, machine=machine)
