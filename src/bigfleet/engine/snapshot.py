"""Snapshot: the machines of one instant, immutable, with the orders the engine walks."""

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property

import numpy as np

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.kernels.compiled import Floats, Int32s, Int64s
from bigfleet.engine.kinds import Attributes
from bigfleet.engine.vocabulary import Offerings, Stamps, Vectors, Words
from bigfleet.model.batches import Offering
from bigfleet.model.machines import MachineState

HIGHEST_PRIORITY = 2**31 - 1


class Tables:
    """The interned tables of one inventory; rows are appended, never changed."""

    def __init__(self) -> None:
        self.clusters = Words()
        self.providers = Words()
        self.sources = Words()
        self.node_names = Words()
        self.shapes = Vectors()
        self.offerings = Offerings(self.shapes)
        self.stamps = Stamps(self.clusters)
        self.attributes = Attributes(self.offerings, self.node_names)

    @property
    def rows(self) -> int:
        """Rows of the tables that grow with time and not with the fleet."""
        return len(self.offerings) + len(self.stamps) + len(self.node_names)


def keep_bucket_of_row(columns: MachineColumns) -> Int32s:
    """Twice the cluster, Configured before Configuring; -1 for a machine without a cluster."""
    bound = columns.cluster >= 0
    configured = (columns.state == int(MachineState.CONFIGURED)) & bound
    configuring = (columns.state == int(MachineState.CONFIGURING)) & bound
    bucket = np.where(configured, columns.cluster * 2, -1)
    return np.where(configuring, columns.cluster * 2 + 1, bucket).astype(np.int32)


def sorted_keep_rows(
    columns: MachineColumns, rows: Int64s, bucket: Int32s, price: Floats, penalty: Floats
) -> Int32s:
    """Rows in keep-priority order.

    Bucket, price ascending, reclamation penalty descending, busy before empty, id (U23).
    """
    price, penalty = price[columns.offering[rows]], penalty[columns.stamp[rows]]
    keys = (rows, columns.empty[rows], -penalty, price, bucket[rows])
    return rows[np.lexsort(keys)].astype(np.int32)


class Snapshot:
    def __init__(
        self, columns: MachineColumns, ids: list[str], keep_order: Int32s, tables: Tables
    ) -> None:
        self.columns = columns
        #: Ascending; position is the machine's row.
        self.ids = ids
        #: Bound machines by cluster, Configured before Configuring, each in keep-priority order.
        self.keep_order = keep_order
        self.tables = tables
        self.offerings = tables.offerings.columns()
        self.stamps = tables.stamps.columns()
        self.cluster_count = len(tables.clusters)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def keep_starts(self) -> Int32s:
        """Where bucket 2c (Configured of cluster c) and 2c+1 (Configuring) begin."""
        bound, state = self.columns.cluster[self.keep_order], self.columns.state[self.keep_order]
        bucket = 2 * bound + (state == int(MachineState.CONFIGURING))
        return np.searchsorted(bucket, np.arange(2 * self.cluster_count + 1)).astype(np.int32)

    def row_of(self, machine_id: str) -> int:
        """-1: there is no such machine."""
        at = bisect_left(self.ids, machine_id)
        return at if at < len(self.ids) and self.ids[at] == machine_id else -1

    def configured_of(self, cluster: str) -> int:
        """How many Configured machines a cluster has."""
        number = self.tables.clusters.find(cluster)
        if not 0 <= number < self.cluster_count:
            return 0
        return int(self.keep_starts[2 * number + 1] - self.keep_starts[2 * number])

    def count_of_cluster(self, cluster: str) -> int:
        """How many machines are bound to a cluster, in any state."""
        number = self.tables.clusters.find(cluster)
        return int(np.count_nonzero(self.columns.cluster == number)) if number >= 0 else 0

    def count(self, state: MachineState, cluster: str | None = None) -> int:
        chosen = self.columns.state == state
        if cluster is not None:
            chosen &= self.columns.cluster == self.tables.clusters.find(cluster)
        return int(np.count_nonzero(chosen))

    def list_by_state(self, state: MachineState) -> list[str]:
        """Ids ascending."""
        return self._ids_of(np.flatnonzero(self.columns.state == state))

    def list_by_state_instance_type(self, state: MachineState, instance_type: str) -> list[str]:
        """Price ascending, then id; a machine without instance type is in no bucket."""
        rows = self._rows_of_type(state, instance_type)
        price = self.offerings.price[self.columns.offering[rows]]
        return self._ids_of(rows[np.lexsort((rows, price))])

    def sorted_cluster_state_bucket(self, cluster: str, state: MachineState) -> list[str]:
        """A cluster's machines of one state in keep-priority order."""
        number = self.tables.clusters.find(cluster)
        rows = np.flatnonzero((self.columns.state == state) & (self.columns.cluster == number))
        price = self.offerings.price
        penalty = self.stamps.reclamation_penalty
        whole = np.zeros(len(self), np.int32)
        return self._ids_of(sorted_keep_rows(self.columns, rows, whole, price, penalty))

    def min_assigned_priority(self, state: MachineState, instance_type: str | None = None) -> int:
        """The lowest stamped priority among machines of a state; the highest number if none."""
        if instance_type is None:
            rows = np.flatnonzero(self.columns.state == state)
        else:
            rows = self._rows_of_type(state, instance_type)
        stamped = self.stamps.priority[self.columns.stamp[rows]]
        return int(stamped.min()) if len(stamped) else HIGHEST_PRIORITY

    def _rows_of_type(self, state: MachineState, instance_type: str) -> Int64s:
        offerings = self.tables.offerings.table.rows
        of_type = np.array([o.instance_type == instance_type for o in offerings], np.bool_)
        if not instance_type or not len(of_type):
            return np.zeros(0, np.int64)
        return np.flatnonzero((self.columns.state == state) & of_type[self.columns.offering])

    def _ids_of(self, rows: Int64s | Int32s) -> list[str]:
        return [self.ids[row] for row in rows]


def slots_of(snapshot: Snapshot, wanted: Callable[[Offering], bool]) -> dict[Offering, list[str]]:
    """Ids ascending, by what they offer."""
    rows_of_table = snapshot.tables.offerings.table.rows
    chosen = np.array([wanted(offering) for offering in rows_of_table], np.bool_)
    if not chosen.any():
        return {}
    columns = snapshot.columns
    speculative = columns.state == MachineState.SPECULATIVE
    found: dict[Offering, list[str]] = {}
    for row in np.flatnonzero(speculative & chosen[columns.offering]).tolist():
        found.setdefault(rows_of_table[columns.offering[row]], []).append(snapshot.ids[row])
    return found
