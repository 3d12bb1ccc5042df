"""Tells those who watch a shard what every cycle has changed.

Nothing is made while nobody watches. What is made is made once, for all who watch, in a thread,
from views that do not change; a cycle only says that it has ended. One who does not read is ended.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bigfleet.edge.logs import Log
from bigfleet.model.fleet_maps import FleetMap, map_changes
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.regret import Regret, skipped
from bigfleet.model.shard_views import ActionView
from bigfleet.model.watch_events import (
    DecisionChanges,
    FleetMapCall,
    MapChanges,
    ShardEvent,
    ShardOverview,
    Topic,
    WatchCall,
)
from bigfleet.shard.driving.explanations import Explanations
from bigfleet.shard.driving.figures import Figures
from bigfleet.shard.driving.forecasts import Forecasts
from bigfleet.shard.driving.regret_meter import RegretMeter
from bigfleet.shard.ledgers.needs import NeedsLedger, NeedSourcesTold
from bigfleet.shard.state import ShardState
from bigfleet.shard.watching.decision_news import DecisionNews, Ended, decided_after
from bigfleet.shard.watching.map_columns import MapInput, MapMaker

#: At a time: a page of this shard, one of its coordinator, and a few people.
MOST_WATCHERS = 16
#: Events that wait for one who watches.
MOST_WAITING = 64
#: Seconds between two makings: pages are told four times a second at most.
SHORTEST_GAP = 0.2
#: Changed Needs that are told one by one: what a loop writes and reads in some 15 ms.
MOST_NEEDS = 200


@dataclass(eq=False)
class _Watcher:
    topics: frozenset[str]
    waiting: deque[ShardEvent] = field(default_factory=deque)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    is_too_slow: bool = False

    def put(self, event: ShardEvent) -> None:
        if len(self.waiting) >= MOST_WAITING:
            self.is_too_slow = True
            self.waiting.clear()
        else:
            self.waiting.append(event)
        self.news.set()


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the loop takes for the thread."""

    overview: ShardOverview | None
    decisions: DecisionChanges | None
    ledger: NeedsLedger | None
    sources: NeedSourcesTold
    map: MapInput | None
    cycle: int
    at: Instant


