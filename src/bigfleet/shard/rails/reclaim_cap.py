"""The shard's memory of the Reclaims it started, for the cap over the trailing window.

A Reclaim that was held back later on the way counts for its own cycle only: the window remembers
what clusters really lost.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.reclaim_cap import PastReclaims, positions_over_cap, recent_reclaims


class ReclaimWindow:
    def __init__(self) -> None:
        #: Oldest first; nothing older than the window asked for last.
        self._past: deque[PastReclaims] = deque()

    def over_cap(
        self,
        reclaims: Iterable[tuple[int, str]],
        fraction: float,
        window_seconds: float,
        configured_of: Callable[[str], int],
        at: Instant,
    ) -> dict[int, int]:
        """Positions that must wait, each with the cap that stops it."""
        self._past = deque(recent_reclaims(self._past, at, int(window_seconds * SECOND)))
        return positions_over_cap(reclaims, self._past, fraction, configured_of)

    def started(self, clusters: Iterable[str], at: Instant) -> None:
        lost = Counter(clusters)
        if lost:
            self._past.append(PastReclaims(at, lost))
