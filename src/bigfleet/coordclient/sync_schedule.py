"""Whether a sync follows a report, and how soon the coordinator wants to hear again. Pure.

A coordinator that knows no SyncShard is asked again rarely: it may have been replaced by one that
does, and until then the shard goes on with what it owns by its own setting.
"""

from bigfleet.model.coordination import SyncReply
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: Between two tries at a coordinator that does not know the call.
ASK_AGAIN = 600 * SECOND
#: However soon a coordinator wants to hear again, it is not asked in a tight loop.
SHORTEST_MILLIS = 20


class SyncSchedule:
    def __init__(self) -> None:
        #: Until then no sync is tried: the coordinator lacks the call. None: it may have it.
        self._unknown_until: Instant | None = None
        #: The coordinator has lost its memory and asks what every shard holds.
        self.merging = False
        self._soon_millis = 0

    def is_due(self, at: Instant) -> bool:
        return self._unknown_until is None or at >= self._unknown_until

    @property
    def soon_seconds(self) -> float | None:
        """When to report again; None: at the usual time."""
        if not self._soon_millis:
            return None
        return max(SHORTEST_MILLIS, self._soon_millis) / 1000

    def on_report(self) -> None:
        """A wish for haste is good for one report."""
        self._soon_millis = 0

    def on_reply(self, reply: SyncReply) -> None:
        self._unknown_until = None
        self.merging = reply.merging
        self._soon_millis = max(0, reply.next_sync_millis)

    def on_unknown(self, at: Instant) -> bool:
        """The coordinator does not know the call; True: that is news."""
        news = self._unknown_until is None
        self._unknown_until = at + ASK_AGAIN
        self.merging = False
        return news
