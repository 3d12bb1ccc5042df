"""What a process counted, as the page a scraper reads.

A catalogue names everything that may be counted, with its meaning; a count that is not in it is an
error, so that a page and its documentation cannot drift apart. What was never counted is named too.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from bigfleet.edge.counts import Counts, Histogram, Labels
from bigfleet.edge.pages import HttpAnswer


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Meanings by name; each name is shown behind the prefix."""

    prefix: str
    histograms: Mapping[str, str]
    counters: Mapping[str, str]
    gauges: Mapping[str, str]


class Exposition(Collector):
    """`refresh` sets the gauges that are looked up rather than counted."""

    def __init__(
        self,
        catalogue: Catalogue,
        counts: Counts,
        refresh: Callable[[], None],
        version: str,
        certificate_ends: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._catalogue = catalogue
        self._counts = counts
        self._refresh = refresh
        self._version = version
        self._certificate_ends = certificate_ends
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def page(self) -> HttpAnswer:
        return HttpAnswer(self.text(), "text/plain; version=0.0.4; charset=utf-8")

    def describe(self) -> Iterable[Metric]:
        """Nothing ahead of time: the registry need not ask at registration."""
        return ()

    def collect(self) -> Iterator[Metric]:
        self._refresh()
        yield from self._counted()
        yield from self._measured()
        build = GaugeMetricFamily("bigfleet_build_info", "The version.", labels=["version"])
        build.add_metric([self._version], 1)
        yield build
        if (ends := self._certificate_ends()) is not None:
            name = "bigfleet_tls_certificate_expiry_timestamp_seconds"
            yield GaugeMetricFamily(name, "When this process's certificate ends.", value=ends)

    def _counted(self) -> Iterator[Metric]:
        known, counts = self._catalogue, self._counts
        for name, text, rows in _by_name(known.counters, counts.counters):
            counter = CounterMetricFamily(known.prefix + name, text, labels=_label_names(rows))
            for labels, value in rows:
                counter.add_metric([v for _, v in labels], value)
            yield counter
        for name, text, rows in _by_name(known.gauges, counts.gauges):
            gauge = GaugeMetricFamily(known.prefix + name, text, labels=_label_names(rows))
            for labels, value in rows:
                gauge.add_metric([v for _, v in labels], value)
            yield gauge

    def _measured(self) -> Iterator[Metric]:
        known = self._catalogue
        rows_of: dict[str, list[tuple[Labels, Histogram]]] = {name: [] for name in known.histograms}
        for (name, labels), histogram in self._counts.histograms.items():
            rows_of[name].append((labels, histogram))
        for name, rows in rows_of.items():
            names = [label for label, _ in rows[0][0]] if rows else []
            family = HistogramMetricFamily(
                known.prefix + name, known.histograms[name], labels=names
            )
            for labels, histogram in rows:
                buckets = list(_cumulative(histogram))
                family.add_metric([v for _, v in labels], buckets, histogram.total)
            yield family


def _by_name(
    catalogue: Mapping[str, str], values: dict[tuple[str, Labels], float]
) -> Iterator[tuple[str, str, list[tuple[Labels, float]]]]:
    """Name, meaning and rows of everything in the catalogue; KeyError for what is not."""
    rows: dict[str, list[tuple[Labels, float]]] = defaultdict(list)
    for (name, labels), value in values.items():
        rows[name].append((labels, value))
    for name in (*catalogue, *(rows.keys() - catalogue.keys())):
        yield name, catalogue[name], rows[name]


def _label_names(rows: list[tuple[Labels, float]]) -> list[str]:
    return [label for label, _ in rows[0][0]] if rows else []


def _cumulative(histogram: Histogram) -> Iterator[tuple[str, float]]:
    total = 0
    for edge, count in zip(histogram.edges, histogram.counts, strict=False):
        total += count
        yield f"{edge:.6g}", total
    yield "+Inf", histogram.count
