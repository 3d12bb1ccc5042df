"""Demand: the Needs of one instant as columns, in the order the engine considers them.

| column | dtype | meaning |
|---|---|---|
| cluster | int32 | row of `clusters` |
| profile | int32 | row of `profiles` |
| aggregate, unit | int32 | row of `vectors` |
| arrival | int64 | nanoseconds, 0 unknown |
| group | int32 | row of `groups` |
| pair | int64 | (fingerprint, group) as in `identities` |
| parked | bool | told to acquire nothing |

Index space: NeedRow. Order: priority descending, arrival ascending, cluster, the cluster's own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.vocabulary import ProfileColumns, Profiles, Vectors, WeighedWords, Words
from bigfleet.model.needs import Need


@dataclass(frozen=True, slots=True)
class NeedColumns:
    cluster: Int32s
    profile: Int32s
    aggregate: Int32s
    unit: Int32s
    arrival: Int64s
    group: Int32s
    pair: Int64s
    parked: Bools

    def __len__(self) -> int:
        return len(self.cluster)

    def taken(self, rows: Int64s) -> "NeedColumns":
        return NeedColumns(*(getattr(self, f.name)[rows] for f in fields(self)))

    def between(self, start: int, end: int) -> "NeedColumns":
        return NeedColumns(*(getattr(self, f.name)[start:end] for f in fields(self)))

    def put(self, start: int, block: "NeedColumns") -> None:
        """Write the block over the rows from `start` on."""
        for f in fields(self):
            getattr(self, f.name)[start : start + len(block)] = getattr(block, f.name)

    @staticmethod
    def joined(blocks: Sequence["NeedColumns"]) -> "NeedColumns":
        return NeedColumns(
            *(np.concatenate([getattr(b, f.name) for b in blocks]) for f in fields(NeedColumns))
        )


@dataclass(frozen=True, slots=True)
class NeedTables:
    """The interned tables of one needs table; rows are appended, never changed."""

    clusters: Words
    profiles: Profiles
    vectors: Vectors
    groups: WeighedWords

    @classmethod
    def empty(cls) -> "NeedTables":
        return cls(Words(), Profiles(), Vectors(), WeighedWords())

    @property
    def weight(self) -> int:
        """Roughly the bytes of all entries, of use or not."""
        return self.profiles.weights.total + self.vectors.weights.total + self.groups.weights.total

    def weight_of(self, columns: NeedColumns) -> int:
        """Roughly the bytes of the entries these Needs use."""
        vectors = np.concatenate([columns.aggregate, columns.unit])
        return (
            _weight(self.profiles.weights.column(), columns.profile)
            + _weight(self.vectors.weights.column(), vectors)
            + _weight(self.groups.weights.column(), columns.group)
        )


def _weight(weights: Int64s, numbers: Int32s) -> int:
    used = np.zeros(len(weights), np.bool_)
    used[numbers] = True
    return int(weights[used].sum())


class Demand(Sequence[Need]):
    """Immutable; reads as a sequence of Need records made on demand."""

    def __init__(
        self, columns: NeedColumns, tables: NeedTables, profiles: ProfileColumns | None = None
    ) -> None:
        """`profiles`: as they were when the columns were, where the tables may have grown since."""
        self.columns = columns
        self.tables = tables
        self.profiles = tables.profiles.columns() if profiles is None else profiles

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Need]:
        return (self.need(row) for row in range(len(self)))

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return [self.need(r) for r in range(*row.indices(len(self)))]
        return self.need(range(len(self))[row])

    @property
    def needs(self) -> list[Need]:
        return list(self)

    def need(self, row: int) -> Need:
        columns, tables = self.columns, self.tables
        return Need(
            cluster=tables.clusters.rows[columns.cluster[row]],
            profile=tables.profiles.rows[columns.profile[row]],
            aggregate=tables.vectors.resources(int(columns.aggregate[row])),
            min_unit=tables.vectors.resources(int(columns.unit[row])),
            arrival_unix_nanos=int(columns.arrival[row]),
            group=tables.groups.rows[columns.group[row]],
            parked=bool(columns.parked[row]),
        )
