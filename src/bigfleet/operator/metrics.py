"""What an operator counts: every name of the catalogue, with its meaning.

Prefix: `bigfleet_operator_`.
"""

from collections.abc import Callable

from bigfleet.edge.counts import Counts, Survey
from bigfleet.edge.exposition import Catalogue, Exposition
from bigfleet.placement.admission import RefusedBy

PREFIX = "bigfleet_operator_"
EVICTION_BLOCKED = "eviction_blocked_total"

HISTOGRAMS = {
    "rollup_duration_seconds": "From the decision to roll up to the line having taken it.",
    "rollup_phase_duration_seconds": "The same by phase: list, build, enqueue.",
    "acknowledge_duration_seconds": "From a roll-up's acknowledgement to all its objects' patches.",
    "node_state_update_duration_seconds": "From a shard's update to its object, by phase.",
}
COUNTERS = {
    "rollups_unacked_total": "Roll-ups followed by another one before the shard took them.",
    "rollups_refused_total": "Roll-ups that the shard refused, by its reason.",
    "acknowledged_total": "CapacityRequests that were marked Acknowledged.",
    "crs_skipped_total": "CapacityRequests found that cannot be told to a shard, by reason.",
    "outbox_dropped_total": "Answers lost before the line took them; stays 0.",
    "session_reconnects_total": "Sessions that ended and were dialled again.",
    "upcoming_node_writes_total": "Writes of UpcomingNodes by what and how they ended.",
    "reclaims_total": "Instructions to give a machine back that ended, by result.",
    "reclaims_refused_total": "Machines not given back, or no longer, by what their pods lacked.",
    EVICTION_BLOCKED: "Evictions a disruption budget refused, by its namespace.",
    "bootstrap_renders_total": "Bootstrap blobs asked for, by outcome.",
    "node_missing_total": "Machines that were configured for ten minutes without a Node.",
    "nodes_deleted_total": "Nodes deleted because their machine had left.",
    "margin_rounds_total": "Changes of margins by result: raised, fruitless, refusals and more.",
    "api_requests_total": "Requests to the API server by verb and status; 0: no answer came.",
}
GAUGES = {
    "rollup_needs": "Needs in the last roll-up.",
    "rollup_refused": "1 while the shard refuses this cluster's roll-ups.",
    "crs_skipped": "CapacityRequests that cannot be told to a shard now.",
    "outbox_depth": "Answers that wait for the line.",
    "connected": "1 while a session is open.",
    "dispatch_inflight": "Objects being written.",
    "leader": "1 while this replica holds the lease.",
    "covered_not_placed": "Pods whose Need is served and that no node has taken.",
    "margin": "Capacity asked for beyond requests for stuck pods, by resource; cpu in cores.",
    "stuck_pods": "Pods that find no place though all machines of their Need are there.",
    "nodes_unusable": "Configured machines whose Node is missing or takes no pods.",
    "machines_lost": "Machines reported as lost now, by cause.",
    "repairs_held": "Broken machines that are kept because too many are broken at once.",
    "other_autoscaler": "1 while another autoscaler is at work in the cluster, by its name.",
}
CATALOGUE = Catalogue(PREFIX, HISTOGRAMS, COUNTERS, GAUGES)

_WRITES = ("create", "spec_update", "status_update", "delete")
_WRITTEN = ("success", "conflict", "error")
_REVISED = ("raised", "fruitless", "refusals", "probes", "restored", "left_empty")
_RECLAIMED = ("evicted", "deadline", "node_missing", "refused", "called_off")


class BlockedNamespaces:
    """Drops `eviction_blocked_total` of a namespace that has no pod on any Node any more.

    Not before a scrape has shown the last of it: what a counter grew by since the one before would
    be lost with it.
    """

    def __init__(self, counts: Counts, has_placed: Callable[[str], bool]) -> None:
        self._counts = counts
        self._has_placed = has_placed
        #: What the last scrape was shown, of every namespace that was empty then.
        self._shown_empty: dict[str, float] = {}

    def on_scrape(self) -> None:
        """Just before the page is made."""
        empty = {
            labels[0][1]: value
            for (name, labels), value in self._counts.counters.items()
            if name == EVICTION_BLOCKED and not self._has_placed(labels[0][1])
        }
        over = {each for each, value in empty.items() if self._shown_empty.get(each) == value}
        for namespace in over:
            self._counts.drop(EVICTION_BLOCKED, budget_namespace=namespace)
        self._shown_empty = {each: value for each, value in empty.items() if each not in over}


class OperatorMetrics(Exposition):
    """`refresh` sets the gauges that are looked up rather than counted."""

    def __init__(
        self,
        counts: Counts,
        refresh: Callable[[], Survey | None],
        version: str,
        certificate_ends: Callable[[], float | None] = lambda: None,
    ) -> None:
        super().__init__(CATALOGUE, counts, refresh, version, certificate_ends)
        for name in (
            "connected",
            "rollup_needs",
            "dispatch_inflight",
            "nodes_unusable",
            "rollup_refused",
        ):
            counts.set(name, 0)
        for op in _WRITES:
            for outcome in _WRITTEN:
                counts.add("upcoming_node_writes_total", 0, op=op, outcome=outcome)
        for result in _REVISED:
            counts.add("margin_rounds_total", 0, result=result)
        for result in _RECLAIMED:
            counts.add("reclaims_total", 0, result=result)
        for reason in RefusedBy:
            counts.add("reclaims_refused_total", 0, reason=reason)
        for name in (
            "rollups_unacked_total",
            "acknowledged_total",
            "outbox_dropped_total",
            "session_reconnects_total",
            "node_missing_total",
            "nodes_deleted_total",
        ):
            counts.add(name, 0)
