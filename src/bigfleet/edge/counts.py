"""What a process counts, as plain numbers: its state adds, the metrics page reads.

Names are those of the metrics catalogue without their prefix. Nothing here knows Prometheus, so the
state stays pure and a test reads a count by its name.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

Labels = tuple[tuple[str, str], ...]


def _edges(first: float, factor: float, last: float) -> tuple[float, ...]:
    edges = [first]
    while edges[-1] < last:
        edges.append(edges[-1] * factor)
    return tuple(edges)


#: 0.5 ms x 1.5^n up to 60 s, for calls and cycles.
FAST = _edges(0.0005, 1.5, 60.0)
#: 10 ms x 1.7^n up to 2 h, for the lives of machines.
SLOW = _edges(0.01, 1.7, 7200.0)
#: 1 us x 2^n up to 1 s, for steps within a cycle.
FINE = _edges(0.000001, 2.0, 1.0)


@dataclass(slots=True)
class Histogram:
    edges: tuple[float, ...]
    total: float = 0.0
    count: int = 0
    #: One more than edges: the last holds what is above all of them.
    counts: list[int] = field(default_factory=list)

    def observe(self, value: float, times: int = 1) -> None:
        if not self.counts:
            self.counts = [0] * (len(self.edges) + 1)
        self.counts[bisect_left(self.edges, value)] += times
        self.total += value * times
        self.count += times


class Counts:
    def __init__(self) -> None:
        self.counters: dict[tuple[str, Labels], float] = {}
        self.gauges: dict[tuple[str, Labels], float] = {}
        self.histograms: dict[tuple[str, Labels], Histogram] = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        key = (name, tuple(labels.items()))
        self.counters[key] = self.counters.get(key, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        self.gauges[name, tuple(labels.items())] = value

    def drop(self, name: str, **labels: str) -> None:
        """Forget the series of a subject that is gone, whatever kind it is of."""
        key = (name, tuple(labels.items()))
        self.counters.pop(key, None)
        self.gauges.pop(key, None)
        self.histograms.pop(key, None)

    def observe(
        self,
        name: str,
        seconds: float,
        edges: tuple[float, ...] = FAST,
        times: int = 1,
        **labels: str,
    ) -> None:
        """`times`: so many things took `seconds` each."""
        key = (name, tuple(labels.items()))
        self.histograms.setdefault(key, Histogram(edges)).observe(seconds, times)

    @property
    def series(self) -> int:
        return len(self.counters) + len(self.gauges) + len(self.histograms)

    def of(self, name: str, **labels: str) -> float:
        """A counter or gauge; 0 where nothing was counted."""
        key = (name, tuple(labels.items()))
        return self.counters.get(key, self.gauges.get(key, 0))
