"""What a process counts, as plain numbers: its state adds, the metrics page reads.

Names are those of the metrics catalogue without their prefix. Nothing here knows Prometheus, so the
state stays pure and a test reads a count by its name.

Values of labels may come from tenants and providers: cluster ids, names of resources, regions. So
every label is bounded here, for every caller. The first values keep series of their own, the rest
share one with the value `other`, long values are cut, and a series that is dropped makes room.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TypeVar

Labels = tuple[tuple[str, str], ...]
Key = tuple[str, Labels]
#: Values of labels, in the order of the labels.
R = TypeVar("R", bound=tuple[str, ...])

#: The value that stands for all values beyond the bound.
OTHER = "other"
#: Values of one label of one metric.
MOST_VALUES = 100
#: Series of one metric: states x capacity types x penalties of the inventory are some 1,100.
MOST_SERIES = 2000
#: Characters of a value; names of Kubernetes objects have up to 253, most have 20.
LONGEST_VALUE = 120


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

    def copy(self) -> "Histogram":
        return Histogram(self.edges, self.total, self.count, list(self.counts))


#: Sets gauges in a copy of the counts; runs in a thread, so it reads only what does not change.
Survey = Callable[["Counts"], None]


class LabelBounds:
    """Which values of labels have series of their own, by metric and label."""

    def __init__(self) -> None:
        #: Series that carry a value, by (metric, label); `other` is not counted.
        self._series_with: dict[tuple[str, str], Counter[str]] = {}
        #: Series of each metric, those of `other` included.
        self._series_of: Counter[str] = Counter()

    def bounded(self, name: str, labels: Labels) -> Labels:
        """The labels under which a series may exist that does not exist yet."""
        found = tuple((label, self._value(name, label, value)) for label, value in labels)
        if self._series_of[name] < MOST_SERIES:
            return found
        return tuple((label, OTHER) for label, _ in labels)

    def on_made(self, name: str, labels: Labels) -> None:
        self._series_of[name] += 1
        for label, value in labels:
            if value != OTHER:
                self._series_with.setdefault((name, label), Counter())[value] += 1

    def on_dropped(self, name: str, labels: Labels) -> None:
        self._series_of[name] -= 1
        for label, value in labels:
            if value != OTHER:
                series = self._series_with[name, label]
                series[value] -= 1
                if not series[value]:
                    del series[value]

    def _value(self, name: str, label: str, value: str) -> str:
        value = short_value(value)
        known = self._series_with.get((name, label), ())
        return value if value in known or len(known) < MOST_VALUES else OTHER


class Counts:
    """Read the three tables freely; only the methods write them."""

    def __init__(self) -> None:
        self.counters: dict[Key, float] = {}
        self.gauges: dict[Key, float] = {}
        self.histograms: dict[Key, Histogram] = {}
        self._bounds = LabelBounds()

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        key = (name, tuple(labels.items()))
        if key not in self.counters:
            key = self._bounded(key, self.counters)
        self.counters[key] = self.counters.get(key, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Of a gauge whose labels others choose, tell all rows at once with `show`."""
        key = (name, tuple(labels.items()))
        if key not in self.gauges:
            key = self._bounded(key, self.gauges)
        self.gauges[key] = value

    def show(
        self,
        name: str,
        labels: tuple[str, ...],
        rows: Mapping[R, float],
        first: Collection[str] = (),
        most: int = MOST_VALUES,
    ) -> None:
        """The whole gauge anew: the largest rows, and the sum of the others as `other`.

        `first`: values of the first label whose rows are shown before larger ones.
        """
        shown = set(largest(rows, most, first))
        totals: dict[Labels, float] = {}
        for values, amount in rows.items():
            told = values if values in shown else (OTHER,) * len(labels)
            key = tuple(zip(labels, map(short_value, told), strict=True))
            totals[key] = totals.get(key, 0) + amount
        self.clear(name)
        for key, total in totals.items():
            self._bounds.on_made(name, key)
            self.gauges[name, key] = total

    def clear(self, name: str) -> None:
        """Forget all series of a gauge."""
        for key in [key for key in self.gauges if key[0] == name]:
            self._drop(key)

    def drop(self, name: str, **labels: str) -> None:
        """Forget the series of a subject that is gone, of any kind."""
        self._drop((name, tuple((label, short_value(value)) for label, value in labels.items())))

    def drop_all_with(self, name: str, **labels: str) -> None:
        """Forget every series of a metric that carries these values, with any other labels."""
        wanted = {(label, short_value(value)) for label, value in labels.items()}
        for table in (self.counters, self.gauges, self.histograms):
            for key in [key for key in table if key[0] == name and wanted <= set(key[1])]:
                self._drop(key)

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
        if key not in self.histograms:
            key = self._bounded(key, self.histograms)
        self.histograms.setdefault(key, Histogram(edges)).observe(seconds, times)

    @property
    def series(self) -> int:
        return len(self.counters) + len(self.gauges) + len(self.histograms)

    def of(self, name: str, **labels: str) -> float:
        """A counter or gauge; 0 where nothing was counted."""
        key = (name, tuple(labels.items()))
        return self.counters.get(key, self.gauges.get(key, 0))

    def copy(self) -> "Counts":
        """As of now, for a reader in another thread; it may still `set` and `show` gauges."""
        copied = Counts()
        copied.counters, copied.gauges = dict(self.counters), dict(self.gauges)
        copied.histograms = {key: each.copy() for key, each in self.histograms.items()}
        for name, labels in copied.gauges:
            copied._bounds.on_made(name, labels)
        return copied

    def _bounded(self, key: Key, table: Mapping[Key, object]) -> Key:
        name, labels = key
        labels = self._bounds.bounded(name, labels)
        if (name, labels) not in table:
            self._bounds.on_made(name, labels)
        return name, labels

    def _drop(self, key: Key) -> None:
        gone = (self.counters.pop(key, None), self.gauges.pop(key, None))
        if gone != (None, None) or self.histograms.pop(key, None) is not None:
            self._bounds.on_dropped(*key)


def short_value(value: str) -> str:
    """A label's value as it is shown: short enough for a page with a hundred of them."""
    return value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 3]}..."


def largest(rows: Mapping[R, float], most: int, first: Collection[str] = ()) -> list[R]:
    """Names of the rows that are shown: those of `first`, then the largest, then by name."""
    if len(rows) <= most:
        return list(rows)
    return nsmallest(most, rows, key=lambda row: (row[0] not in first, -rows[row], row))
