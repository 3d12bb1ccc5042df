"""The needs table: every cluster's last accepted demand, replaced whole.

A row that was already there keeps its first arrival, so that the order at equal priority does not
flip from one roll-up to the next. Replacing and freezing cost what changed; sorting, and starting
the tables anew when most of them is history, cost all rows: both work on what was frozen, so
another thread may do them. The sorted demand is kept until something changes.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from bigfleet.engine.demand import Demand, NeedColumns, NeedTables
from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Int32s, Int64s
from bigfleet.engine.vocabulary import ProfileColumns, descending_level
from bigfleet.model.journal import NeedTable
from bigfleet.model.needs import Need
from bigfleet.model.syntax import forget_texts

T = TypeVar("T")

#: The tables are rebuilt when they weigh this many times what the demand still uses, and so many
#: bytes beside; or when they have so many resource names more: each is a column of every vector.
_GARBAGE_FACTOR = 3
_GARBAGE_BYTES = 2**18
_GARBAGE_NAMES = 16


class FrozenNeeds:
    """The demand of one instant, not sorted yet; one thread at a time may ask it."""

    def __init__(
        self,
        blocks: Mapping[str, NeedColumns],
        tables: NeedTables,
        profiles: ProfileColumns,
        joining: "_JoinedBlocks",
    ) -> None:
        self.blocks = blocks
        self.tables = tables
        self._profiles = profiles
        self._joining = joining

    @cached_property
    def demand(self) -> Demand:
        if not self.blocks:
            nothing = block_of("", (), self.tables)
            return Demand(nothing, self.tables, self._profiles)
        columns = self._joining.joined(self.blocks)
        level = descending_level(self._profiles.priority)[columns.profile]
        order: Int64s = np.argsort(columns.arrival, kind="stable")
        order = order[np.argsort(level[order], kind="stable")]
        return Demand(columns.taken(order), self.tables, self._profiles)

    @cached_property
    def mostly_garbage(self) -> bool:
        """Tables only grow, with every amount, gang and profile that comes and goes."""
        tables, columns = self.tables, self.demand.columns
        if tables.weight <= _GARBAGE_BYTES and len(tables.vectors.names) <= _GARBAGE_NAMES:
            return False
        if tables.weight > _GARBAGE_FACTOR * tables.weight_of(columns) + _GARBAGE_BYTES:
            return True
        vectors = np.concatenate([columns.aggregate, columns.unit])
        names = tables.vectors.names_of(vectors)
        return len(tables.vectors.names) > len(names) + _GARBAGE_NAMES

    def renumbered(self) -> "Renumbered":
        """The same demand over tables that hold nothing else."""
        tables, old = NeedTables.empty(), self.tables
        after: dict[str, NeedColumns] = {}
        rows = list(self.blocks.values())
        if rows:
            whole = NeedColumns.joined(rows)
            vectors = np.concatenate([whole.aggregate, whole.unit])
            profiles = [old.profiles.rows[p] for p in np.unique(whole.profile).tolist()]
            profile = _numbers(whole.profile, [tables.profiles.number(p) for p in profiles])
            resources = [old.vectors.resources(v) for v in np.unique(vectors).tolist()]
            vector = _numbers(vectors, [tables.vectors.number(v) for v in resources])
            groups = [old.groups.rows[g] for g in np.unique(whole.group).tolist()]
            group = _numbers(whole.group, [tables.groups.number(g) for g in groups])
            names = list(self.blocks)
            cluster = np.array([tables.clusters.number(name) for name in names], np.int32)
            sizes = np.array([len(block) for block in rows])
            whole = replace(
                whole,
                cluster=np.repeat(cluster, sizes),
                profile=profile[whole.profile],
                aggregate=vector[whole.aggregate],
                unit=vector[whole.unit],
                group=group[whole.group],
            )
            ends = np.cumsum(sizes).tolist()
            for name, start, end in zip(names, [0, *ends], ends, strict=False):
                after[name] = whole.between(start, end)
        return Renumbered(self, after, tables)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What some demand needs words for."""

    #: Their fingerprints.
    profiles: frozenset[str]
    #: Of resources.
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Renumbered:
    before: FrozenNeeds
    blocks: Mapping[str, NeedColumns]
    tables: NeedTables


