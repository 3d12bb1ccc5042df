"""What a coordinator counts: every name of the catalogue, with its meaning.

Prefix: `bigfleet_coordinator_`. Counters live as long as the process, over all its reigns; gauges
about the fleet are those of the reign and go with it.
"""

from collections import Counter
from collections.abc import Callable

from bigfleet.coordinator.book import Book, ShardMemory
from bigfleet.edge.counts import Counts, Survey
from bigfleet.edge.exposition import Catalogue, Exposition
from bigfleet.model.machines import Instant

PREFIX = "bigfleet_coordinator_"

HISTOGRAMS = {
    "store_write_seconds": "Transactions of the store, to the answer that they are durable.",
}
COUNTERS = {
    "apply_total": "Transactions by outcome; fenced: another replica led by then.",
    "elections_total": "How often this replica began to lead.",
    "store_errors_total": "Times the store did not answer, or it is unknown what it did.",
    "reports_total": "Reports of shards by result.",
    "transfers_total": "Transfers that ended, by tier and result.",
    "instruction_failures_total": "Instructions that were not accepted, by kind and outcome.",
}
GAUGES = {
    "raft_term": "The coordinator term this replica knows (the name is kept for dashboards).",
    "is_leader": "1 while this replica leads.",
    "pending_instructions": "Instructions a shard has not acknowledged.",
    "shards": "Shards that are registered.",
    "report_rows_left_off": "Rows that did not fit into the shards' last reports and syncs.",
    "shards_stale": "Shards that have been silent for three report intervals.",
    "clusters_bound": "Clusters that belong to a shard.",
    "domains": "Topology domains that are assigned, or change hands.",
    "snapshot_age_seconds": "Time since this leader's last snapshot, or since it leads.",
    "transfers_open": "Transfers under way.",
    "rebalance_blocked": "Shortfalls that the last sweep did not help, by what held it back.",
    "quota_total": "Slots there may be of a provider in a region.",
    "quota_allocated": "Slots of them that shards may use.",
}
CATALOGUE = Catalogue(PREFIX, HISTOGRAMS, COUNTERS, GAUGES)

_APPLIED = ("success", "error", "fenced")
_REPORTED = ("ok", "out_of_order", "stale_epoch", "identity")
#: An administrator registers them, and a dashboard shows each.
_MOST_SHARDS = 1000
_PLACE = ("provider", "region")
#: What only a leader knows.
_OF_A_REIGN = GAUGES.keys() - {"raft_term", "is_leader"}
#: Of those, what the page does not look up but a sweep sets.
_SET_BY_SWEEPS = {"rebalance_blocked"}


class CoordinatorMetrics(Exposition):
    """`refresh` sets the gauges that are looked up rather than counted."""

    def __init__(
        self,
        counts: Counts,
        refresh: Callable[[], Survey | None],
        version: str,
        certificate_ends: Callable[[], float | None] = lambda: None,
    ) -> None:
        super().__init__(CATALOGUE, counts, refresh, version, certificate_ends)
        for outcome in _APPLIED:
            counts.add("apply_total", 0, outcome=outcome)
        for result in _REPORTED:
            counts.add("reports_total", 0, result=result)
        counts.add("elections_total", 0)
        counts.add("store_errors_total", 0)


def measure(counts: Counts, book: Book | None, at: Instant) -> None:
    """Looks up what the book of a leader holds; without one nothing of it is shown."""
    looked_up = _OF_A_REIGN - _SET_BY_SWEEPS if book is not None else _OF_A_REIGN
    for name in looked_up:
        counts.clear(name)
    if book is None:
        return
    tables = book.tables
    shards = [row.id for row in tables.shards.rows.values() if not row.removed]
    counts.set("shards", len(shards))
    counts.set("shards_stale", sum(not book.is_fresh(shard, at) for shard in shards))
    told = [book.shards[shard] for shard in shards if shard in book.shards]
    counts.set("report_rows_left_off", sum(map(_left_off, told)))
    counts.set("clusters_bound", len(tables.clusters.rows))
    counts.set("domains", len(tables.domains.rows))
    pending = tables.instructions.by_first
    waiting = {(shard,): len(pending.get(shard, ())) for shard in sorted({*shards, *pending})}
    counts.show("pending_instructions", ("shard",), waiting, most=_MOST_SHARDS)
    transfers = tables.transfers.rows.values()
    counts.set("transfers_open", sum(row.transfer.state.open for row in transfers))
    allocated: Counter[tuple[str, str]] = Counter()
    for given in tables.allocations.rows.values():
        allocated[given.provider, given.region] += given.allocated
    totals = {(quota.provider, quota.region): quota.total for quota in tables.quotas.rows.values()}
    counts.show("quota_total", _PLACE, totals)
    counts.show("quota_allocated", _PLACE, {place: allocated[place] for place in totals})


def _left_off(memory: ShardMemory) -> int:
    """A shard says in its sync what it left off; what the coordinator did not keep comes on top."""
    of_sync = memory.sync.rows_left_off if memory.sync is not None else 0
    return of_sync + (memory.report.rows_left_off if memory.report is not None else 0)
