"""One row of a roll-up while requests come and go: the sum, the largest unit, and its bytes.

The cost of a change does not grow with the requests a row stands for: sums are kept, and the
largest amount of each dimension is the head of a heap whose stale entries are dropped when met.
"""

from heapq import heappop, heappush

from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile
from bigfleet.model.quantities import LARGEST_OF_NEED
from bigfleet.model.resources import Resources
from bigfleet.wire.rollups import need_row


class _Dimension:
    __slots__ = ("_counts", "_largest", "total")

    def __init__(self) -> None:
        self.total = 0
        #: Units by amount; never zero, so empty means that nobody names the dimension.
        self._counts: dict[int, int] = {}
        #: Of negative amounts: every amount counted is in it, and some that are no more.
        self._largest: list[int] = []

    def change(self, amount: int, by: int) -> bool:
        """True while somebody names the dimension."""
        self.total += amount * by
        count = self._counts.get(amount, 0) + by
        if count == 0:
            del self._counts[amount]
            if len(self._largest) > 2 * len(self._counts) + 8:
                self._largest = sorted(-left for left in self._counts)
        else:
            if count == by:
                heappush(self._largest, -amount)
            self._counts[amount] = count
        return bool(self._counts)

    def most(self) -> int:
        while -self._largest[0] not in self._counts:
            heappop(self._largest)
        return -self._largest[0]


class DemandRow:
    """All requests of one identity."""

    __slots__ = ("_bytes", "_dimensions", "_profile", "key", "units")

    def __init__(self, key: NeedKey, profile: Profile) -> None:
        self.key = key
        self._profile = profile
        self._dimensions: dict[str, _Dimension] = {}
        #: How many units it stands for; a row of none is no row.
        self.units = 0
        #: None: changed since they were last asked for.
        self._bytes: bytes | None = None

    def change(self, unit: Resources, by: int) -> None:
        """`by` units more, or less if negative; never less than there are."""
        self._bytes = None
        self.units += by
        for name, amount in unit.amounts:
            dimension = self._dimensions.get(name)
            if dimension is None:
                dimension = self._dimensions[name] = _Dimension()
            if not dimension.change(amount, by):
                del self._dimensions[name]

    def need(self) -> Need:
        """A sum beyond what a shard can count is told as the most it can: nobody has that either.

        Told as it is, it would cost the cluster its whole roll-up.
        """
        named = sorted(self._dimensions.items())
        return Need(
            self.key.cluster,
            self._profile,
            Resources(tuple((name, min(LARGEST_OF_NEED, d.total)) for name, d in named)),
            Resources(tuple((name, min(LARGEST_OF_NEED, d.most())) for name, d in named)),
            group=self.key.group,
        )

    def content(self) -> bytes:
        if self._bytes is None:
            self._bytes = need_row(self.need())
        return self._bytes
