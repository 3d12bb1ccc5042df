"""The inventory: every machine of the shard, as columns, behind records at the edge.

Keeps two promises: a record that breaks an invariant or makes an impossible step is refused and the
last good one stays; and a snapshot costs what changed since the last one, because the orders are
kept rather than sorted anew and a spent snapshot's memory is caught up instead of copied.

One owner writes; where several threads may call, pass a lock. New ids wait in a side table until
the next snapshot, since a new row shifts the rows behind it.
"""

import weakref
from bisect import bisect_left
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import numpy as np

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.kernels.compiled import Int32s, Int64s
from bigfleet.engine.kernels.orders import merge_keep_order
from bigfleet.engine.snapshot import Snapshot, Tables, keep_bucket_of_row, sorted_keep_rows
from bigfleet.model.batches import NEVER, MachineBatch, Offering
from bigfleet.model.errors import DuplicateMachine, InvalidMachine, NoSuchMachine
from bigfleet.model.fleet import Held, HeldBy, Marks
from bigfleet.model.machines import (
    CapacityType,
    Host,
    Instant,
    Machine,
    MachineState,
    why_invalid,
)
from bigfleet.model.transitions import check_transition

T = TypeVar("T")

_HELD_BY = tuple(HeldBy)
_HOSTED = frozenset(
    {
        MachineState.IDLE,
        MachineState.CONFIGURING,
        MachineState.CONFIGURED,
        MachineState.DRAINING,
        MachineState.DELETING,
    }
)
#: Snapshots after which the log of changes starts anew, at the price of one full copy.
_LONGEST_LOG = 1024
#: Rows of interned tables below which nobody cares what is garbage.
_FEW_ROWS = 4096
#: One row of columns before it has a place among the others.
_Row = tuple[int, int, int, int, int, int, int, bool]


