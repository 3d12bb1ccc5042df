"""Interned tables: what many rows share is stored once and named by a small number.

| table | row is | columns |
|---|---|---|
| Words | a text | - |
| Vectors | a resource vector without zeros | units by dimension |
| Offerings | what of a machine is not its life | price, probability, capacity type, shape |
| Stamps | what a machine was bound for | priority, penalties, cluster, need pair |

Rows are only ever appended, so a number stays valid for as long as its table lives.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Bools, Floats, Int8s, Int32s, Int64s
from bigfleet.model.batches import Offering
from bigfleet.model.machines import Assigned
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.quantities import LARGEST
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources

#: What an entry of a table weighs beside its text, roughly.
_ENTRY = 64

T = TypeVar("T", bound=Hashable)
S = TypeVar("S", bound=np.generic)


class Interned(Generic[T]):
    """Numbers for values in order of first sight."""

    def __init__(self) -> None:
        self.rows: list[T] = []
        self._number_of: dict[T, int] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def number(self, value: T) -> int:
        found = self._number_of.get(value)
        if found is None:
            found = len(self.rows)
            self._number_of[value] = found
            self.rows.append(value)
        return found

    def find(self, value: T) -> int:
        """The number of a value already seen, -1 of any other."""
        return self._number_of.get(value, -1)


class GrowingColumn:
    """A list of numbers that only grows; becomes a column when it is read."""

    def __init__(self) -> None:
        self._values: list[int] = []
        self._column: Int64s = np.zeros(0, np.int64)
        self.total = 0

    def append(self, value: int) -> None:
        self._values.append(value)
        self.total += value

    def column(self) -> Int64s:
        done = len(self._column)
        if done < len(self._values):
            self._column = np.append(self._column, np.array(self._values[done:], np.int64))
        return self._column


class Words(Interned[str]):
    pass


class WeighedWords(Words):
    """Words that come and go with clusters: how much text they are decides when they are sorted
    out."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = GrowingColumn()

    def number(self, value: str) -> int:
        found = self._number_of.get(value)
        if found is None:
            found = super().number(value)
            self.weights.append(len(value) + _ENTRY)
        return found


@dataclass(frozen=True, slots=True)
class ProfileColumns:
    """Columns over profiles: everything the engine asks of one besides what it matches."""

    priority: Int64s
    #: The precedence triple as one number that compares like it.
    precedence: Int64s
    #: Dollars of one interruption, may be infinite.
    penalty: Floats
    #: The same profile without its Same requirements; itself if it has none.
    stripped: Int32s
    is_gang: Bools
    is_pinned: Bools
    skew: Int64s
    fingerprint: Int64s

    @classmethod
    def empty(cls) -> "ProfileColumns":
        numbers, flags = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        dollars, rows = np.zeros(0, np.float64), np.zeros(0, np.int32)
        return cls(numbers, numbers, dollars, rows, flags, flags, numbers, numbers)

    def joined(self, fresh: list[Profile], stripped: list[int]) -> "ProfileColumns":
        strict = [p.strict_spread for p in fresh]
        pinned = [pins_instance_types(p.requirements) for p in fresh]
        penalty = [upper_bound_dollars(p.interruption_bucket) for p in fresh]
        return ProfileColumns(
            _longer(self.priority, [p.priority for p in fresh]),
            _longer(self.precedence, [packed_precedence(p.precedence) for p in fresh]),
            _longer(self.penalty, penalty),
            _longer(self.stripped, stripped),
            _longer(self.is_gang, [p.same is not None for p in fresh]),
            _longer(self.is_pinned, pinned),
            _longer(self.skew, [s.max_skew if s else 0 for s in strict]),
            _longer(self.fingerprint, [pair_of(p.fingerprint, "") for p in fresh]),
        )


def _longer(column: NDArray[S], values: Sequence[float]) -> NDArray[S]:
    return np.append(column, np.array(values, column.dtype))


def packed_precedence(precedence: tuple[int, int, int]) -> int:
    priority, interruption, reclamation = precedence
    return (priority * 64 + interruption) * 64 + reclamation