class EventFeed:
    def __init__(
        self,
        state: ShardState,
        now: Callable[[], Instant],
        stopwatch: Callable[[], float],
        log: Log,
        real_of: Callable[[Instant], Instant] | None = None,
        regret: RegretMeter | None = None,
        forecasts: Forecasts | None = None,
    ) -> None:
        """`real_of`: what people's watches show at an instant of the shard; None: the same.
        `regret`: None: it is not measured."""
        self._state = state
        self._regret = regret
        self.figures = Figures(state)
        self._forecasts = forecasts or Forecasts(state, stopwatch, log)
        self._now = now
        self._stopwatch = stopwatch
        self._log = log
        self._watchers: set[_Watcher] = set()
        self._news = DecisionNews()
        self._maps = MapMaker(real_of)
        #: Whose changes were told last.
        self._ledger: NeedsLedger | None = None
        self._making: asyncio.Task[None] | None = None
        #: Only one thread at a time makes something.
        self._turn = asyncio.Lock()
        self._made_at = float("-inf")
        #: Topics that are to be made next.
        self._due: set[str] = set()

    def last_regret(self) -> Regret:
        if self._regret is None:
            return skipped("this shard does not measure its regret")
        return self._regret.latest()

    def cycle_ended(self) -> None:
        """Costs nothing where nobody watches."""
        if self._watchers and self._stopwatch() - self._made_at >= SHORTEST_GAP:
            self._make_soon(frozenset(Topic))

    async def watch(self, call: WatchCall) -> AsyncGenerator[ShardEvent, None]:
        """Raises Rejected where too many watch, or this one does not keep up."""
        topics = frozenset(call.topics or (Topic.OVERVIEW,))
        with self._one_more(topics) as watcher:
            if call.after_cycle and Topic.DECISIONS in topics:
                deciding, outcomes = self._state.decision_loop, self._state.parts.outcomes
                missed = decided_after(call.after_cycle, deciding.actions, outcomes.known())
                told = DecisionChanges(missed)
                yield self._event(deciding.ledger.cycle, self._now(), decisions=told)
            self._make_soon(topics)
            while True:
                await watcher.news.wait()
                watcher.news.clear()
                while watcher.waiting:
                    yield watcher.waiting.popleft()
                if watcher.is_too_slow:
                    text = "events came faster than they were read; ask again"
                    raise Rejected(Code.RESOURCE_EXHAUSTED, text)

    async def fleet_map(self, call: FleetMapCall, past: Explanations) -> FleetMap:
        """While someone watches it, the last one that was made: changes follow it."""
        if call.cycle and call.cycle != self._state.decision_loop.number:
            given = await past.given(call.cycle)
            seen = MapInput(
                given.snapshot,
                given.memory.reservations,
                lambda _: 0,
                self._state.epoch,
                call.cycle,
                given.at,
            )
            return await asyncio.to_thread(MapMaker().of_past, seen)
        async with self._turn:
            last = self._maps.last
            if last is None or not self._is_wanted(Topic.MAP):
                last = await asyncio.to_thread(self._maps.make, self._map_input())
        return last

    async def close(self) -> None:
        if self._making is not None:
            self._making.cancel()

    # -- within ----------------------------------------------------------------------------------

    def _is_wanted(self, topic: str) -> bool:
        return any(topic in watcher.topics for watcher in self._watchers)

    @contextmanager
    def _one_more(self, topics: frozenset[str]) -> Iterator[_Watcher]:
        if len(self._watchers) >= MOST_WATCHERS:
            text = f"{MOST_WATCHERS} watch this shard already; end one of them"
            raise Rejected(Code.RESOURCE_EXHAUSTED, text)
        if not self._is_wanted(Topic.NEEDS):
            self._ledger = None
        if not self._is_wanted(Topic.DECISIONS):
            self._news.take(*self._decided())
        watcher = _Watcher(topics)
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    def _make_soon(self, topics: Iterable[str]) -> None:
        """Of these topics what is watched."""
        self._due.update(topic for topic in topics if self._is_wanted(topic))
        if self._making is None or self._making.done():
            self._making = asyncio.create_task(self._make())

    async def _make(self) -> None:
        try:
            async with self._turn:
                while self._due:
                    topics, self._due = frozenset(self._due), set()
                    self._made_at = self._stopwatch()
                    seen = await self._look(topics)
                    for event in await asyncio.to_thread(self._events, seen):
                        self._tell(event)
        except Exception as problem:  # noqa: BLE001 - the next cycle tries again, and pages say so
            self._log.error("events.failed", msg=f"watchers are told nothing: {problem!r}")

    def _tell(self, event: ShardEvent) -> None:
        for watcher in self._watchers:
            if any(getattr(event, topic) is not None for topic in watcher.topics):
                watcher.put(event)

    async def _look(self, topics: frozenset[str]) -> _Seen:
        """In the event loop: only what costs little."""
        state = self._state
        overview = await self._overview() if Topic.OVERVIEW in topics else None
        decisions: DecisionChanges | None = None
        if Topic.DECISIONS in topics and (told := self._news.take(*self._decided())):
            decisions = DecisionChanges(told)
        return _Seen(
            overview,
            decisions,
            state.decision_loop.ledger if Topic.NEEDS in topics else None,
            NeedSourcesTold(state.parts.cluster_reports.sources()),
            self._map_input() if Topic.MAP in topics else None,
            state.decision_loop.ledger.cycle,
            self._now(),
        )

    def _decided(self) -> tuple[tuple[ActionView, ...], Ended]:
        return tuple(self._state.decision_loop.actions), self._state.parts.outcomes.known()

    async def _overview(self) -> ShardOverview:
        figures, state = await self.figures.now(), self._state
        parts = state.parts
        sessions = parts.sessions.views("")
        return ShardOverview(
            state.status(),
            state.quarantines(),
            tuple(parts.offerings.views()),
            figures,
            len(parts.thrash.findings()),
            tuple(sorted(view.cluster for view in sessions)),
            tuple(pods for view in sessions if (pods := view.pods) is not None),
            self.last_regret(),
            self._forecasts.reliability(),
        )

    def _map_input(self) -> MapInput:
        state = self._state
        machines = state.parts.machines
        return MapInput(
            machines.inventory.snapshot(),
            state.decision_loop.reservations,
            machines.since,
            state.epoch,
            state.decision_loop.ledger.cycle,
            self._now(),
        )

    def _events(self, seen: _Seen) -> list[ShardEvent]:
        """In a thread."""
        return list(self._made(seen))

    def _made(self, seen: _Seen) -> Iterable[ShardEvent]:
        cycle, at = seen.cycle, seen.at
        if seen.overview is not None:
            yield self._event(cycle, at, overview=seen.overview)
        if seen.decisions is not None:
            yield self._event(cycle, at, decisions=seen.decisions)
        if seen.ledger is not None:
            before, self._ledger = self._ledger, seen.ledger
            if before is not None and before is not seen.ledger:
                forecasts = self._forecasts.forecasts
                changes = seen.ledger.changes_since(before, seen.sources, MOST_NEEDS, forecasts)
                if changes.reset or changes.changed or changes.removed:
                    yield self._event(cycle, at, needs=changes)
        if seen.map is not None:
            earlier, later = self._maps.last, self._maps.make(seen.map)
            told = MapChanges(later.header.version, reset=True)
            if earlier is not None:
                told = map_changes(earlier, later)
            yield self._event(cycle, at, map=told)

    def _event(self, cycle: int, at: Instant, **what: Any) -> ShardEvent:
        return ShardEvent(self._state.epoch, cycle, at, **what)
