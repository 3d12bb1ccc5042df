"""The List guard: a List that lost many machines is held until it has been said often and long.

The baseline is what the shard owned of the provider at the last believed whole List, and stays
while Lists are held. A List that is not suspicious ends the hold. What is believed in the end is
only what every held List said: machines missing in all of them.
"""

from collections.abc import Collection, Set
from enum import IntEnum

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import Quarantine, QuarantineKind
from bigfleet.shard.settings import RailSettings


class ListVerdict(IntEnum):
    BELIEVED = 1
    HELD = 2
    #: Held before, and now said often enough.
    CONFIRMED = 3


class ListGuard:
    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._baseline = 0
        self._consecutive = 0
        self._since: Instant = 0
        #: Missing in every List of the hold.
        self._missing: set[str] = set()
        self._observed = 0

    @property
    def consecutive(self) -> int:
        return self._consecutive

    @property
    def missing_in_all(self) -> Set[str]:
        return self._missing

    def judge(self, missing: Collection[str], at: Instant, rails: RailSettings) -> ListVerdict:
        """A whole List was read that does not name these owned machines."""
        if not self._suspicious(len(missing), rails):
            self._end()
            return ListVerdict.BELIEVED
        if self._consecutive == 0:
            self._since, self._missing = at, set(missing)
        else:
            self._missing.intersection_update(missing)
        self._consecutive += 1
        self._observed = max(0, self._baseline - len(missing))
        long = at - self._since >= rails.list_guard_min_hold * SECOND
        if self._consecutive < rails.list_guard_confirmations or not long:
            return ListVerdict.HELD
        return ListVerdict.CONFIRMED

    def believed(self, owned: int) -> None:
        """The last List was taken over, and left so many machines."""
        self._baseline = owned
        self._end()

    def discard(self) -> None:
        """The hold ends and nothing of it is believed."""
        self._end()

    def quarantine(self, rails: RailSettings) -> Quarantine | None:
        if self._consecutive == 0:
            return None
        return Quarantine(
            QuarantineKind.PROVIDER_LIST,
            self._provider,
            self._baseline,
            self._observed,
            self._consecutive,
            rails.list_guard_confirmations,
            self._since,
            self._since + int(rails.list_guard_min_hold * SECOND),
            f"{self._baseline - self._observed} of {self._baseline} machines are missing",
        )

    def _suspicious(self, missing: int, rails: RailSettings) -> bool:
        return (
            rails.list_guard
            and self._baseline >= rails.list_guard_min
            and missing > rails.list_guard_fraction * self._baseline
        )

    def _end(self) -> None:
        self._consecutive = 0
        self._missing = set()