class Inventory:
    def __init__(self, lock: AbstractContextManager[object] | None = None) -> None:
        self._lock: AbstractContextManager[object] = lock or nullcontext()
        self.tables = Tables()
        #: Ascending; the position of an id is its row.
        self._ids: list[str] = []
        self._live = MachineColumns.empty()
        self._waiting: dict[str, _Row] = {}
        #: Only what differs from `provider/<id>`; and only of Failed machines.
        self._host_refs: dict[str, str] = {}
        self._errors: dict[str, str] = {}
        self._held_until: dict[str, Instant] = {}
        self._keep_order: Int32s = np.zeros(0, np.int32)
        self._dirty: set[int] = set()
        self._current: Snapshot | None = None
        #: Rows changed in each snapshot since rows last shifted, oldest first.
        self._changed_in: list[set[int]] = []
        self._generation = 0
        self._most_rows = _FEW_ROWS
        #: Columns of a snapshot nobody holds any more, how much of the log they have seen, and of
        #: which generation they are: they may be offered by any thread at any moment.
        self._spare: tuple[MachineColumns, int, int] | None = None

    def __len__(self) -> int:
        return len(self._ids) + len(self._waiting)

    def __contains__(self, machine_id: str) -> bool:
        return machine_id in self._waiting or self._row(machine_id) >= 0

    def nbytes(self) -> int:
        """Bytes held by columns and orders, ids apart."""
        return self._live.nbytes() + self._keep_order.nbytes

    def insert(self, machine: Machine, marks: Marks | None = None) -> None:
        """Add a machine; refused if its id is known or its record breaks an invariant."""
        with self._lock:
            if machine.id in self:
                raise DuplicateMachine(f"machine {machine.id} is already in the inventory")
            self._check(machine)
            self._waiting[machine.id] = self._encode(machine, marks or Marks())

    def load(self, batch: MachineBatch) -> None:
        """Add a whole batch of new machines; its ids must be unknown and distinct."""
        with self._lock:
            self._place_waiting()
            known = set(self._ids)
            ids = list(batch.ids)
            if len(set(ids)) != len(ids) or not known.isdisjoint(ids):
                raise DuplicateMachine("the batch holds an id twice or one that is already known")
            self._join(ids, self._encode_batch(batch))

    def apply(
        self, machine: Machine, *, now: Instant | None = None, recovery: bool = False
    ) -> None:
        """Replace the record of a known machine, if its state may follow the one before."""
        with self._lock:
            self._place_waiting()
            row = self._known_row(machine.id)
            self._check(machine)
            before = MachineState(int(self._live.state[row]))
            check_transition(machine.id, before, machine.state, recovery=recovery)
            since = int(self._live.idle_since[row])
            if machine.state is not MachineState.IDLE:
                since = NEVER
            elif before is not MachineState.IDLE:
                since = NEVER if now is None else now
            stays = before is machine.state
            held = self._held(machine.id, row) if stays else None
            overdue = stays and bool(self._live.overdue[row])
            marks = Marks(None if since == NEVER else since, held, overdue)
            self._write(row, self._encode(machine, marks))

    def mark(self, machine_id: str, marks: Marks) -> None:
        """Replace what the shard knows of a machine beside its record."""
        with self._lock:
            self._place_waiting()
            row = self._known_row(machine_id)
            self._write(row, self._encode(self._decode(machine_id, row), marks))

    def remove(self, machine_id: str) -> None:
        with self._lock:
            self._place_waiting()
            row = self._known_row(machine_id)
            self._host_refs.pop(machine_id, None)
            self._errors.pop(machine_id, None)
            self._held_until.pop(machine_id, None)
            keep = np.delete(np.arange(len(self._ids)), row)
            self._ids = self._ids[:row] + self._ids[row + 1 :]
            order = self._keep_order[self._keep_order != row]
            self._keep_order = order - (order > row).astype(np.int32)
            self._live = self._live.taken(keep)
            self._dirty = {d - (d > row) for d in self._dirty if d != row}
            self._moved()

    def machine_of(self, machine_id: str) -> Machine:
        with self._lock:
            self._place_waiting()
            return self._decode(machine_id, self._known_row(machine_id))

    def marks_of(self, machine_id: str) -> Marks:
        with self._lock:
            self._place_waiting()
            row = self._known_row(machine_id)
            since = int(self._live.idle_since[row])
            return Marks(
                None if since == NEVER else since,
                self._held(machine_id, row),
                bool(self._live.overdue[row]),
            )

    def snapshot(self) -> Snapshot:
        """The machines as they are now; never changes afterwards."""
        with self._lock:
            self._place_waiting()
            if self._current is not None and not self._dirty:
                return self._current
            self._drop_garbage()
            self._refresh_keep_order()
            if self._current is not None:
                self._changed_in.append(self._dirty)
            if len(self._changed_in) > _LONGEST_LOG:
                self._moved()
            self._dirty = set()
            self._current = None
            snapshot = Snapshot(self._caught_up_columns(), self._ids, self._keep_order, self.tables)
            self._recycle_when_dropped(snapshot)
            self._current = snapshot
            return snapshot

    # -- rows ------------------------------------------------------------------------------------

    def _row(self, machine_id: str) -> int:
        at = bisect_left(self._ids, machine_id)
        return at if at < len(self._ids) and self._ids[at] == machine_id else -1

    def _known_row(self, machine_id: str) -> int:
        row = self._row(machine_id)
        if row < 0:
            raise NoSuchMachine(f"no machine {machine_id} in the inventory")
        return row

    def _check(self, machine: Machine) -> None:
        problem = why_invalid(machine)
        if problem is not None:
            raise InvalidMachine(f"machine {machine.id}: {problem[0]}: {problem[1]}")

    def _held(self, machine_id: str, row: int) -> Held | None:
        by = int(self._live.held[row])
        return Held(_HELD_BY[by - 1], self._held_until.get(machine_id)) if by else None

    def _encode(self, machine: Machine, marks: Marks) -> _Row:
        tables = self.tables
        offering = Offering(
            machine.capacity_type,
            machine.instance_type,
            machine.zone,
            tuple(sorted(machine.labels.items())),
            machine.resources,
            machine.allocatable,
            machine.price_per_hour,
            machine.interruption_probability,
        )
        self._keep_beside(machine, marks)
        is_idle = machine.state is MachineState.IDLE
        since = marks.idle_since if is_idle and marks.idle_since is not None else NEVER
        return (
            int(machine.state),
            tables.offerings.number(offering),
            tables.clusters.number(machine.cluster) if machine.cluster else -1,
            tables.stamps.number(machine.assigned),
            -1 if machine.host.empty else tables.providers.number(machine.host.provider),
            since,
            _HELD_BY.index(marks.held.by) + 1 if marks.held else 0,
            marks.overdue,
        )

    def _keep_beside(self, machine: Machine, marks: Marks) -> None:
        until = marks.held.until if marks.held else None
        ref = None if machine.host.ref == machine.id else machine.host.ref
        _put(self._host_refs, machine.id, ref)
        _put(self._errors, machine.id, machine.last_error or None)
        _put(self._held_until, machine.id, until)

    def _decode(self, machine_id: str, row: int) -> Machine:
        tables, live = self.tables, self._live
        offering = tables.offerings.table.rows[int(live.offering[row])]
        cluster, provider = int(live.cluster[row]), int(live.provider[row])
        host = Host()
        if provider >= 0:
            ref = self._host_refs.get(machine_id, machine_id)
            host = Host(tables.providers.rows[provider], ref)
        return Machine(
            id=machine_id,
            state=MachineState(int(live.state[row])),
            capacity_type=CapacityType(offering.capacity_type),
            host=host,
            cluster=tables.clusters.rows[cluster] if cluster >= 0 else "",
            instance_type=offering.instance_type,
            zone=offering.zone,
            labels=dict(offering.labels),
            resources=offering.resources,
            allocatable=offering.allocatable,
            price_per_hour=offering.price_per_hour,
            interruption_probability=offering.interruption_probability,
            last_error=self._errors.get(machine_id, ""),
            assigned=tables.stamps.table.rows[int(live.stamp[row])],
        )

    def _write(self, row: int, values: _Row) -> None:
        for (_, array), value in zip(self._live.arrays(), values, strict=True):
            array[row] = value
        self._dirty.add(row)

    # -- bulk ------------------------------------------------------------------------------------

    def _encode_batch(self, batch: MachineBatch) -> MachineColumns:
        tables = self.tables
        offering = np.array([tables.offerings.number(o) for o in batch.offerings], np.int32)
        cluster = np.array([tables.clusters.number(c) for c in batch.clusters] + [-1], np.int32)
        stamp = np.array([tables.stamps.number(s) for s in batch.stamps] + [0], np.int32)
        hosted = np.isin(batch.state_of_machine, [int(s) for s in _HOSTED])
        provider = np.where(hosted, tables.providers.number(batch.provider), -1).astype(np.int32)
        size = len(batch.ids)
        return MachineColumns(
            batch.state_of_machine.astype(np.int8),
            offering[batch.offering_of_machine],
            cluster[batch.cluster_of_machine],
            stamp[batch.stamp_of_machine],
            provider,
            batch.idle_since_of_machine.astype(np.int64),
            np.zeros(size, np.int8),
            np.zeros(size, np.bool_),
        )

    def _place_waiting(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        self._join(list(waiting), _columns_of(waiting.values()))

    def _join(self, ids: list[str], columns: MachineColumns) -> None:
        """Give new machines their rows; all others keep their order."""
        before = len(self._ids)
        ids = self._ids + ids
        place = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        row_of_place: Int64s = np.empty(len(place), np.int64)
        row_of_place[place] = np.arange(len(place))
        self._ids = [ids[p] for p in place]
        self._live = self._live.joined(columns).taken(place)
        self._keep_order = row_of_place[self._keep_order].astype(np.int32)
        moved = {int(row_of_place[d]) for d in self._dirty}
        self._dirty = moved | set(row_of_place[before:].tolist())
        self._moved()

    def _moved(self) -> None:
        """Rows have shifted: no older copy of the columns can be caught up any more."""
        self._spare = None
        self._current = None
        self._changed_in = []
        self._generation += 1

    def _drop_garbage(self) -> None:
        """Tables only grow, with every price that moves and every gang that comes and goes.

        When they have doubled since the last time, they start anew from what machines still use;
        snapshots taken before keep the tables they know.
        """
        if len(self.tables.offerings) + len(self.tables.stamps) <= self._most_rows:
            return
        before, live = self.tables, self._live
        self.tables = Tables()
        for cluster in before.clusters.rows:  # clusters and providers keep their numbers
            self.tables.clusters.number(cluster)
        for provider in before.providers.rows:
            self.tables.providers.number(provider)
        used, number = np.unique(live.offering, return_inverse=True)
        again = [self.tables.offerings.number(before.offerings.table.rows[o]) for o in used]
        live.offering = np.array(again, np.int32)[number]
        used, number = np.unique(live.stamp, return_inverse=True)
        again = [self.tables.stamps.number(before.stamps.table.rows[s]) for s in used]
        live.stamp = np.array(again, np.int32)[number]
        self._most_rows = 2 * (len(self.tables.offerings) + len(self.tables.stamps)) + _FEW_ROWS
        self._moved()

    def _refresh_keep_order(self) -> None:
        live, tables = self._live, self.tables
        bucket = keep_bucket_of_row(live)
        rows = np.fromiter(self._dirty, np.int64, len(self._dirty))
        dirty = np.zeros(len(live), np.bool_)
        dirty[rows] = True
        price = tables.offerings.columns().price
        penalty = tables.stamps.columns().reclamation_penalty
        fresh = sorted_keep_rows(live, rows[bucket[rows] >= 0], bucket, price, penalty)
        self._keep_order = merge_keep_order(
            self._keep_order, dirty, fresh, bucket, live.offering, live.stamp, price, penalty
        )

    def _caught_up_columns(self) -> MachineColumns:
        """A private copy of the live columns, made from a spent snapshot's where there is one."""
        spare, self._spare = self._spare, None
        if spare is None or spare[2] != self._generation:
            return self._live.copy()
        columns, version, _ = spare
        lag: set[int] = set().union(*self._changed_in[version:])
        columns.catch_up(self._live, np.fromiter(lag, np.int64, len(lag)))
        return columns

    def _recycle_when_dropped(self, snapshot: Snapshot) -> None:
        """Once nobody holds the snapshot, its columns may be caught up and used again."""
        owner, columns = weakref.ref(self), snapshot.columns
        version, generation = len(self._changed_in), self._generation

        def offer() -> None:
            inventory = owner()
            if inventory is not None:
                inventory._spare = (columns, version, generation)

        weakref.finalize(snapshot, offer)


def _put(sidecar: dict[str, T], machine_id: str, value: T | None) -> None:
    if value is None:
        sidecar.pop(machine_id, None)
    else:
        sidecar[machine_id] = value


def _columns_of(rows: Iterable[_Row]) -> MachineColumns:
    state, offering, cluster, stamp, provider, since, held, overdue = zip(*rows, strict=True)
    return MachineColumns(
        np.array(state, np.int8),
        np.array(offering, np.int32),
        np.array(cluster, np.int32),
        np.array(stamp, np.int32),
        np.array(provider, np.int32),
        np.array(since, np.int64),
        np.array(held, np.int8),
        np.array(overdue, np.bool_),
    )
