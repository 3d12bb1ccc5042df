"""What the pod controller counts: every name of the catalogue, with its meaning.

Prefix: `bigfleet_`, because the oldest of them has a name of its own that dashboards know.
"""

from collections.abc import Callable

from bigfleet.edge.counts import Counts, Survey
from bigfleet.edge.exposition import Catalogue, Exposition
from bigfleet.podwatch.pod_reconciler import PodOutcome

PREFIX = "bigfleet_"
RECONCILES = "unschedulable_pod_controller_reconciles_total"
#: What may stand in a pod and is not translated: all values of the label `kind`.
UNTRANSLATED_KINDS = (
    *("preferred", "resource_claims", "comparison", "taint"),
    *("pod_affinity", "pod_anti_affinity", "volume_topology"),
)

HISTOGRAMS: dict[str, str] = {}
COUNTERS = {
    RECONCILES: "Looks at a pod by outcome (the name is kept for dashboards).",
    "podwatch_api_requests_total": "Calls to the API server by verb and status; 0: no answer.",
}
GAUGES = {
    "podwatch_queue_depth": "Pods, buffers and ProvisioningRequests that wait to be looked at.",
    "podwatch_leader": "1 while this replica writes.",
    "podwatch_pods": "Pods that are looked at, those that have ended included.",
    "podwatch_untranslated": "Pods with something that does not choose machines, by kind.",
    "podwatch_buffers": "CapacityBuffers that are looked at.",
    "podwatch_provisioning_requests": "ProvisioningRequests that are looked at.",
}
CATALOGUE = Catalogue(PREFIX, HISTOGRAMS, COUNTERS, GAUGES)


class PodwatchMetrics(Exposition):
    """`refresh` sets the gauges that are looked up rather than counted."""

    def __init__(self, counts: Counts, refresh: Callable[[], Survey | None], version: str) -> None:
        super().__init__(CATALOGUE, counts, refresh, version)
        for outcome in PodOutcome:
            counts.add(RECONCILES, 0, outcome=outcome.value)


class ApiCounts(Counts):
    """Counts of the line to the API server, under the names they have here."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self._counts = counts

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        self._counts.add(f"podwatch_{name}", amount, **labels)
