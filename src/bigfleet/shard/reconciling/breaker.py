"""The breaker of one provider: calls are spared a line that is down.

It opens after some failures in a row within some time, and closes on two successes in a row. Lists
go on while it is open, at a slower pace, since they are how it closes.
"""

from collections import deque

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.shard.settings import ReconcileSettings

SUCCESSES_TO_CLOSE = 2


class ProviderBreaker:
    def __init__(self) -> None:
        self._open = False
        #: When it opened; None while it is closed.
        self.opened_at: Instant | None = None
        #: Of the failures in a row, the latest ones.
        self._failures: deque[Instant] = deque()
        self._successes = 0

    @property
    def open(self) -> bool:
        return self._open

    def failed(self, at: Instant, settings: ReconcileSettings) -> bool:
        """Whether this one opened it."""
        self._successes = 0
        self._failures.append(at)
        while len(self._failures) > settings.breaker_failures:
            self._failures.popleft()
        if self._open or len(self._failures) < settings.breaker_failures:
            return False
        self._open = at - self._failures[0] <= settings.breaker_window * SECOND
        self.opened_at = at if self._open else None
        return self._open

    def succeeded(self) -> bool:
        """Whether this one closed it."""
        self._failures.clear()
        if not self._open:
            return False
        self._successes += 1
        self._open = self._successes < SUCCESSES_TO_CLOSE
        if not self._open:
            self._successes, self.opened_at = 0, None
        return not self._open
