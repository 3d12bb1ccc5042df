"""How much of a workload there is over time: a curve gives the changes, in order, without end.

A deployment has so many replicas, a gang workload so many gangs. Objects that arrive one by one
(`poisson`) live for a drawn time; of gangs each has its own name.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random

#: Between two values of a curve that moves all the time.
STEP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Steps:
    """[seconds, units]...; before the first there is nothing."""

    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Ramp:
    """From one number to another, in a straight line."""

    start: float
    end: float
    begins: float
    lasts: float


@dataclass(frozen=True, slots=True)
class Diurnal:
    """A wave between two numbers."""

    least: float
    most: float
    peak: float
    period: float


@dataclass(frozen=True, slots=True)
class Burst:
    """So many more for a while, again and again."""

    base: float
    extra: float
    begins: float
    lasts: float
    every: float


@dataclass(frozen=True, slots=True)
class Poisson:
    """Objects that arrive by chance and live for an exponential time."""

    per_minute: float
    lifetime: float


Curve = Steps | Ramp | Diurnal | Burst | Poisson


@dataclass(frozen=True, slots=True)
class Level:
    """From now on there are so many."""

    seconds: float
    units: int
    #: Of objects that arrive one by one: the names of those there are.
    names: tuple[int, ...] | None = None


def levels(curve: Curve, chance: Random, until: float) -> Iterator[Level]:
    """The changes from 0 to `until`, oldest first."""
    if isinstance(curve, Poisson):
        yield from _arrivals(curve, chance, until)
        return
    if isinstance(curve, Steps):
        for seconds, units in curve.points:
            if seconds <= until:
                yield Level(seconds, round(units))
        return
    seconds, last = 0.0, -1
    while seconds <= until:
        units = max(0, round(value_at(curve, seconds)))
        if units != last:
            yield Level(seconds, units)
            last = units
        seconds += STEP_SECONDS


def value_at(curve: Ramp | Diurnal | Burst, seconds: float) -> float:
    match curve:
        case Ramp(start, end, begins, lasts):
            share = 1.0 if lasts <= 0 else (seconds - begins) / lasts
            return start + (end - start) * min(1.0, max(0.0, share))
        case Diurnal(least, most, peak, period):
            wave = (1 + math.cos(2 * math.pi * (seconds - peak) / period)) / 2
            return least + (most - least) * wave
        case Burst(base, extra, begins, lasts, every):
            since = seconds - begins
            within = since % every if every > 0 else since
            return base + (extra if since >= 0 and within < lasts else 0.0)


def _arrivals(curve: Poisson, chance: Random, until: float) -> Iterator[Level]:
    rate = curve.per_minute / 60.0
    number, alive = 0, dict[int, None]()
    ends: list[tuple[float, int]] = []
    arrives = chance.expovariate(rate) if rate > 0 else math.inf
    while True:
        leaves = ends[0][0] if ends else math.inf
        seconds = min(arrives, leaves)
        if seconds > until or seconds == math.inf:
            return
        if leaves <= arrives:
            _, gone = heappop(ends)
            del alive[gone]
        else:
            alive[number] = None
            heappush(ends, (seconds + chance.expovariate(1.0 / curve.lifetime), number))
            number += 1
            arrives = seconds + chance.expovariate(rate)
        yield Level(seconds, len(alive), tuple(alive))
