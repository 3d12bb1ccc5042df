"""Times: of repeated cycles part by part, and the machine-speed unit they are compared in."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from statistics import median
from time import perf_counter

import numpy as np

GATHERS = 9
INDICES = 5_000_000
ELEMENTS = 4_000_000
SEED = 0


def unit_ms(clock: Callable[[], float] = perf_counter) -> float:
    """Median of nine gathers of five million random elements, summed, in milliseconds."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    elements = np.arange(ELEMENTS, dtype=np.int64)
    index = rng.integers(0, ELEMENTS, INDICES, dtype=np.int64)
    times = []
    for _ in range(GATHERS):
        started = clock()
        elements[index].sum()
        times.append(clock() - started)
    return median(times) * 1000


class Stopwatch:
    """A cycle's time is the sum of its parts; what happens before `resume` belongs to none."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._last = 0.0
        self._cycle = 0.0
        #: Seconds of each whole cycle.
        self.cycles: list[float] = []
        #: Seconds of each part, asides included, once for every time it ended.
        self.parts: dict[str, list[float]] = {}

    def resume(self) -> None:
        self._last = self._clock()

    def ended(self, part: str) -> None:
        self._cycle += self.aside(part)

    def aside(self, part: str) -> float:
        """Record a part that is not counted in the cycle."""
        now = self._clock()
        seconds = now - self._last
        self.parts.setdefault(part, []).append(seconds)
        self._last = now
        return seconds

    def cycle_ended(self) -> None:
        self.cycles.append(self._cycle)
        self._cycle = 0.0

    def p50_ms_of_parts(self) -> Mapping[str, float]:
        return {part: percentile_ms(times, 0.5) for part, times in self.parts.items()}


def percentile_ms(seconds: Sequence[float], quantile: float) -> float:
    """A measured value, never an interpolated one: the smallest that covers the quantile."""
    ranked = sorted(seconds)
    return ranked[max(0, ceil(quantile * len(ranked)) - 1)] * 1000