class NeedsTable:
    def __init__(self, lock: AbstractContextManager[object] | None = None) -> None:
        self._lock: AbstractContextManager[object] = lock or nullcontext()
        self._tables = NeedTables.empty()
        self._blocks: dict[str, NeedColumns] = {}
        self._rows = 0
        self._joining = _JoinedBlocks()
        self._frozen: FrozenNeeds | None = None

    def __len__(self) -> int:
        return self._rows

    @property
    def cluster_count(self) -> int:
        return len(self._blocks)

    @property
    def profile_count(self) -> int:
        """Distinct profiles, with some that are not asked for any more."""
        return len(self._tables.profiles)

    @property
    def name_count(self) -> int:
        """Distinct resource names, with some that are not asked for any more."""
        return len(self._tables.vectors.names)

    def vocabulary(self, chosen: Callable[[str], bool]) -> Vocabulary:
        """Exactly what the chosen clusters ask for; costs all their rows."""
        with self._lock:
            blocks = [block for name, block in self._blocks.items() if chosen(name)]
            if not blocks:
                return Vocabulary(frozenset(), frozenset())
            profiles = np.unique(np.concatenate([block.profile for block in blocks])).tolist()
            vectors = np.concatenate([v for b in blocks for v in (b.aggregate, b.unit)])
            rows, tables = self._tables.profiles.rows, self._tables
            return Vocabulary(
                frozenset([rows[number].fingerprint for number in profiles]),
                frozenset(tables.vectors.names_of(np.unique(vectors))),
            )

    def replace(self, cluster: str, needs: Sequence[Need]) -> None:
        """Make `needs` the cluster's whole demand; an empty list withdraws everything."""
        with self._lock:
            self._frozen = None
            before = self._blocks.pop(cluster, None)
            self._rows += len(needs) - (len(before) if before is not None else 0)
            if needs:
                block = block_of(cluster, needs, self._tables)
                if before is not None:
                    keep_arrivals(block, before)
                self._blocks[cluster] = block

    def replace_all(self, table: NeedTable) -> None:
        """Make these the whole demand of their clusters, with the arrivals they have."""
        with self._lock:
            self._frozen = None
            whole = _columns_of(table, self._tables)
            number = table.columns["cluster"]
            for place, cluster in enumerate(table.clusters):
                rows = np.flatnonzero(number == place)
                before = self._blocks.pop(cluster, None)
                self._rows += len(rows) - (len(before) if before is not None else 0)
                if len(rows):
                    self._blocks[cluster] = whole.taken(rows)

    def freeze(self) -> FrozenNeeds:
        with self._lock:
            return self._freeze()

    def snapshot(self) -> Demand:
        """Sorted here and now; a caller that may not wait freezes and sorts elsewhere."""
        with self._lock:
            frozen = self._freeze()
            if frozen.mostly_garbage:
                self._take_over(frozen.renumbered())
            return self._freeze().demand

    def take_over(self, renumbered: Renumbered) -> None:
        """Go on with the new tables, with the rows replaced since they were made."""
        with self._lock:
            self._take_over(renumbered)

    def _freeze(self) -> FrozenNeeds:
        if self._frozen is None:
            profiles = self._tables.profiles.columns()
            self._frozen = FrozenNeeds(dict(self._blocks), self._tables, profiles, self._joining)
        return self._frozen

    def _take_over(self, renumbered: Renumbered) -> None:
        before, tables = renumbered.before.blocks, renumbered.tables
        if renumbered.before.tables is not self._tables:
            return
        blocks: dict[str, NeedColumns] = {}
        for cluster, block in self._blocks.items():
            if before.get(cluster) is block:
                blocks[cluster] = renumbered.blocks[cluster]
            else:
                needs = Demand(block, self._tables).needs
                blocks[cluster] = block_of(cluster, needs, tables)
        self._tables, self._blocks = tables, blocks
        forget_texts()
        self._joining, self._frozen = _JoinedBlocks(), None


class _JoinedBlocks:
    """All blocks behind each other, by name of cluster; what did not change is not copied again.

    Belongs to the code that sorts: a result is valid until the next call.
    """

    def __init__(self) -> None:
        self._blocks: dict[str, NeedColumns] = {}
        self._starts: dict[str, int] = {}
        self._columns: NeedColumns | None = None

    def joined(self, blocks: Mapping[str, NeedColumns]) -> NeedColumns:
        known = self._blocks
        changed = [name for name, block in blocks.items() if known.get(name) is not block]
        fits = len(known) == len(blocks) and all(
            len(known.get(name, ())) == len(blocks[name]) for name in changed
        )
        if self._columns is None or not fits:
            return self._joined_anew(blocks)
        for name in changed:
            known[name] = blocks[name]
            self._columns.put(self._starts[name], blocks[name])
        return self._columns

    def _joined_anew(self, blocks: Mapping[str, NeedColumns]) -> NeedColumns:
        self._blocks = {name: blocks[name] for name in sorted(blocks)}
        self._starts, start = {}, 0
        for name, block in self._blocks.items():
            self._starts[name] = start
            start += len(block)
        self._columns = NeedColumns.joined(list(self._blocks.values()))
        return self._columns