def descending_level(ranks: Int64s) -> NDArray[np.uint16] | Int64s:
    """Small numbers that sort like `ranks` descending: sixteen bits sort in linear time."""
    level = np.unique(-ranks, return_inverse=True)[1]
    return level.astype(np.uint16) if len(ranks) < 2**16 else level


class Profiles:
    """Profiles by fingerprint, which is cheaper to compare than the record."""

    def __init__(self) -> None:
        self.rows: list[Profile] = []
        self.stripped: list[int] = []
        self._number_of: dict[str, int] = {}
        self._columns = ProfileColumns.empty()
        self.weights = GrowingColumn()

    def __len__(self) -> int:
        return len(self.rows)

    def number(self, profile: Profile) -> int:
        found = self._number_of.get(profile.fingerprint)
        if found is None:
            found = self._number_of[profile.fingerprint] = len(self.rows)
            self.rows.append(profile)
            self.weights.append(len(profile.fingerprint) + _ENTRY)
            self.stripped.append(found)
            if profile.same is not None:
                self.stripped[found] = self.number(profile.without_same())
        return found

    def find(self, fingerprint: str) -> int:
        """-1: no such profile was seen."""
        return self._number_of.get(fingerprint, -1)

    def of_fingerprint(self, fingerprint: str) -> Profile | None:
        found = self.find(fingerprint)
        return None if found < 0 else self.rows[found]

    def columns(self) -> ProfileColumns:
        """Extended rather than rebuilt: clusters bring new profiles all the time."""
        done = len(self._columns.priority)
        if done < len(self.rows):
            self._columns = self._columns.joined(self.rows[done:], self.stripped[done:])
        return self._columns


def pins_instance_types(requirements: tuple[Requirement, ...]) -> bool:
    """Whether the first requirement on the instance type lists the types that will do."""
    first = next((r for r in requirements if r.key == INSTANCE_TYPE_KEY), None)
    return first is not None and first.operator is Operator.IN and bool(first.values)


class Vectors:
    """Resource vectors by value: two spellings of one vector are one row."""

    def __init__(self) -> None:
        self._table: Interned[tuple[tuple[str, int], ...]] = Interned()
        self._columns: Int64s = np.zeros((0, 0), np.int64)
        self._dimensions: tuple[str, ...] = ()
        #: Every dimension some vector has.
        self.names: set[str] = set()
        self.weights = GrowingColumn()
        #: The dimensions of each vector: few combinations, however many amounts.
        self._combinations: Interned[tuple[str, ...]] = Interned()
        self._combination_of = GrowingColumn()

    def __len__(self) -> int:
        return len(self._table)

    def number(self, vector: Resources) -> int:
        number = self._table.find(vector.amounts)
        if number >= 0:
            return number
        amounts = vector.positive().amounts
        number = self._table.find(amounts)
        if number < 0:
            number = self._table.number(amounts)
            names = tuple(name for name, _ in amounts)
            self.names.update(names)
            self.weights.append(_ENTRY * (1 + len(names)))
            self._combination_of.append(self._combinations.number(names))
        return number

    def names_of(self, numbers: Int64s | Int32s) -> set[str]:
        """Every dimension that one of these vectors has."""
        combinations = np.unique(self._combination_of.column()[numbers]).tolist()
        return {name for each in combinations for name in self._combinations.rows[each]}

    def resources(self, number: int) -> Resources:
        return Resources(self._table.rows[number])

    def amounts(self, number: int) -> tuple[tuple[str, int], ...]:
        return self._table.rows[number]

    def units(self, dimensions: tuple[str, ...]) -> Int64s:
        """The table as a matrix over `dimensions`, extended rather than rebuilt where possible.

        A vector of another dimension came after `dimensions` were gathered: its row is not read
        before they are gathered anew.
        """
        if dimensions != self._dimensions:
            self._dimensions = dimensions
            self._columns = np.zeros((0, len(dimensions)), np.int64)
        done = len(self._columns)
        if done < len(self._table):
            column = {name: i for i, name in enumerate(dimensions)}
            fresh = np.zeros((len(self._table) - done, len(dimensions)), np.int64)
            for i, row in enumerate(self._table.rows[done:]):
                for name, amount in row:
                    if name in column:
                        fresh[i, column[name]] = min(amount, LARGEST)
            self._columns = np.concatenate([self._columns, fresh])
        return self._columns


