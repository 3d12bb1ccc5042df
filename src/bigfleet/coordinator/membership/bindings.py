"""Which shard serves which cluster: for ever the one that first said so.

A second shard that names the cluster is told whose it is. A binding ends with its shard, or when
a person says that the cluster is gone.
"""

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership.checks import require
from bigfleet.coordinator.membership.handovers import FULL
from bigfleet.coordinator.tables import ClusterRow
from bigfleet.model.coordination import ClusterBinding, SyncRequest
from bigfleet.model.provider_calls import Code, Rejected


def bind(book: Book, draft: Draft, request: SyncRequest) -> tuple[ClusterBinding, ...]:
    """Clusters that are another shard's. Call it before the sync is remembered: what was said of
    one in the last sync is not said again. Where very many are new, some wait for the next sync.
    """
    misbound = []
    before = book.memory(request.shard_id).sync
    named_before = set(before.cluster_ids) if before is not None else set()
    for cluster in request.cluster_ids:
        row = draft.clusters.get(cluster)
        if row is None and draft.size >= FULL:
            continue
        if row is None:
            draft.clusters.put(ClusterRow(cluster, request.shard_id, draft.at))
            draft.note("cluster_bound", cluster, f"cluster {cluster} is {request.shard_id}'s")
        elif row.shard != request.shard_id:
            misbound.append(_binding(draft, row))
            if cluster not in named_before:
                said = f"cluster {cluster} dialled {request.shard_id}, but is bound to {row.shard}"
                draft.note("cluster_misbound", cluster, said)
    return tuple(misbound)


def is_bound(draft: Draft, request: SyncRequest) -> bool:
    """Whether every cluster it names is bound to some shard."""
    return all(draft.clusters.get(cluster) is not None for cluster in request.cluster_ids)


def unbind(book: Book, draft: Draft, cluster: str) -> None:
    """Raises Rejected."""
    require(cluster_id=cluster)
    row = draft.clusters.get(cluster)
    if row is None:
        raise Rejected(Code.NOT_FOUND, f"cluster_id {cluster} is bound to no shard")
    known = book.shards.get(row.shard)
    sync = known.sync if known is not None else None
    if sync is not None and cluster in sync.cluster_ids and book.is_syncing(row.shard, draft.at):
        raise Rejected(
            Code.ABORTED,
            f"cluster {cluster} is in session with {row.shard}: stop its operator first, then"
            " unbind it",
        )
    draft.clusters.delete(cluster)
    draft.note("cluster_unbound", cluster, f"cluster {cluster} is no longer bound to {row.shard}")


def bindings(book: Book, shard: str) -> list[ClusterBinding]:
    """Of one shard, or of all where it is empty; by cluster."""
    draft = Draft(book.tables, 0)
    rows = book.tables.clusters.rows.values()
    wanted = (row for row in rows if not shard or row.shard == shard)
    return [_binding(draft, row) for row in sorted(wanted, key=lambda row: row.cluster)]


def _binding(draft: Draft, row: ClusterRow) -> ClusterBinding:
    shard = draft.shards.get(row.shard)
    address = shard.address if shard is not None else ""
    return ClusterBinding(row.cluster, row.shard, address, row.bound_at)
