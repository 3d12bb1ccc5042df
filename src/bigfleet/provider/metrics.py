"""What a provider counts; every name begins with `bigfleet_provider_`.

Methods and shard ids come from callers, reasons and API classes from the backend's author: none of
them can make a metric have many series. Beyond the most, the rest share one with `other`.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from bigfleet.edge.counts import LabelBounds, Labels
from bigfleet.edge.exposition import CONTENT_TYPE, page_of
from bigfleet.edge.pages import HttpAnswer
from bigfleet.model.provider_calls import Code
from bigfleet.provider.kinds import Kind
from bigfleet.provider.ledger.failures import Reason

_PREFIX = "bigfleet_provider_"
#: An acknowledgement takes milliseconds, an operation minutes.
_CALLS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_WORK = (0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)

W = TypeVar("W", bound=MetricWrapperBase)


class Labelled(Generic[W]):
    """A metric with labels, whose values are bounded like those of all other processes."""

    def __init__(self, metric: W, labels: tuple[str, ...]) -> None:
        self._metric = metric
        self.names = labels
        self._bounds = LabelBounds()
        self._known: set[Labels] = set()

    def labels(self, *values: str) -> W:
        named = tuple(zip(self.names, map(str, values), strict=True))
        if named not in self._known:
            named = self._bounds.bounded("", named)
            if named not in self._known:
                self._known.add(named)
                self._bounds.on_made("", named)
        return self._metric.labels(*(value for _, value in named))


class ProviderMetrics:
    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._refreshers: list[Callable[[], None]] = []

        def counter(name: str, text: str) -> Counter:
            return Counter(_PREFIX + name, text, registry=registry)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(_PREFIX + name, text, registry=registry)

        def counters(name: str, text: str, *labels: str) -> Labelled[Counter]:
            return Labelled(Counter(_PREFIX + name, text, labels, registry=registry), labels)

        def gauges(name: str, text: str, *labels: str) -> Labelled[Gauge]:
            return Labelled(Gauge(_PREFIX + name, text, labels, registry=registry), labels)

        def histograms(
            name: str, text: str, buckets: tuple[float, ...], label: str
        ) -> Labelled[Histogram]:
            metric = Histogram(_PREFIX + name, text, (label,), registry=registry, buckets=buckets)
            return Labelled(metric, (label,))

        self.rpc_total = counters("rpc_total", "Calls answered.", "method", "code")
        self.rpc_seconds = histograms("rpc_seconds", "Arrival to answer.", _CALLS, "method")
        self.operations_total = counters(
            "operations_total", "Operations ended.", "kind", "outcome", "reason"
        )
        self.operation_seconds = histograms(
            "operation_seconds", "Acceptance to completion.", _WORK, "kind"
        )
        self.operation_queue = gauges("operation_queue", "Operations waiting for a place.", "kind")
        self.machines = gauges("machines", "Machines by state.", "state", "capacity_type")
        self.fenced_total = counters("fenced_total", "Stale tokens refused.", "shard")
        self.shard_switch_total = counter("shard_switch_total", "Machines that changed shards.")
        self.describe_total = counters("describe_total", "Describes of the substrate.", "outcome")
        self.describe_quarantined = gauge(
            "describe_quarantined", "1 while a describe is not believed."
        )
        self.invalid_records_total = counter("invalid_records_total", "Described records skipped.")
        self.vanished_total = counter("vanished_total", "Hosts found gone.")
        self.interruptions_total = counter("interruptions_total", "Interruption notices.")
        self.healed_total = counters("healed_total", "Machines that left FAILED.", "to")
        self.substrate_calls_total = counters(
            "substrate_calls_total", "Calls under a limit.", "class", "outcome"
        )
        self.throttled_seconds_total = counter(
            "throttled_seconds_total", "Time spent waiting for our own limits."
        )
        self.store_commit_seconds = Histogram(
            _PREFIX + "store_commit_seconds", "One transaction.", registry=registry, buckets=_CALLS
        )
        self.store_failures_total = counter("store_failures_total", "Transactions that failed.")
        self.revision = gauge("revision", "Head of the inventory.")
        self.configure_payload_mismatch_total = counter(
            "configure_payload_mismatch_total", "Repeats of Configure with other metadata."
        )
        self.price_age_seconds = gauge("price_age_seconds", "Age of the newest price table.")
        self.internal_errors_total = counters("internal_errors_total", "Our own faults.", "method")

        self._begin()

    def _begin(self) -> None:
        """Rows at 0 for closed sets of labels: an alert sees the first step."""
        for outcome in ("complete", "partial", "error"):
            self.describe_total.labels(outcome)
        for kind in Kind:
            self.operations_total.labels(kind, "succeeded", "")
            for reason in Reason:
                self.operations_total.labels(kind, "failed", reason)

    def fenced(self, shard_id: str) -> None:
        self.fenced_total.labels(shard_id).inc()

    def observe_call(self, method: str, code: Code, seconds: float) -> None:
        self.rpc_total.labels(method, code).inc()
        self.rpc_seconds.labels(method).observe(seconds)

    def before_scrape(self, refresh: Callable[[], None]) -> None:
        """Gauges that are counted only when the page is read."""
        self._refreshers.append(refresh)

    def text(self) -> bytes:
        """All at once, for a caller that may wait."""
        self._refresh()
        return self._text()

    def page(self) -> HttpAnswer:
        self._refresh()
        return HttpAnswer(b"", CONTENT_TYPE, build=self._text)

    def _refresh(self) -> None:
        for refresh in self._refreshers:
            refresh()

    def _text(self) -> bytes:
        families = self.registry.collect()
        return page_of(sorted(families, key=lambda family: len(family.samples)))
