"""What a provider counts: every name of the catalogue, with its meaning.

Prefix: `bigfleet_provider_`.
"""

from collections.abc import Callable
from typing import Protocol

from bigfleet.edge.counts import Counts
from bigfleet.edge.exposition import Catalogue, Exposition
from bigfleet.model.provider_calls import Code
from bigfleet.provider.ledger.transitions import Kind, Reason

PREFIX = "bigfleet_provider_"
#: An acknowledgement takes milliseconds, an operation minutes.
CALLS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
WORK = (0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)

HISTOGRAMS = {
    "rpc_seconds": "Arrival to answer.",
    "operation_seconds": "Acceptance to completion.",
    "store_commit_seconds": "One transaction.",
}
COUNTERS = {
    "rpc_total": "Calls answered.",
    "operations_total": "Operations ended.",
    "fenced_total": "Stale tokens refused.",
    "shard_switch_total": "Machines that changed shards.",
    "describe_total": "Describes of the substrate.",
    "invalid_records_total": "Described records skipped.",
    "vanished_total": "Hosts found gone.",
    "interruptions_total": "Interruption notices.",
    "healed_total": "Machines that left FAILED.",
    "substrate_calls_total": "Calls under a limit.",
    "throttled_seconds_total": "Time spent waiting for our own limits.",
    "store_failures_total": "Transactions that failed.",
    "configure_payload_mismatch_total": "Repeats of Configure with other metadata.",
    "internal_errors_total": "Our own faults.",
}
GAUGES = {
    "operation_queue": "Operations waiting for a place.",
    "machines": "Machines by state.",
    "describe_quarantined": "1 while a describe is not believed.",
    "revision": "Head of the inventory.",
    "price_age_seconds": "Age of the newest price table.",
}
CATALOGUE = Catalogue(PREFIX, HISTOGRAMS, COUNTERS, GAUGES)

#: Counters without labels.
_PLAIN = (
    *("shard_switch_total", "invalid_records_total", "vanished_total", "interruptions_total"),
    *("throttled_seconds_total", "store_failures_total", "configure_payload_mismatch_total"),
)


class RefreshesGauges(Protocol):
    def refresh_gauges(self) -> None: ...


class ProviderMetrics(Exposition):
    def __init__(
        self, version: str = "", certificate_ends: Callable[[], float | None] = lambda: None
    ) -> None:
        self.counts = counts = Counts()
        self._parts: list[RefreshesGauges] = []
        super().__init__(CATALOGUE, counts, self._look_up, version, certificate_ends)
        _begin(counts)

    def observe_call(self, method: str, code: Code, seconds: float) -> None:
        self.counts.add("rpc_total", method=method, code=code)
        self.counts.observe("rpc_seconds", seconds, CALLS, method=method)

    def add_gauges_of(self, part: RefreshesGauges) -> None:
        """Its gauges are looked up only when the page is asked for."""
        self._parts.append(part)

    def _look_up(self) -> None:
        for part in self._parts:
            part.refresh_gauges()


def _begin(counts: Counts) -> None:
    """Rows at 0 for closed sets of labels: an alert sees the first step."""
    for name in _PLAIN:
        counts.add(name, 0)
    for name in ("describe_quarantined", "revision", "price_age_seconds"):
        counts.set(name, 0)
    # The store's thread observes: the row is there before a page is made beside it.
    counts.observe("store_commit_seconds", 0.0, CALLS, times=0)
    for outcome in ("complete", "partial", "error"):
        counts.add("describe_total", 0, outcome=outcome)
    for kind in Kind:
        counts.add("operations_total", 0, kind=kind, outcome="succeeded", reason="")
        for reason in Reason:
            counts.add("operations_total", 0, kind=kind, outcome="failed", reason=reason)
