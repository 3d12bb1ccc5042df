"""What a process counted, as the page a scraper reads.

A catalogue names everything that may be counted, with its meaning; a count that is not in it is an
error, so that a page and its documentation cannot drift apart. What was never counted is named too.

The page is made of a copy of the counts, in a thread: however long that takes, the event loop goes
on. A page has a size; what does not fit is left off, and `bigfleet_metrics_series_left_off` and the
last line of the page say how much.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from bigfleet.edge.counts import Counts, Histogram, Labels, Survey
from bigfleet.edge.pages import HttpAnswer

#: Bytes. Everything that is usually counted takes a tenth of it.
LARGEST_PAGE = 4 * 1024 * 1024
LEFT_OFF = "bigfleet_metrics_series_left_off"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Meanings by name; each name is shown behind the prefix."""

    prefix: str
    histograms: Mapping[str, str]
    counters: Mapping[str, str]
    gauges: Mapping[str, str]


class Exposition:
    """`refresh` sets the gauges that are looked up rather than counted. What takes long to look up
    it returns as a survey."""

    def __init__(
        self,
        catalogue: Catalogue,
        counts: Counts,
        refresh: Callable[[], Survey | None],
        version: str,
        certificate_ends: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._catalogue = catalogue
        self._counts = counts
        self._refresh = refresh
        self._version = version
        self._certificate_ends = certificate_ends
        self._process = ProcessCollector(registry=None)

    def text(self) -> bytes:
        """All at once, for a caller that may wait."""
        return self._build()()

    def page(self) -> HttpAnswer:
        return HttpAnswer(b"", CONTENT_TYPE, build=self._build())

    def _build(self) -> Callable[[], bytes]:
        survey = self._refresh()
        return partial(self._text_of, self._counts.copy(), survey)

    def _text_of(self, counts: Counts, survey: Survey | None) -> bytes:
        if survey is not None:
            survey(counts)
        return page_of(self._families(counts))

    def _families(self, counts: Counts) -> Iterator[Metric]:
        """What tells how the process does comes first, and what others name last: it is cut."""
        yield from self._process.collect()
        build = GaugeMetricFamily("bigfleet_build_info", "The version.", labels=["version"])
        build.add_metric([self._version], 1)
        yield build
        if (ends := self._certificate_ends()) is not None:
            name = "bigfleet_tls_certificate_expiry_timestamp_seconds"
            yield GaugeMetricFamily(name, "When this process's certificate ends.", value=ends)
        families = (*_counted(self._catalogue, counts), *_measured(self._catalogue, counts))
        yield from sorted(families, key=lambda family: len(family.samples))


class _OneFamily(CollectorRegistry):
    """A registry as `generate_latest` reads it."""

    def __init__(self, family: Metric) -> None:
        super().__init__()
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family


def page_of(families: Iterable[Metric], most_bytes: int = LARGEST_PAGE) -> bytes:
    """The page; families that do not fit any more are left off, and how many series they have."""
    pieces, size, left_off = [], 0, 0
    for family in families:
        text = generate_latest(_OneFamily(family))
        if size + len(text) > most_bytes:
            left_off += len({tuple(sample.labels.items()) for sample in family.samples})
            continue
        pieces.append(text)
        size += len(text)
    told = GaugeMetricFamily(LEFT_OFF, "Series that did not fit on this page.", value=left_off)
    pieces.append(generate_latest(_OneFamily(told)))
    if left_off:
        cut = f"{left_off} series are left off: a page has {most_bytes} bytes at most"
        pieces.append(f"# {cut}\n".encode())
    return b"".join(pieces)


def _counted(known: Catalogue, counts: Counts) -> Iterator[Metric]:
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


def _measured(known: Catalogue, counts: Counts) -> Iterator[Metric]:
    rows_of: dict[str, list[tuple[Labels, Histogram]]] = {name: [] for name in known.histograms}
    for (name, labels), histogram in counts.histograms.items():
        rows_of[name].append((labels, histogram))
    for name, rows in rows_of.items():
        names = [label for label, _ in rows[0][0]] if rows else []
        family = HistogramMetricFamily(known.prefix + name, known.histograms[name], labels=names)
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
