"""What a process says of itself on its metrics page."""

from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.bench.scraping import metrics_page

Series = Mapping[str, float]


async def page(port: int) -> Series:
    """Values by name and labels, as they stand there."""
    text = await metrics_page(port)
    rows = (line.rpartition(" ") for line in text.splitlines() if line.startswith("bigfleet_"))
    return {name: float(value) for name, _, value in rows}


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of what a histogram saw between two pages."""

    count: int
    total: float
    #: Upper edges of the buckets, and how many lie at or below each.
    upto: tuple[tuple[float, float], ...]

    @classmethod
    def between(cls, before: Series, after: Series, name: str) -> "Distribution":
        start = f'{name}_bucket{{le="'
        edges = [
            (float(series.removeprefix(start).removesuffix('"}')), value - before.get(series, 0))
            for series, value in after.items()
            if series.startswith(start)
        ]
        count = after.get(f"{name}_count", 0) - before.get(f"{name}_count", 0)
        total = after.get(f"{name}_sum", 0) - before.get(f"{name}_sum", 0)
        return cls(round(count), total, tuple(sorted(edges)))

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def percentile(self, part: float) -> float:
        """The edge below which at least this part of them lies."""
        return next((edge for edge, below in self.upto if below >= part * self.count), 0.0)
