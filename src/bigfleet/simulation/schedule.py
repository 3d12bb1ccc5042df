"""Virtual time: what happens next, in an order that one seed decides.

Things that are due at the same instant happen in a drawn order, so that other seeds try other
interleavings. Nothing here reads a clock.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: 2026-01-01T00:00:00Z: the same day for every run, so that equal seeds write equal journals.
START: Instant = 1_767_225_600 * SECOND


@dataclass(order=True, slots=True)
class Entry:
    at: Instant
    draw: float
    order: int
    action: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class Schedule:
    """Also the Clock of every process: those wait by `call_later` and never sleep."""

    def __init__(self, chance: Random, start: Instant = START) -> None:
        self.chance = chance
        self.start = start
        self.steps = 0
        self._now = start
        self._queue: list[Entry] = []
        self._order = 0

    def now(self) -> Instant:
        return self._now

    @property
    def seconds(self) -> float:
        """Since the start."""
        return (self._now - self.start) / SECOND

    def at(self, when: Instant, action: Callable[[], None]) -> Entry:
        self._order += 1
        entry = Entry(max(when, self._now), self.chance.random(), self._order, action)
        heappush(self._queue, entry)
        return entry

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Entry:
        return self.at(self._now + round(seconds * SECOND), callback)

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError("no part of a simulation waits by itself")

    def run_until(self, end: Instant, after_step: Callable[[], None]) -> None:
        """Does everything that is due until then; `after_step` looks at the world each time."""
        queue = self._queue
        while queue and queue[0].at <= end:
            entry = heappop(queue)
            if entry.cancelled:
                continue
            self._now = entry.at
            self.steps += 1
            entry.action()
            after_step()
        self._now = end
