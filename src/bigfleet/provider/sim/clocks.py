"""The clocks a sim can run by: real, scaled, or stepped by control calls only."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from bigfleet.edge.clock import SECOND, Clock, ManualClock, Timer, sleep_on
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import Instant

#: Changes of speed that are remembered; an instant before them is told as the first of them.
_MOST_PACES = 64
#: A fixed day, so that two stepped runs have equal logs: 2026-01-01T00:00:00Z.
STEPPED_START = 1_767_225_600 * SECOND


class ScaledClock:
    """Runs `speed` times as fast as another clock, and can change its speed on the way."""

    def __init__(self, real: Clock, speed: float, began: Instant | None = None) -> None:
        """`began`: what it shows at first; the other clock's time where nothing is said."""
        self._real = real
        self._speed = speed
        self._began_real = real.now()
        self._began = self._began_real if began is None else began
        self._paces = deque([_Pace(self._began, self._began_real, speed)], _MOST_PACES)
        self._timers: dict[int, _ScaledTimer] = {}
        self._number = 0

    @property
    def speed(self) -> float:
        return self._speed

    def now(self) -> Instant:
        return self._began + round((self._real.now() - self._began_real) * self._speed)

    def real_of(self, instant: Instant) -> Instant:
        """When it was, or will be, by the other clock; what was before this clock began is past."""
        for pace in reversed(self._paces):
            if instant >= pace.began:
                return pace.began_real + round((instant - pace.began) / pace.speed)
        return min(instant, self._paces[0].began_real)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self._number += 1
        due = self.now() + max(0, round(seconds * SECOND))
        timer = _ScaledTimer(self, self._number, due, callback)
        self._timers[timer.number] = timer
        self._arm(timer)
        return timer

    async def sleep(self, seconds: float) -> None:
        await sleep_on(self, seconds)

    def set_speed(self, speed: float) -> tuple[Instant, Instant]:
        """Time goes on from where it is; every timer keeps the sim time it waits for. Returns the
        moment of the change, by this clock and by the other one."""
        real = self._real.now()
        self._began += round((real - self._began_real) * self._speed)
        self._began_real = real
        self._speed = speed
        self._paces.append(_Pace(self._began, self._began_real, speed))
        for timer in self._timers.values():
            timer.disarm()
            self._arm(timer)
        return self._began, self._began_real

    def _arm(self, timer: "_ScaledTimer") -> None:
        seconds = max(0, timer.due - self.now()) / SECOND / self._speed
        timer.real = self._real.call_later(seconds, lambda: self._fire(timer))

    def _fire(self, timer: "_ScaledTimer") -> None:
        if self._timers.pop(timer.number, None) is not None:
            timer.callback()

    def drop(self, timer: "_ScaledTimer") -> None:
        self._timers.pop(timer.number, None)
        timer.disarm()


@dataclass(frozen=True, slots=True)
class _Pace:
    """From these two instants, which are the same moment, it ran this fast."""

    began: Instant
    began_real: Instant
    speed: float


@dataclass(slots=True)
class _ScaledTimer:
    clock: ScaledClock
    number: int
    due: Instant
    callback: Callable[[], None]
    real: Timer | None = None

    def disarm(self) -> None:
        if self.real is not None:
            self.real.cancel()

    def cancel(self) -> None:
        self.clock.drop(self)


def clock_of(text: str, real: Clock) -> Clock:
    """`real`, `scaled:X` or `stepped`. A real one is scaled by 1, so that `speed` works on it."""
    name, _, number = text.partition(":")
    if name == "real" and not number:
        return ScaledClock(real, 1.0)
    if name == "stepped" and not number:
        return ManualClock(STEPPED_START)
    if name == "scaled":
        speed = speed_of(number)
        if speed is not None:
            return ScaledClock(real, speed)
    raise BadInput([Problem("clock", f"{text!r} is none of real, scaled:10 and stepped")])


def speed_of(text: str) -> float | None:
    try:
        speed = float(text)
    except ValueError:
        return None
    return speed if 0 < speed <= 1e6 else None
