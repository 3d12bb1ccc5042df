"""Which requests are acknowledged when the shard says that it has taken a roll-up.

An acknowledgement names no roll-up, so it is taken for the oldest that has none: a request may be
told a little late that the shard knows of it. A shard acknowledges nothing for a roll-up that it
refused, or that a newer one overtook in its queue; so one that has waited long with a newer one
behind it is given up. Without that every such loss would hold back all later requests for good.

From here the loss of one looks like an answer that is a minute late, so such an answer may tell of
a request early. One that merely lay unread while nothing was sent is still for what was sent first.
"""

from collections import deque

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.operator.rollup import DemandBook

#: Six report intervals; a shard takes a roll-up in milliseconds.
GIVEN_UP_AFTER_SECONDS = 60


class Acknowledgements:
    def __init__(
        self, book: DemandBook, given_up_after_seconds: float = GIVEN_UP_AFTER_SECONDS
    ) -> None:
        self._book = book
        self._patience = given_up_after_seconds * SECOND
        #: When each was sent that has no acknowledgement, and the book's mark then; oldest first.
        self._open: deque[tuple[Instant, int]] = deque()
        #: Roll-ups of this process that were given up, or ended with their session.
        self.unacked = 0

    @property
    def open_rollups(self) -> int:
        return len(self._open)

    def on_sent(self, at: Instant) -> None:
        """The line has taken a roll-up of the book as it is now."""
        self._give_up(at)
        self._open.append((at, self._book.mark))

    def on_acked(self, at: Instant) -> list[ObjectKey]:
        """Requests to be marked Acknowledged: contained in that roll-up, each once."""
        self._give_up(at)
        if not self._open:
            return []
        _, mark = self._open.popleft()
        return self._book.take_waiting(mark)

    def on_disconnected(self) -> None:
        """What was sent on that session stays without an answer; the next one starts anew."""
        self.unacked += len(self._open)
        self._open.clear()

    def buckets_of(self, key: ObjectKey) -> tuple[str, str] | None:
        """Labels of the interruption and the reclamation bucket; None: the request is gone.

        Also if it was made anew under its name, or asks for something else since: not before a
        roll-up with that is taken.
        """
        demand = self._book.taken_demand_of(key)
        return None if demand is None else demand.bucket_labels

    def wait_again(self, key: ObjectKey) -> None:
        """Could not be written: it is due once more with the next roll-up that is taken."""
        self._book.wait_again(key)

    def _give_up(self, at: Instant) -> None:
        """By the age of what was sent next: until then only the older one could be meant."""
        while len(self._open) > 1 and at - self._open[1][0] >= self._patience:
            self._open.popleft()
            self.unacked += 1
