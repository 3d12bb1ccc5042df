"""The needs table: every cluster's last accepted demand, replaced whole.

A row that was already there keeps its first arrival, so that the order at equal priority does not
flip from one roll-up to the next. The sorted demand is kept until something changes.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from bigfleet.engine.demand import Demand, NeedColumns, NeedTables
from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.vocabulary import priority_level
from bigfleet.model.needs import Need

#: The tables are rebuilt when they hold this many times what the demand still uses.
_GARBAGE_FACTOR = 4
_GARBAGE_FLOOR = 4096


class NeedsTable:
    def __init__(self, lock: AbstractContextManager[object] | None = None) -> None:
        self._lock: AbstractContextManager[object] = lock or nullcontext()
        self._tables = NeedTables.empty()
        self._blocks: dict[str, NeedColumns] = {}
        self._rows = 0
        self._demand: Demand | None = None

    def __len__(self) -> int:
        return self._rows

    @property
    def cluster_count(self) -> int:
        return len(self._blocks)

    def replace(self, cluster: str, needs: Sequence[Need]) -> None:
        """Make `needs` the cluster's whole demand; an empty list withdraws everything."""
        with self._lock:
            self._demand = None
            before = self._blocks.pop(cluster, None)
            self._rows += len(needs) - (len(before) if before is not None else 0)
            if needs:
                block = _block_of(cluster, needs, self._tables)
                if before is not None:
                    _keep_arrivals(block, before)
                self._blocks[cluster] = block
            self._drop_garbage()

    def snapshot(self) -> Demand:
        with self._lock:
            if self._demand is None:
                self._demand = self._sorted_demand()
            return self._demand

    def _sorted_demand(self) -> Demand:
        blocks = [self._blocks[cluster] for cluster in sorted(self._blocks)]
        if not blocks:
            return Demand(_block_of("", (), self._tables), self._tables)
        columns = NeedColumns.joined(blocks)
        level = priority_level(self._tables.profiles.columns().priority)[columns.profile]
        order: Int64s = np.argsort(columns.arrival, kind="stable")
        order = order[np.argsort(level[order], kind="stable")]
        return Demand(columns.taken(order), self._tables)

    def _drop_garbage(self) -> None:
        """Tables only grow; when most of them is history, start them anew from the live rows."""
        used = _GARBAGE_FACTOR * len(self) + _GARBAGE_FLOOR
        if max(len(self._tables.vectors), len(self._tables.groups)) <= used:
            return
        tables = NeedTables.empty()
        for cluster, block in self._blocks.items():
            needs = Demand(block, self._tables).needs
            self._blocks[cluster] = _block_of(cluster, needs, tables)
        self._tables = tables


def _block_of(cluster: str, needs: Sequence[Need], tables: NeedTables) -> NeedColumns:
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


def _keep_arrivals(block: NeedColumns, before: NeedColumns) -> None:
    """Rows of `block` that were there before take over the arrival they had."""
    order = np.argsort(before.pair, kind="stable")
    at = np.searchsorted(before.pair[order], block.pair)
    found = np.flatnonzero(at < len(order))
    known = order[at[found]]
    same = before.pair[known] == block.pair[found]
    block.arrival[found[same]] = before.arrival[known[same]]
