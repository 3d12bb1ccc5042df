"""The needs ledger: what the last cycle did for each Need. Immutable, swapped whole each cycle.

Making one costs nothing; what it shows is made when somebody asks, from the decision it keeps. It
may be read in a thread of its own: a page of everything takes some seconds in a large fleet.
"""

from collections.abc import Iterable
from itertools import islice

from bigfleet.engine.decision import Decision
from bigfleet.engine.need_views import NeedViews
from bigfleet.model.cluster_reports import MOST_STANDINGS, ClusterReportReply
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import NeedPage


class NeedsLedger:
    def __init__(self, decision: Decision | None = None, cycle: int = 0, at: Instant = 0) -> None:
        """Without a decision it says that nothing was computed yet."""
        self.cycle = cycle if decision is not None else 0
        self.computed_at = at if decision is not None else 0
        self._views = NeedViews(decision) if decision is not None else None

    def __len__(self) -> int:
        return len(self._views) if self._views is not None else 0

    @property
    def unsatisfied(self) -> int:
        return self._views.unsatisfied if self._views is not None else 0

    def page(self, cluster: str = "", limit: int = 0) -> NeedPage:
        """Needs by priority descending, arrival, cluster; no cluster: all, no limit: all."""
        if self._views is None:
            return NeedPage(0, 0, 0, ())
        rows = self._views.rows(cluster).tolist()
        shown = rows[:limit] if limit > 0 else rows
        views = tuple(self._views.view(row) for row in shown)
        return NeedPage(self.cycle, self.computed_at, len(rows), views)

    def standings(
        self, cluster: str, limit: int = MOST_STANDINGS, ask: Iterable[tuple[str, str]] = ()
    ) -> ClusterReportReply:
        """How the Needs of one cluster stand, as it asked for them; no supply is counted.

        Those in `ask` (fingerprint, group) come first, whatever their number; then the others by
        priority until there are `limit`.
        """
        if self._views is None:
            return ClusterReportReply()
        views, rows = self._views, self._views.rows(cluster)
        first = list(views.rows_of(cluster, ask))
        told = set(first)
        shown = [each for row in first for each in views.standings(row)]
        others = (row for row in rows.tolist() if row not in told)
        rest = (each for row in others for each in views.standings(row))
        shown += islice(rest, max(0, limit - len(shown)))
        return ClusterReportReply(tuple(shown), self.cycle, self.computed_at, views.asked_for(rows))
