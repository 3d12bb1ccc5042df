"""Times of repeated cycles, part by part."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from time import perf_counter


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
