"""Something on beside the same thing off, in one process, on a machine that is never quiet.

Blocks take turns as off, on, on, off, and then the other way round, so that what drifts slowly, a
machine that grows busy or a fleet that grows, weighs on both alike. Four blocks are a round. What
is told is the median of what the rounds differ by, with the interval that nineteen in twenty of
drawn sets of rounds stay within.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median

from bigfleet.bench.measures import Measure, percentile

SEED = 1
#: Sets of rounds that are drawn, with repetition.
DRAWN = 2000
_LOW, _HIGH = 0.025, 0.975


@dataclass(frozen=True, slots=True)
class Round:
    """One value a cycle."""

    off: list[float] = field(default_factory=list)
    on: list[float] = field(default_factory=list)

    def of(self, *, is_on: bool) -> list[float]:
        return self.on if is_on else self.off


@dataclass(frozen=True, slots=True)
class Difference:
    """In percent of what it is without."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high


def turns(rounds: int) -> Iterator[tuple[int, bool]]:
    """The round and whether it is on, block by block."""
    for number in range(rounds):
        first = number % 2 == 1
        for is_on in (first, not first, not first, first):
            yield number, is_on


def of_medians(rounds: Sequence[Round]) -> Difference:
    """The median of what the medians of a round differ by."""
    return _with_interval(rounds, _median_difference)


def of_percentiles(rounds: Sequence[Round], part: float) -> Difference:
    """Of all cycles together: a round has too few for a high percentile of its own."""

    def difference(chosen: Sequence[Round]) -> float:
        off = percentile([value for each in chosen for value in each.off], part)
        on = percentile([value for each in chosen for value in each.on], part)
        return _percent(off, on)

    return _with_interval(rounds, difference)


def of_shares(rounds: Sequence[Round]) -> Difference:
    """Of cores that were used: by how many hundredths of one they are more."""

    def difference(chosen: Sequence[Round]) -> float:
        return 100 * median(median(each.on) - median(each.off) for each in chosen)

    return _with_interval(rounds, difference)


def measures_of(
    what: str, unit_of: str, rounds: Sequence[Round], at_most: float | None = None
) -> list[Measure]:
    """Of seconds: both medians in milliseconds, and what they differ by beside its budget."""
    off = median(value for each in rounds for value in each.off)
    on = median(value for each in rounds for value in each.on)
    found = of_medians(rounds)
    return [
        Measure(f"cycle {unit_of} p50, {what} off", 1e3 * off, "ms"),
        Measure(f"cycle {unit_of} p50, {what} on", 1e3 * on, "ms"),
        Measure(
            f"{what} on beside off, {unit_of}", found.value, "%", at_most, None, found.interval
        ),
    ]


def _median_difference(rounds: Sequence[Round]) -> float:
    return median(_percent(median(each.off), median(each.on)) for each in rounds)


def _percent(off: float, on: float) -> float:
    return 100 * (on / off - 1) if off else 0.0


def _with_interval(
    rounds: Sequence[Round], difference: Callable[[Sequence[Round]], float]
) -> Difference:
    chance = Random(SEED)
    drawn = [difference(chance.choices(rounds, k=len(rounds))) for _ in range(DRAWN)]
    return Difference(difference(rounds), percentile(drawn, _LOW), percentile(drawn, _HIGH))