def _numbers(used: Int32s, new: list[int]) -> Int32s:
    """New numbers by old one, given the new ones of the distinct old ones in order."""
    old = np.unique(used)
    numbers = np.zeros(int(old[-1]) + 1, np.int32)
    numbers[old] = new
    return numbers


def table_of(needs: FrozenNeeds, clusters: Sequence[str]) -> NeedTable:
    """All Needs of these clusters, over tables of what they use."""
    empty, tables = NeedColumns.joined([block_of("", (), needs.tables)]), needs.tables
    blocks = [needs.blocks.get(cluster, empty) for cluster in clusters]
    whole = NeedColumns.joined([empty, *blocks])
    used = {name: np.unique(getattr(whole, name)) for name in ("profile", "group")}
    vectors = np.unique(np.concatenate([whole.aggregate, whole.unit]))
    return NeedTable(
        clusters,
        [tables.profiles.rows[number] for number in used["profile"].tolist()],
        [tables.vectors.resources(number) for number in vectors.tolist()],
        [tables.groups.rows[number] for number in used["group"].tolist()],
        {
            "cluster": np.repeat(np.arange(len(blocks)), [len(block) for block in blocks]),
            "profile": np.searchsorted(used["profile"], whole.profile),
            "aggregate": np.searchsorted(vectors, whole.aggregate),
            "unit": np.searchsorted(vectors, whole.unit),
            "group": np.searchsorted(used["group"], whole.group),
            "arrival": whole.arrival,
            "parked": whole.parked,
        },
    )


def _columns_of(table: NeedTable, tables: NeedTables) -> NeedColumns:
    """The rows of a table over the tables given."""
    given = table.columns
    profile = _interned(tables.profiles.number, table.profiles)[given["profile"]]
    vector = _interned(tables.vectors.number, table.vectors)
    fingerprints = [each.fingerprint for each in table.profiles]
    pairs = zip(given["profile"].tolist(), given["group"].tolist(), strict=True)
    return NeedColumns(
        _interned(tables.clusters.number, table.clusters)[given["cluster"]],
        profile,
        vector[given["aggregate"]],
        vector[given["unit"]],
        given["arrival"].astype(np.int64),
        _interned(tables.groups.number, table.groups)[given["group"]],
        np.array([pair_of(fingerprints[p], table.groups[g]) for p, g in pairs], np.int64),
        given["parked"].astype(np.bool_),
    )


def _interned(number: Callable[[T], int], values: Sequence[T]) -> Int32s:
    return np.array([number(value) for value in values], np.int32)


def frozen_of(blocks: Mapping[str, NeedColumns], tables: NeedTables) -> FrozenNeeds:
    """The demand of these clusters, by name, over tables that hold all they use."""
    return FrozenNeeds(blocks, tables, tables.profiles.columns(), _JoinedBlocks())


def block_of(cluster: str, needs: Sequence[Need], tables: NeedTables) -> NeedColumns:
    profile, vector, group = tables.profiles.number, tables.vectors.number, tables.groups.number
    size = len(needs)
    return NeedColumns(
        np.full(size, tables.clusters.number(cluster) if size else 0, np.int32),
        np.array([profile(n.profile) for n in needs], np.int32),
        np.array([vector(n.aggregate) for n in needs], np.int32),
        np.array([vector(n.min_unit) for n in needs], np.int32),
        np.array([n.arrival_unix_nanos for n in needs], np.int64),
        np.array([group(n.group) for n in needs], np.int32),
        np.array([pair_of(n.profile.fingerprint, n.group) for n in needs], np.int64),
        np.array([n.parked for n in needs], np.bool_),
    )


def keep_arrivals(block: NeedColumns, before: NeedColumns) -> None:
    """Rows of `block` that were there before take over the arrival they had."""
    order = np.argsort(before.pair, kind="stable")
    at = np.searchsorted(before.pair[order], block.pair)
    found = np.flatnonzero(at < len(order))
    known = order[at[found]]
    same = before.pair[known] == block.pair[found]
    block.arrival[found[same]] = before.arrival[known[same]]
