"""Dollars per hour by each axis, as values of a moment: which names have a series of their own.

A name that was billed once keeps its series, and is 0 where it is not billed any more. Beyond
MOST_NAMES of an axis the rest is summed up as OTHERS.
"""

from collections import defaultdict
from collections.abc import Iterable

from bigfleet.model.figures import OTHERS, CostAxis, ShardFigures

#: Of one axis: a chart shows a dozen, and a series of a day takes 40 KB.
MOST_NAMES = 40
PREFIX = "cost/"


def series_prefix(axis: CostAxis) -> str:
    return f"{PREFIX}{axis}/"


class CostSeries:
    def __init__(self) -> None:
        self._named: dict[CostAxis, set[str]] = {axis: set() for axis in CostAxis}

    def values(self, figures: Iterable[ShardFigures]) -> dict[str, float]:
        """By the name of the series."""
        dollars: dict[CostAxis, defaultdict[str, float]]
        dollars = {axis: defaultdict(float) for axis in CostAxis}
        for each in figures:
            for row in each.spending:
                dollars[row.axis][row.name] += row.dollars_per_hour
        found: dict[str, float] = {}
        for axis, by_name in dollars.items():
            found |= self._values_of(axis, by_name)
        return found

    def _values_of(self, axis: CostAxis, dollars: defaultdict[str, float]) -> dict[str, float]:
        named, prefix = self._named[axis], series_prefix(axis)
        for name in sorted(dollars, key=lambda name: (-dollars[name], name)):
            if dollars[name] > 0 and (len(named) < MOST_NAMES or name == OTHERS):
                named.add(name)
        values = {f"{prefix}{name}": dollars.get(name, 0.0) for name in named}
        rest = sum(amount for name, amount in dollars.items() if name not in named)
        if rest > 0 or OTHERS in named:
            named.add(OTHERS)
            values[prefix + OTHERS] = values.get(prefix + OTHERS, 0.0) + rest
        return values
