"""Tells people in the cluster that the shard refuses its roll-ups, and why.

The frames of a session only say that a roll-up was taken. Why one was not stands in the answer to a
cluster report; a shard without such reports does not tell, and `rollups_unacked_total` is all there
is to see.
"""

from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import CAPACITY_REQUESTS
from bigfleet.kube.objects import ObjectKey, Reference
from bigfleet.model.rollups import RollupRefusal
from bigfleet.operator.driving.cluster_cache import ClusterCache
from bigfleet.operator.rollup import ACKNOWLEDGED

REASON = "RollupRefused"
#: Requests that get an Event: a refused roll-up may have very many.
MOST_TOLD = 20


class RefusedRollups:
    def __init__(
        self, cluster_cache: ClusterCache, events: Events, counts: Counts, log: Log
    ) -> None:
        self._cluster_cache = cluster_cache
        self._events = events
        self._counts = counts
        self._log = log
        self._known: RollupRefusal | None = None

    def on_reply(self, refusal: RollupRefusal | None) -> None:
        """Of every answer of the shard; None: the last roll-up was taken."""
        before, self._known = self._known, refusal
        self._counts.set("rollup_refused", refusal is not None)
        if refusal is None:
            if before is not None:
                self._log.info("rollup.taken", msg="the shard takes this cluster's roll-ups again")
            return
        counted = before.times if before is not None and before.since == refusal.since else 0
        if refusal.times > counted:
            more = refusal.times - counted
            self._counts.add("rollups_refused_total", more, reason=refusal.reason)
        if before is None or before.reason != refusal.reason:
            self._log.warning(
                "rollup.refused",
                msg=f"the shard refuses this cluster's roll-ups, and serves the demand it took "
                f"before: {refusal.text}",
                reason=refusal.reason,
            )
        self._tell_requests(refusal)

    def on_disconnected(self) -> None:
        self._known = None
        self._counts.set("rollup_refused", 0)

    def _tell_requests(self, refusal: RollupRefusal) -> None:
        """Those that wait for it, the first by name; the same sentence is not told twice."""
        waiting = [
            (key, held.uid)
            for key, held in self._cluster_cache.requests.cache.objects.items()
            if held.phase != ACKNOWLEDGED and key not in self._cluster_cache.book.skipped
        ]
        text = f"the shard refused the demand of this cluster as a whole: {refusal.text}"
        for key, uid in sorted(waiting)[:MOST_TOLD]:
            self._events.tell(_about(key, uid), "Warning", REASON, text)


def _about(key: ObjectKey, uid: str) -> Reference:
    return Reference(
        api_version=CAPACITY_REQUESTS.api_version,
        kind=CAPACITY_REQUESTS.kind,
        name=key.name,
        namespace=key.namespace,
        uid=uid,
    )
