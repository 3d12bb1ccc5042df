"""What a load test measures: one value a row, beside its budget and whether it is kept.

Times do not travel between machines, and a busy machine is not a defect: a verdict is for people,
the exit code never depends on it.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bigfleet.bench.timing import unit_ms

#: Where a load test says what it is doing right now.
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    #: What is measured lies within; None: it is taken as it is.
    interval: tuple[float, float] | None = None

    @property
    def budget(self) -> str:
        if self.at_most is not None:
            return f"<= {self.at_most:,g}"
        return f">= {self.at_least:,g}" if self.at_least is not None else ""

    @property
    def verdict(self) -> str:
        """Empty where there is no budget; open where the interval has the budget within."""
        low, high = self.interval or (self.value, self.value)
        if self.at_most is not None:
            return "met" if high <= self.at_most else "missed" if low > self.at_most else "open"
        if self.at_least is not None:
            return "met" if low >= self.at_least else "missed" if high < self.at_least else "open"
        return ""

    @property
    def range(self) -> str:
        """The interval, as it is printed."""
        return "" if self.interval is None else "{:,.1f} to {:,.1f}".format(*self.interval)


def document_of(measures: Sequence[Measure], **about: object) -> dict[str, object]:
    """For programs: what was measured on, then the rows."""
    return {**about, "measures": [_row(measure) for measure in measures]}


def _row(measure: Measure) -> dict[str, object]:
    row: dict[str, object] = {
        "name": measure.name,
        "value": measure.value,
        "unit": measure.unit,
        "budget": measure.budget,
        "verdict": measure.verdict,
    }
    if measure.interval is not None:
        row["low"], row["high"] = measure.interval
    return row


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least this part of them does not exceed; 0 of no values."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * part))] if ranked else 0.0


async def beside_the_machine(measuring: Awaitable[list[Measure]]) -> list[Measure]:
    """The measures, after the speed of the machine and its load before and after them."""
    before = os.getloadavg()[0]
    unit = unit_ms()
    found = await measuring
    return [
        Measure("load of the machine before", before, ""),
        Measure("load of the machine after", os.getloadavg()[0], ""),
        Measure("machine-speed unit", unit, "ms"),
        *found,
    ]
