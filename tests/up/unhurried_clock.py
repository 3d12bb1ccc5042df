"""A clock that waits for the machine: time in which the event loop was held up does not count.

A simulated fleet in a hurry lives by the machine's clock. On one that is busy with other things a
minute of its script would pass before a shard has had the processor for a few of its decisions,
and demand moves on for ever before it is met. By this clock a fleet has for each of its minutes as
much of the processor as on an idle machine, and only the wait for it is longer.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from bigfleet.edge.clock import SECOND, sleep_on
from bigfleet.edge.driver import RealClock
from bigfleet.model.machines import Instant

_BEAT_SECONDS = 0.01
#: What may count between two beats; a loop with nothing to do is hardly late.
_MOST_OF_A_BEAT = round(1.25 * _BEAT_SECONDS * SECOND)


class UnhurriedClock:
    """To be made in a running event loop, whose beats it counts."""

    def __init__(self) -> None:
        self._real = RealClock()
        #: By this clock and by the real one, of the same moment.
        self._then = self._then_real = self._real.now()
        self._loop = asyncio.get_running_loop()
        self._loop.call_later(_BEAT_SECONDS, self._beat)

    def now(self) -> Instant:
        return self._then + min(self._real.now() - self._then_real, _MOST_OF_A_BEAT)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> "UnhurriedTimer":
        timer = UnhurriedTimer(self, self.now() + max(0, round(seconds * SECOND)), callback)
        timer.arm()
        return timer

    async def sleep(self, seconds: float) -> None:
        await sleep_on(self, seconds)

    def _beat(self) -> None:
        self._then, self._then_real = self.now(), self._real.now()
        self._loop.call_later(_BEAT_SECONDS, self._beat)


@dataclass(slots=True)
class UnhurriedTimer:
    clock: UnhurriedClock
    due: Instant
    callback: Callable[[], None]
    _real: asyncio.TimerHandle | None = field(default=None, init=False)

    def arm(self) -> None:
        seconds = max(0, self.due - self.clock.now()) / SECOND
        self._real = asyncio.get_running_loop().call_later(seconds, self._fire)

    def cancel(self) -> None:
        if self._real is not None:
            self._real.cancel()

    def _fire(self) -> None:
        if self.clock.now() < self.due:
            self.arm()
        else:
            self.callback()
