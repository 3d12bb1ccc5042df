"""What clusters tell of themselves: the newest report of each, in memory only.

A report is never acted upon: it is shown to people, and its sender learns how its Needs stand. One
that is overdue is shown as such; it is forgotten some time after its cluster's session, which also
bounds how many are kept: nobody reports without a session.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bigfleet.model.cluster_reports import STALE_AFTER, ClusterReport, ReceivedReport
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected

#: How long a report outlives the session of its cluster.
KEPT_AFTER_SESSION = 600 * SECOND


@dataclass(slots=True)
class _Kept:
    report: ClusterReport
    received_at: Instant
    #: When its cluster was last seen connected.
    connected_at: Instant


class ClusterReports:
    def __init__(self, is_open: Callable[[str], bool]) -> None:
        """`is_open`: whether a cluster has a session now."""
        self._is_open = is_open
        self._kept: dict[str, _Kept] = {}
        #: The last time anybody told, even if the clock was set back; views are asked without one.
        self._at: Instant = 0

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, report: ClusterReport, at: Instant) -> None:
        """Raises Rejected where the cluster has no session."""
        cluster = report.cluster_id
        if not self._is_open(cluster):
            text = f"cluster {cluster} has no session here; open one with Shard.Session first"
            raise Rejected(Code.FAILED_PRECONDITION, text, "session")
        self._at = at
        self._kept[cluster] = _Kept(report, at, at)

    def tick(self, at: Instant) -> None:
        """Once a second."""
        self._at = at
        for cluster, kept in list(self._kept.items()):
            if self._is_open(cluster):
                kept.connected_at = at
            elif at - kept.connected_at >= KEPT_AFTER_SESSION:
                del self._kept[cluster]

    def fresh(self) -> Iterator[ClusterReport]:
        """The reports that are not overdue."""
        for kept in self._kept.values():
            if self._at - kept.received_at < STALE_AFTER:
                yield kept.report

    def of(self, cluster: str) -> ReceivedReport | None:
        kept = self._kept.get(cluster)
        if kept is None:
            return None
        stale = self._at - kept.received_at >= STALE_AFTER
        return ReceivedReport(kept.report, kept.received_at, stale)