class Offerings:
    """Offerings with the columns the engine reads; `shape` numbers the effective allocatable."""

    def __init__(self, shapes: Vectors) -> None:
        self.table: Interned[Offering] = Interned()
        self._shapes = shapes
        self._shape: list[int] = []
        self._columns = OfferingColumns.empty()

    def __len__(self) -> int:
        return len(self.table)

    def number(self, offering: Offering) -> int:
        number = self.table.number(offering)
        if number == len(self._shape):
            capacity = offering.allocatable if offering.allocatable.amounts else offering.resources
            self._shape.append(self._shapes.number(capacity))
        return number

    def columns(self) -> "OfferingColumns":
        done = len(self._columns.price)
        if done < len(self):
            fresh = self.table.rows[done:]
            self._columns = self._columns.joined(fresh, self._shape[done:])
        return self._columns


@dataclass(frozen=True, slots=True)
class OfferingColumns:
    """Columns over offerings."""

    price: Floats
    probability: Floats
    capacity_type: Int8s
    shape: Int32s

    @classmethod
    def empty(cls) -> "OfferingColumns":
        none = np.zeros(0, np.float64)
        return cls(none, none, np.zeros(0, np.int8), np.zeros(0, np.int32))

    def taken(self, rows: Int32s | Int64s) -> "OfferingColumns":
        return OfferingColumns(
            self.price[rows], self.probability[rows], self.capacity_type[rows], self.shape[rows]
        )

    def joined(self, fresh: list[Offering], shapes: list[int]) -> "OfferingColumns":
        return OfferingColumns(
            np.append(self.price, [o.price_per_hour for o in fresh]),
            np.append(self.probability, [o.interruption_probability for o in fresh]),
            np.append(self.capacity_type, np.array([o.capacity_type for o in fresh], np.int8)),
            np.append(self.shape, np.array(shapes, np.int32)),
        )


class Stamps:
    """Stamps with the columns the engine reads; row 0 is the empty stamp."""

    def __init__(self, clusters: Words) -> None:
        self.table: Interned[Assigned] = Interned()
        self._clusters = clusters
        self._columns = StampColumns.empty()
        self.number(Assigned())

    def __len__(self) -> int:
        return len(self.table)

    def number(self, stamp: Assigned) -> int:
        return self.table.number(stamp)

    def columns(self) -> "StampColumns":
        done = len(self._columns.priority)
        if done < len(self):
            self._columns = self._columns.joined(self.table.rows[done:], self._clusters)
        return self._columns


@dataclass(frozen=True, slots=True)
class StampColumns:
    """Columns over stamps."""

    priority: Int32s
    interruption_penalty: Floats
    reclamation_penalty: Floats
    #: Row of the cluster Words, -1: no cluster named, fits any.
    cluster: Int32s
    #: The (fingerprint, group) it was stamped for, as in `identities`.
    pair: Int64s

    @classmethod
    def empty(cls) -> "StampColumns":
        numbers, dollars = np.zeros(0, np.int32), np.zeros(0, np.float64)
        return cls(numbers, dollars, dollars, numbers, np.zeros(0, np.int64))

    def joined(self, fresh: list[Assigned], clusters: Words) -> "StampColumns":
        cluster = [clusters.number(s.cluster) if s.cluster else -1 for s in fresh]
        pair = [pair_of(s.need_fingerprint, s.group) for s in fresh]
        return StampColumns(
            np.append(self.priority, np.array([s.priority for s in fresh], np.int32)),
            np.append(self.interruption_penalty, [s.interruption_penalty for s in fresh]),
            np.append(self.reclamation_penalty, [s.reclamation_penalty for s in fresh]),
            np.append(self.cluster, np.array(cluster, np.int32)),
            np.append(self.pair, np.array(pair, np.int64)),
        )
