"""How long the last cycles took, and how fast counters rise: sums of the last minutes."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

#: Cycles whose times are kept: five minutes of them, one a second, or fewer minutes of more.
MOST_CYCLES = 600
CYCLE_SECONDS = 300.0
RATE_SECONDS = 60.0
#: Looks at the counters within that time, at most.
_MOST_LOOKS = 300

#: Seconds of each phase of a cycle, and of the whole under "".
Times = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CycleTimes:
    """By the stopwatch."""

    at: float
    seconds: Times


class RecentCycles:
    def __init__(self) -> None:
        self._times: deque[CycleTimes] = deque(maxlen=MOST_CYCLES)
        self._looks: deque[tuple[float, Mapping[str, float]]] = deque(maxlen=_MOST_LOOKS)

    def ended(self, times: CycleTimes) -> None:
        self._times.append(times)

    def times(self, now: float) -> tuple[CycleTimes, ...]:
        return tuple(each for each in self._times if now - each.at <= CYCLE_SECONDS)

    def risen(self, counters: Mapping[str, float], now: float) -> tuple[dict[str, float], float]:
        """By how much each has risen within the last minute, or since the first look, and in how
        many seconds."""
        looks = self._looks
        while len(looks) > 1 and now - looks[1][0] >= RATE_SECONDS:
            looks.popleft()
        looks.append((now, dict(counters)))
        began, before = looks[0]
        risen = {name: total - before.get(name, 0.0) for name, total in counters.items()}
        return risen, now - began


def quantile_of_phases(times: tuple[CycleTimes, ...], quantile: float) -> dict[str, float]:
    """By phase, the whole cycle under ""; none: no cycle has ended."""
    phases: dict[str, list[float]] = {}
    for each in times:
        for phase, seconds in each.seconds.items():
            phases.setdefault(phase, []).append(seconds)
    return {phase: float(np.quantile(each, quantile)) for phase, each in phases.items()}
