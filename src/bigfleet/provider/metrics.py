"""What a provider counts; every name begins with `bigfleet_provider_`.

Labels are bounded: methods, codes, kinds, reasons, states and capacity types are closed sets, API
classes are the author's, and shards are few.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bigfleet.model.provider_calls import Code

SHARD_LABELS = 100
_PREFIX = "bigfleet_provider_"
#: An acknowledgement takes milliseconds, an operation minutes.
_CALLS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_WORK = (0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)


class ProviderMetrics:
    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._refreshers: list[Callable[[], None]] = []
        self._shards: set[str] = set()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(_PREFIX + name, text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(_PREFIX + name, text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(_PREFIX + name, text, labels, registry=registry, buckets=buckets)

        self.rpc_total = counter("rpc_total", "Calls answered.", "method", "code")
        self.rpc_seconds = histogram("rpc_seconds", "Arrival to answer.", _CALLS, "method")
        self.operations_total = counter(
            "operations_total", "Operations ended.", "kind", "outcome", "reason"
        )
        self.operation_seconds = histogram(
            "operation_seconds", "Acceptance to completion.", _WORK, "kind"
        )
        self.operation_queue = gauge("operation_queue", "Operations waiting for a place.", "kind")
        self.machines = gauge("machines", "Machines by state.", "state", "capacity_type")
        self.fenced_total = counter("fenced_total", "Stale tokens refused.", "shard")
        self.shard_switch_total = counter("shard_switch_total", "Machines that changed shards.")
        self.describe_total = counter("describe_total", "Describes of the substrate.", "outcome")
        self.describe_quarantined = gauge(
            "describe_quarantined", "1 while a describe is not believed."
        )
        self.invalid_records_total = counter("invalid_records_total", "Described records skipped.")
        self.vanished_total = counter("vanished_total", "Hosts found gone.")
        self.interruptions_total = counter("interruptions_total", "Interruption notices.")
        self.healed_total = counter("healed_total", "Machines that left FAILED.", "to")
        self.substrate_calls_total = counter(
            "substrate_calls_total", "Calls under a limit.", "class", "outcome"
        )
        self.throttled_seconds_total = counter(
            "throttled_seconds_total", "Time spent waiting for our own limits."
        )
        self.store_commit_seconds = histogram("store_commit_seconds", "One transaction.", _CALLS)
        self.store_failures_total = counter("store_failures_total", "Transactions that failed.")
        self.revision = gauge("revision", "Head of the inventory.")
        self.configure_payload_mismatch_total = counter(
            "configure_payload_mismatch_total", "Repeats of Configure with other metadata."
        )
        self.price_age_seconds = gauge("price_age_seconds", "Age of the newest price table.")
        self.internal_errors_total = counter("internal_errors_total", "Our own faults.", "method")

    def fenced(self, shard_id: str) -> None:
        """Shard ids come from callers: past a number of them the rest share one label."""
        if len(self._shards) < SHARD_LABELS:
            self._shards.add(shard_id)
        self.fenced_total.labels(shard_id if shard_id in self._shards else "other").inc()

    def observe_call(self, method: str, code: Code, seconds: float) -> None:
        self.rpc_total.labels(method, code).inc()
        self.rpc_seconds.labels(method).observe(seconds)

    def before_scrape(self, refresh: Callable[[], None]) -> None:
        """Gauges that are counted only when somebody looks."""
        self._refreshers.append(refresh)

    def text(self) -> bytes:
        for refresh in self._refreshers:
            refresh()
        return generate_latest(self.registry)
