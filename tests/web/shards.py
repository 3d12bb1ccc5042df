"""A shard as a page sees it: events that a test puts in, on a clock that a test moves."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import cast

from bigfleet.edge.clock import ManualClock, settle
from bigfleet.model.fleet_maps import FleetMap, map_bytes
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.watch_events import (
    FleetMapCall,
    FleetMapHeader,
    ShardEvent,
    ShardOverview,
    Topic,
    WatchCall,
)
from bigfleet.web.fleet import Fleet
from bigfleet.web.live.live import Live
from bigfleet.web.live.rings import Rings
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.web.maps import shard_map
from tests.web.pages import LinesKept
from tests.wire import figures_answer, watch_answers


class FakeShard:
    """Watchers get what is put in from then on; a shard that is gone refuses everything."""

    def __init__(self, name: str = "shard-0") -> None:
        self.name = name
        self.calls: list[WatchCall] = []
        self.is_gone = False
        self.map: FleetMap = shard_map(["m-0", "m-1"])
        self._watchers: list[tuple[frozenset[str], asyncio.Queue[ShardEvent | None]]] = []

    def put(self, event: ShardEvent) -> None:
        for topics, queue in self._watchers:
            if any(getattr(event, topic) is not None for topic in topics):
                queue.put_nowait(event)

    def go(self) -> None:
        self.is_gone = True
        for _, queue in self._watchers:
            queue.put_nowait(None)

    async def watch_events(self, call: WatchCall) -> AsyncGenerator[ShardEvent, None]:
        if self.is_gone:
            raise Rejected(Code.UNAVAILABLE, "connection refused")
        self.calls.append(call)
        queue: asyncio.Queue[ShardEvent | None] = asyncio.Queue()
        watcher = (frozenset(call.topics), queue)
        self._watchers.append(watcher)
        try:
            while (event := await queue.get()) is not None:
                yield event
            raise Rejected(Code.UNAVAILABLE, "it has hung up")
        finally:
            self._watchers.remove(watcher)

    async def fleet_map(self, _call: FleetMapCall) -> AsyncGenerator[FleetMapHeader | bytes, None]:
        if self.is_gone:
            raise Rejected(Code.UNAVAILABLE, "connection refused")
        yield self.map.header
        yield map_bytes(self.map)

    def is_watched(self, topic: Topic) -> bool:
        return any(topic in topics for topics, _ in self._watchers)


def overview(
    cycle: int = 9, *, shard: str = "shard-0", thrash: int = 0, **figures: object
) -> ShardEvent:
    status = replace(watch_answers.STATUS, shard_id=shard, stuck_pods=0, dry_run=False)
    status = replace(status, journal_error="", journal_degraded=False, cycle=cycle)
    told = replace(figures_answer.FIGURES, shard_id=shard, cycle=cycle, **figures)  # type: ignore[arg-type]
    return ShardEvent(3, cycle, 10, overview=ShardOverview(status, (), (), told, thrash, ("shop",)))


class Watched:
    """A page's live part over fake shards."""

    def __init__(self, *shards: FakeShard) -> None:
        self.clock = ManualClock()
        self.log = LinesKept()
        clients = {each.name: cast(ShardAdminClient, each) for each in shards}
        fleet = Fleet(clients, None, (), self.clock, face="shard", version="1.2.3")
        self.live = Live(fleet, Rings(), self.log)

    async def start(self) -> None:
        self.live.start()
        await settle()

    async def advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)
