"""Keeps open pages current: follows the shards, and tells every page what is new."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.fleet_maps import FleetMap, map_of
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.watch_events import FleetMapCall, FleetMapHeader, ShardEvent, Topic, WatchCall
from bigfleet.web.decision_documents import decision_document
from bigfleet.web.fleet import Fleet
from bigfleet.web.live import merging
from bigfleet.web.live.following import Follower
from bigfleet.web.live.hub import Client, Hub, newest
from bigfleet.web.live.maps import BYS, By, FleetMaps, MapEvent
from bigfleet.web.live.overview import Coordination
from bigfleet.web.live.rings import Rings
from bigfleet.web.live.seen import Seen
from bigfleet.web.live.statuses import status_of
from bigfleet.web.members import Members
from bigfleet.web.past import PastCycle
from bigfleet.wire.need_documents import NeedDocuments
from bigfleet.wire.need_listings import NEED_ROW
from bigfleet.wire.shard_admin import ShardAdminClient

TOPICS = {
    "overview": newest,
    "decisions": merging.decisions,
    "needs": merging.needs,
    "costs": newest,
    "alerts": merging.alerts,
    "scenario": newest,
    **{f"map:{by}": merging.fleet_map for by in BYS},
}
#: Between two looks at what is due.
TICK_SECONDS = 0.25
#: Between two looks at the coordinator, and at who belongs to the fleet.
COORDINATOR_SECONDS = 5.0
#: After so long machines that went to other groups go to their places.
REGROUP_SECONDS = 10.0
#: A map may take so long to come.
MAP_SECONDS = 10.0


class Live:
    def __init__(
        self, fleet: Fleet, rings: Rings, log: Log, members: Members | None = None
    ) -> None:
        """`members`: shards that come and go; None: those of the fleet stay."""
        self.fleet = fleet
        self._members = members
        #: Whom each shard's tasks ask.
        self._followed: dict[str, ShardAdminClient] = {}
        self.rings = rings
        self.hub = Hub(fleet.clock.now(), TOPICS)
        self.seen = Seen()
        self.maps = FleetMaps()
        self._log = log
        #: Held while a map is read or changed: both take their time.
        self._map_turn = asyncio.Lock()
        self._map_wanted_until: Instant = 0
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_over = False

    # -- for the server --------------------------------------------------------------------------

    def start(self) -> None:
        self._begin("ticks", self._tick_often())
        if self.fleet.coordinator is not None:
            self._begin("coordinator", self._look_often())

    async def stop(self) -> None:
        self._is_over = True
        self.hub.close()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)

    def end_streams(self) -> None:
        self._is_over = True
        self.hub.close()

    # -- for routes ------------------------------------------------------------------------------

    def publish(self, topic: str, document: Any) -> None:
        """To all pages that listen: the last one counts."""
        self.hub.offer(topic, document, self._now())

    def overview(self) -> dict[str, Any]:
        return self.seen.overview(self._now())

    def join(self, topics: Iterable[str], last_id: str, wake: Callable[[], None]) -> Client:
        """Raises HubFull."""
        hello = status_of(self.fleet, self.seen.fleet)
        return self.hub.join(topics, last_id, wake, hello)

    def leave(self, client: Client) -> None:
        self.hub.leave(client, self._now())

    @property
    def is_over(self) -> bool:
        return self._is_over

    async def map_body(self, by: By) -> bytes:
        """The map as it is; shards whose part is missing are named in it."""
        self._map_wanted_until = self._now() + round(REGROUP_SECONDS * SECOND)
        self._follow_what_is_wanted()
        missing = await self._maps_come()
        async with self._map_turn:
            return await asyncio.to_thread(self.maps.body, by, self.hub.number, missing)

    async def past_map_body(self, by: By, past: PastCycle) -> bytes:
        """Of a shard, as its journal has it; raises Problem."""
        maps = FleetMaps()
        maps.put(past.shard, await past.ask(self.fleet, loaded_map))
        return await asyncio.to_thread(maps.body, by, 0)

    # -- ticks -----------------------------------------------------------------------------------

    async def _tick_often(self) -> None:
        second = 0
        regrouped_at = self._now()
        while True:
            self._follow_what_is_wanted()
            now = self._now()
            self.hub.tick(now)
            if now // SECOND != second:
                second = now // SECOND
                self.rings.put(second, self.seen.samples(now))
            if now - regrouped_at >= REGROUP_SECONDS * SECOND:
                regrouped_at = now
                await self._regroup()
            await self.fleet.clock.sleep(TICK_SECONDS)

    def _follow_what_is_wanted(self) -> None:
        """One stream for the overview and decisions of each shard, others while pages want them."""
        now, known = self._now(), dict(self.fleet.shards)
        wants_map = now < self._map_wanted_until or any(self._is_wanted(f"map:{b}") for b in BYS)
        wanted: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        for name, client in known.items():
            wanted[f"overview {name}"] = partial(self._follow_overview, name, client)
            if self._is_wanted("needs"):
                wanted[f"needs {name}"] = partial(self._follow_needs, name, client)
            if wants_map:
                wanted[f"map {name}"] = partial(self._follow_map, name, client)
        moved = {name for name, client in known.items() if self._followed.get(name) is not client}
        self._followed = known
        for key in [key for key in self._tasks if " " in key]:
            if key not in wanted or key.partition(" ")[2] in moved:
                self._tasks.pop(key).cancel()
        if not wants_map and self.maps.shards:
            self.maps.forget()
        for key, work in wanted.items():
            if key not in self._tasks and not self._is_over:
                self._begin(key, work())

    def _is_wanted(self, topic: str) -> bool:
        return self.hub.is_wanted(topic, self._now())

    async def _regroup(self) -> None:
        async with self._map_turn:
            for by in self.maps.layouts:
                self._tell_map(await asyncio.to_thread(self.maps.regroup, by))

    # -- shards ----------------------------------------------------------------------------------

    async def _follow_overview(self, name: str, client: ShardAdminClient) -> None:
        after = 0

        def call() -> WatchCall:
            return WatchCall((Topic.OVERVIEW, Topic.DECISIONS), after)

        follower = Follower(client, self.fleet.clock, call, lambda why: self._on_down(name, why))
        async with aclosing(follower.events()) as events:
            async for event in events:
                after = event.cycle
                self._on_event(name, event)

    async def _follow_needs(self, name: str, client: ShardAdminClient) -> None:
        follower = Follower(
            client, self.fleet.clock, lambda: WatchCall((Topic.NEEDS,)), lambda _why: None
        )
        async with aclosing(follower.events()) as events:
            async for event in events:
                self._on_event(name, event)

    async def _follow_map(self, name: str, client: ShardAdminClient) -> None:
        follower = Follower(
            client, self.fleet.clock, lambda: WatchCall((Topic.MAP,)), lambda _why: None
        )
        async with aclosing(follower.events()) as events:
            async for event in events:
                if event.map is not None:
                    await self._on_map(name, client, event)

    async def _on_map(self, name: str, client: ShardAdminClient, event: ShardEvent) -> None:
        changes = event.map
        assert changes is not None, "asked for by its topic"
        self.hub.at(event.epoch, event.cycle)
        if name in self.maps and changes.version <= self.maps.version_of(name):
            return
        async with self._map_turn:
            if name in self.maps and not changes.reset:
                with suppress(ValueError):
                    self._tell_map(self.maps.change(name, changes, event))
                    return
        try:
            shown = await loaded_map(client)
        except Rejected as problem:
            self._log.warning("web.map", msg=f"no map of {name}: {problem.text}")
            return
        async with self._map_turn:
            self._tell_map(self.maps.put(name, shown))

    def _on_event(self, name: str, event: ShardEvent) -> None:
        now = self._now()
        self.hub.at(event.epoch, event.cycle)
        if event.overview is not None:
            self.seen.on_overview(name, event.overview, now)
            self._tell_overview(now)
        if event.decisions is not None and event.decisions.decisions:
            rows = [decision_document(view, name) for view in event.decisions.decisions]
            self.hub.offer("decisions", {"rows": rows}, now)
        if event.needs is not None:
            told, documents = event.needs, NeedDocuments()
            document = {
                "reset": told.reset,
                "changed": [
                    {**documents.document(NEED_ROW.message(row)), "shardId": name}
                    for row in told.changed
                ],
                "removed": [key.need_id for key in told.removed],
            }
            self.hub.offer("needs", document, now)

    def _on_down(self, name: str, why: str) -> None:
        self.seen.on_down(name, why)
        self._tell_overview(self._now())

    def _tell_overview(self, now: Instant) -> None:
        overview = self.seen.overview(now)
        self.rings.tell_overview(overview)
        self.hub.offer("overview", overview, now)
        self.hub.offer("costs", self.seen.costs(now), now)
        if (alerts := self.seen.alerts(overview)) is not None:
            self.hub.offer("alerts", alerts, now)

    def _tell_map(self, events: Iterable[MapEvent]) -> None:
        for event in events:
            self.hub.offer(f"map:{event.by}", event.document, self._now())

    async def _maps_come(self) -> list[str]:
        """Which shards' parts are missing after some patience, in words."""
        clock: Clock = self.fleet.clock
        until = clock.now() + round(MAP_SECONDS * SECOND)
        down = self.seen.fleet.down
        while clock.now() < until:
            if all(name in self.maps or name in down for name in self.fleet.shards):
                break
            await clock.sleep(0.02)
        return [f"{name} is not on the map" for name in self.fleet.shards if name not in self.maps]

    # -- the coordinator -------------------------------------------------------------------------

    async def _look_often(self) -> None:
        while True:
            await self._refresh_members()
            self.seen.coordination = await self._looked()
            await self.fleet.clock.sleep(COORDINATOR_SECONDS)

    async def _refresh_members(self) -> None:
        if self._members is None:
            return
        try:
            left = await self._members.refresh()
        except Rejected as problem:
            self._log.warning("web.members", msg=f"who belongs to the fleet: {problem.text}")
            return
        for name in left:
            self.seen.on_left(name)
            async with self._map_turn:
                self._tell_map(self.maps.drop(name))
        if left:
            self._tell_overview(self._now())

    async def _looked(self) -> Coordination:
        coordinator = self.fleet.coordinator
        assert coordinator is not None, "looked at only where there is one"
        statuses = []
        for address in self.fleet.coordinator_addresses:
            with suppress(Rejected):
                statuses.append(await coordinator.status(address))
        try:
            pauses, quotas = await coordinator.pauses(), await coordinator.quotas()
        except Rejected:
            return Coordination(tuple(statuses))
        return Coordination(tuple(statuses), quotas, pauses.pauses)

    # -- within ----------------------------------------------------------------------------------

    def _now(self) -> Instant:
        return self.fleet.clock.now()

    def _begin(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[name] = asyncio.create_task(work, name=f"web {name}")
        task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        """A task ends by itself only by a fault; ticks begin those of shards anew."""
        name = task.get_name().removeprefix("web ")
        if self._tasks.get(name) is task:
            del self._tasks[name]
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._log.error("web.task", msg=f"{name} has ended: {problem!r}")


async def loaded_map(client: ShardAdminClient, cycle: int = 0) -> FleetMap:
    """Raises Rejected."""
    header: FleetMapHeader | None = None
    pieces: list[bytes] = []
    try:
        async with (
            asyncio.timeout(MAP_SECONDS),
            aclosing(client.fleet_map(FleetMapCall(cycle))) as frames,
        ):
            async for piece in frames:
                if isinstance(piece, bytes):
                    pieces.append(piece)
                else:
                    header = piece
    except TimeoutError:
        raise Rejected(Code.DEADLINE_EXCEEDED, "the map took too long to come") from None
    if header is None:
        raise Rejected(Code.INTERNAL, "a map without its header")
    try:
        return await asyncio.to_thread(map_of, header, b"".join(pieces))
    except ValueError as problem:
        text = f"the map cannot be read, is the shard newer? {problem}"
        raise Rejected(Code.INTERNAL, text) from None


def known_topics(asked: str, by: str) -> Mapping[str, str]:
    """Topics of a stream by their names in a request; unknown ones are left out."""
    found = {}
    for name in asked.split(","):
        topic = f"map:{by}" if name == "map" else name
        if topic in TOPICS:
            found[name] = topic
    return found
