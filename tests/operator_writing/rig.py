"""The write-back of an operator against an API server over HTTP, with a clock moved by hand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bigfleet.edge.clock import ManualClock, next_turn, settle
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import NullLog
from bigfleet.kube.kinds import AVAILABLE_CAPACITIES, UPCOMING_NODES
from bigfleet.kube.objects import AvailableCapacity, Node, Reference, UpcomingNode
from bigfleet.kube.reflector import Reflector
from bigfleet.model.machines import Instant
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.operator.drain_steps import DrainStanding
from bigfleet.operator.driving.write_back import WriteBack
from tests.kube_api import FakeApiServer, api_for
from tests.operator_writing.machines import KnownDrains, ReadyNodes


class Complaints(NullLog):
    """A log that keeps its warnings."""

    def __init__(self) -> None:
        self.warnings: list[tuple[str, str]] = []

    def warning(self, event: str, **facts: Any) -> None:
        self.warnings.append((event, str(facts.get("msg"))))


@dataclass(slots=True)
class Rig:
    server: FakeApiServer
    clock: ManualClock
    counts: Counts
    log: Complaints
    write_back: WriteBack
    nodes: dict[str, Node]
    standings: dict[str, DrainStanding]
    told: list[tuple[Reference, str, str, str]]
    #: Whether all Nodes are known.
    nodes_known: list[bool] = field(default_factory=lambda: [True])

    def say(self, *updates: NodeStateUpdate) -> None:
        for update in updates:
            self.write_back.on_node_state(update)

    async def written(self) -> None:
        """Until nothing waits and nothing is in work."""
        await until(lambda: self.write_back.writer.is_idle)

    def ops(self, plural: str = "upcomingnodes") -> list[str]:
        """Writes the server answered, refused ones included: verb, and what of."""
        writes = self.server.writes(plural)
        return [f"{w.call.verb} {w.call.subresource}".strip() for w in writes]

    def phase(self, name: str = "un-m-1") -> str:
        return str(self.server.get(UPCOMING_NODES, name).get("status", {}).get("phase"))

    def outcomes(self) -> dict[tuple[str, str], float]:
        """Writes that were counted, by op and outcome."""
        return {
            (dict(labels)["op"], dict(labels)["outcome"]): number
            for (name, labels), number in self.counts.counters.items()
            if name == "upcoming_node_writes_total"
        }


async def until(holds: Callable[[], object]) -> None:
    await settle(4)
    async with asyncio.timeout(60):
        while not holds():
            await next_turn()


def _upcoming(found: UpcomingNode) -> UpcomingNode:
    return found


def _available(found: AvailableCapacity) -> AvailableCapacity:
    return found


@dataclass
class KnownCluster:
    upcoming: Reflector[UpcomingNode, UpcomingNode]
    available: Reflector[AvailableCapacity, AvailableCapacity]
    machines: ReadyNodes
    #: Whether all Nodes are known.
    nodes_known: list[bool] = field(default_factory=lambda: [True])

    @property
    def node_map(self) -> ReadyNodes:
        return self.machines

    def nodes_are_fresh(self, at: Instant) -> bool:
        return self.nodes_known[0]


@dataclass
class ToldEvents:
    told: list[tuple[Reference, str, str, str]] = field(default_factory=list)

    def tell(self, about: Reference, kind: str, reason: str, message: str) -> None:
        self.told.append((about, kind, reason, message))


@asynccontextmanager
async def rig_on(
    server: FakeApiServer, *, dispatch: int = 32, synced: bool = True
) -> AsyncIterator[Rig]:
    """A running write-back with a session open, and its replay under way."""
    clock, counts, log = ManualClock(), Counts(), Complaints()
    nodes: dict[str, Node] = {}
    standings: dict[str, DrainStanding] = {}
    told: list[tuple[Reference, str, str, str]] = []
    nodes_known = [True]
    async with api_for(server, clock) as api:
        upcoming = Reflector(api, UPCOMING_NODES, _upcoming, clock, lambda: 0.5, log)
        available = Reflector(api, AVAILABLE_CAPACITIES, _available, clock, lambda: 0.5, log)
        write_back = WriteBack(
            api,
            clock,
            lambda: 1.0,
            log,
            counts,
            KnownCluster(upcoming, available, ReadyNodes(nodes), nodes_known),
            KnownDrains(standings),
            ToldEvents(told),
            dispatch=dispatch,
        )
        work = (upcoming.run(), available.run(), write_back.run())
        tasks = [asyncio.create_task(each) for each in work]
        rig = Rig(server, clock, counts, log, write_back, nodes, standings, told, nodes_known)
        try:
            if synced:
                await until(lambda: upcoming.cache.synced and available.cache.synced)
            write_back.on_connected()
            yield rig
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
