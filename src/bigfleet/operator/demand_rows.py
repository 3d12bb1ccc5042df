"""One row of a roll-up while requests come and go: the sum, the largest unit, and its bytes.

The cost of a change does not grow with the requests a row stands for: sums are kept, and the
largest amount of each dimension is the head of a heap whose stale entries are dropped when met.

The unit that is told is the largest one with what a machine loses to overhead (`Units`); the sum is
the sum of the requests and nothing else.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Protocol

from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile
from bigfleet.model.quantities import LARGEST_OF_NEED
from bigfleet.model.resources import Resources
from bigfleet.placement.overhead import ShapeSplit
from bigfleet.wire.rollups import need_row


class Units(Protocol):
    """What a machine must have so that the largest pod of a row fits on it alone."""

    def unit_of(self, largest: Resources) -> Resources: ...

    def is_taken(self, largest: Resources) -> bool:
        """Whether some kind of machine takes all of it, or no kind is known."""
        ...

    def split_of(self, shapes: Sequence[Resources]) -> ShapeSplit | None:
        """How pods of these sizes ask, where no kind of machine takes them together."""
        ...


class PlainUnits:
    """The pod itself: nothing is known of overhead and of kinds of machines."""

    def unit_of(self, largest: Resources) -> Resources:
        return largest

    def is_taken(self, largest: Resources) -> bool:
        return True

    def split_of(self, shapes: Sequence[Resources]) -> ShapeSplit | None:
        return None


class _Dimension:
    __slots__ = ("_counts", "_largest", "total")

    def __init__(self) -> None:
        self.total = 0
        #: Units by amount; never zero, so empty means that no unit names the dimension.
        self._counts: dict[int, int] = {}
        #: Of negative amounts: every amount counted is in it, and some that are no more.
        self._largest: list[int] = []

    def change(self, amount: int, by: int) -> bool:
        """True while any unit names the dimension."""
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

    __slots__ = ("_bytes", "_dimensions", "_need", "_profile", "_sizes", "key", "units")

    def __init__(self, key: NeedKey, profile: Profile, sizes: Units) -> None:
        self.key = key
        self._profile = profile
        self._sizes = sizes
        self._dimensions: dict[str, _Dimension] = {}
        #: How many units it stands for; a row with zero units is dropped.
        self.units = 0
        #: None: changed since they were last asked for.
        self._bytes: bytes | None = None
        self._need: Need | None = None

    def change(self, unit: Resources, by: int) -> None:
        """`by` units more, or less if negative; never less than there are."""
        self.forget()
        self.units += by
        for name, amount in unit.amounts:
            dimension = self._dimensions.get(name)
            if dimension is None:
                dimension = self._dimensions[name] = _Dimension()
            if not dimension.change(amount, by):
                del self._dimensions[name]

    def names(self) -> Iterable[str]:
        """Of the resources it asks for."""
        return self._dimensions

    def largest(self) -> Resources:
        """The largest amount of each resource that any unit asks for."""
        return _counted((name, d.most()) for name, d in sorted(self._dimensions.items()))

    def need(self) -> Need:
        """A sum beyond what a shard can count is sent as the most it can count.

        No fleet has that much either, and the exact sum would cost the cluster its whole roll-up.
        """
        if self._need is None:
            named = sorted(self._dimensions.items())
            self._need = Need(
                self.key.cluster,
                self._profile,
                _counted((name, d.total) for name, d in named),
                _counted(self._sizes.unit_of(self.largest()).amounts),
                group=self.key.group,
            )
        return self._need

    def forget(self) -> None:
        """It is summed and written anew when it is next asked for."""
        self._bytes = self._need = None

    def content(self) -> bytes:
        if self._bytes is None:
            self._bytes = need_row(self.need())
        return self._bytes


def _counted(amounts: Iterable[tuple[str, int]]) -> Resources:
    return Resources(tuple((name, min(LARGEST_OF_NEED, amount)) for name, amount in amounts))
