"""How long the suite waits and how often it looks: every limit of the suite in one record.

All limits of rows are written for a settle time of 15 seconds and grow or shrink with `--settle`;
stability windows do not, because a slower provider is not allowed to be less stable. A limit is
used up only while answers come at their usual pace: a machine that is busy with other work must
not make a provider fail.

How long calls take, measured so that a machine busy with other work is not held against them.

What is really slow is slow every time; what a busy machine adds comes and goes. So a time counts
against a provider only if several measurements agree, and one good measurement settles it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

SETTLE = 15.0
CUT_OFF = 30.0
#: Between two looks at most this many polls count; what is above was lost to a busy machine.
COUNTED_POLLS = 2.5
#: However busy the machine is, a limit ends at this multiple of itself.
LONGEST_PATIENCE = 4.0


class Clock(Protocol):
    """The only source of time of the suite; the driver owns the real one."""

    def now(self) -> float:
        """Monotonic seconds."""

    def wall(self) -> int:
        """Nanoseconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Pace:
    settle: float = SETTLE
    poll: float = 0.020
    #: While a transitional state is to be caught.
    watch: float = 0.001
    hold_error: float = 0.250
    hold_lifecycle: float = 0.300
    hold_walk: float = 0.080
    quiet: float = 0.750
    quiet_poll: float = 0.050
    burst: int = 16
    call_deadline: float = 30.0
    #: Of the fault lane; the limits of B701..B708 are written for two seconds.
    transition_timeout: float = 2.0
    #: Of the Configure that B1006 cuts off with a kill.
    cut_off: float = CUT_OFF

    def limit(self, seconds: float) -> float:
        """A limit of a row, in the tempo of this run."""
        return seconds * self.settle / SETTLE

    def brisk(self) -> "Pace":
        """For the self-test: its provider takes milliseconds, so seconds of patience are wasted."""
        return replace(
            self,
            settle=1.5,
            poll=0.004,
            hold_error=0.06,
            hold_lifecycle=0.08,
            hold_walk=0.03,
            quiet=0.15,
            quiet_poll=0.02,
            transition_timeout=0.2,
            cut_off=3.0,
        )


class Patience:
    """What is left of a limit; ask once per look whether it is used up."""

    def __init__(self, clock: Clock, pace: Pace, seconds: float) -> None:
        self._clock, self._counted = clock, COUNTED_POLLS * pace.poll
        self._last = clock.now()
        self._left, self._end = seconds, self._last + LONGEST_PATIENCE * seconds

    def spent(self) -> bool:
        now = self._clock.now()
        self._left -= min(now - self._last, self._counted)
        self._last = now
        return self._left <= 0 or now >= self._end


#: Measured again so often before a time counts against the provider.
TRIES = 5

Call = Callable[[], Awaitable[object]]


async def timed(clock: Clock, count: int, call: Call, enough_seconds: float = 0.0) -> list[float]:
    """Seconds of each of `count` calls, quickest first; three will do if they take long."""
    began_all = clock.now()
    times: list[float] = []
    for _ in range(count):
        began = clock.now()
        await call()
        times.append(clock.now() - began)
        if enough_seconds and len(times) >= 3 and clock.now() - began_all > enough_seconds:
            break
    return sorted(times)


def p99_of(times: list[float]) -> float:
    return times[max(0, -(-len(times) * 99 // 100) - 1)]


async def best_p99(measure: Callable[[], Awaitable[list[float]]], enough: float = 0.0) -> float:
    """The least p99 of several measurements, the first that is `enough` being the last."""
    best = float("inf")
    for _ in range(TRIES):
        times = await measure()
        best = min(best, p99_of(times))
        # Also when even the quickest call was too slow: no busy machine delays every single one.
        if best <= enough or (enough and times[0] > enough):
            break
    return best
