"""Time as a process sees it: a clock is passed in, and tests own one that moves by hand."""

import asyncio
import heapq
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from bigfleet.model.machines import Instant

SECOND = 1_000_000_000


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time that never runs backwards, and the only way to wait."""

    def now(self) -> Instant: ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Calls back in the event loop; never before control returned to it."""
        ...

    async def sleep(self, seconds: float) -> None: ...


@runtime_checkable
class SimulatedClock(Protocol):
    """A clock that runs faster or slower than people's watches."""

    def real_of(self, instant: Instant) -> Instant:
        """When one of its instants was, or will be, by people's watches."""
        ...


async def sleep_on(clock: Clock, seconds: float) -> None:
    """Waits by a timer of `clock`; what a clock's own `sleep` may be made of."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.call_later(seconds, lambda: None if done.done() else done.set_result(None))
    try:
        await done
    finally:
        timer.cancel()


class _Turn:
    def __await__(self) -> Generator[None, None, None]:
        yield


async def next_turn() -> None:
    """Lets the event loop do what else is ready."""
    await _Turn()


async def settle(turns: int = 40) -> None:
    """Lets everything run that is ready, and what that makes ready, `turns` times over."""
    for _ in range(turns):
        await _Turn()


@dataclass(order=True, slots=True)
class _Due:
    at: Instant
    order: int
    callback: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A clock that stands still until `advance`; timers fire in the order of their time."""

    def __init__(self, start: Instant = 1_700_000_000 * SECOND) -> None:
        self._now = start
        self._due: list[_Due] = []
        self._order = 0

    def now(self) -> Instant:
        return self._now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self._order += 1
        due = _Due(self._now + max(0, round(seconds * SECOND)), self._order, callback)
        heapq.heappush(self._due, due)
        return due

    async def sleep(self, seconds: float) -> None:
        await sleep_on(self, seconds)

    def next_due(self) -> Instant | None:
        """When the next timer fires; None: there is no timer."""
        while self._due and self._due[0].cancelled:
            heapq.heappop(self._due)
        return self._due[0].at if self._due else None

    async def advance(self, seconds: float) -> None:
        """Moves time on, stopping at every timer on the way and letting its work run."""
        end = self._now + round(seconds * SECOND)
        await settle()
        while (at := self.next_due()) is not None and at <= end:
            self._now = max(self._now, at)
            while (at := self.next_due()) is not None and at <= self._now:
                heapq.heappop(self._due).callback()
            await settle()
        self._now = end
        await settle()


LAG_SECONDS = 0.1


class LoopLag:
    """How late a process's event loop is: a timer that should have come by now."""

    def __init__(
        self,
        clock: Clock,
        stopwatch: Callable[[], float],
        observe: Callable[[float], None] = lambda late: None,
    ) -> None:
        """`stopwatch` in seconds; it runs on while the loop hangs. `observe` is told every lag."""
        self._clock = clock
        self._stopwatch = stopwatch
        self._observe = observe
        self._seen_at = stopwatch()

    async def run(self) -> None:
        while True:
            before = self._stopwatch()
            await self._clock.sleep(LAG_SECONDS)
            self._seen_at = self._stopwatch()
            self._observe(max(0.0, self._seen_at - before - LAG_SECONDS))

    @property
    def seconds(self) -> float:
        """0 while the loop is in time."""
        return max(0.0, self._stopwatch() - self._seen_at - LAG_SECONDS)
