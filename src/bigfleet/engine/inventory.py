"""The inventory: every machine of the shard, as columns, behind records at the edge.

Keeps two promises: a record that breaks an invariant or makes an impossible step is refused and the
last good one stays; and a snapshot costs what changed since the last one, because the orders are
kept rather than sorted anew and a spent snapshot's memory is caught up instead of copied.

One owner writes; where several threads may call, pass a lock. New ids wait in a side table until
the next snapshot, since a new row shifts the rows behind it.
"""

import weakref
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import compress

import numpy as np

from bigfleet.engine.adoption import AdoptedBatch, adopted_columns, as_new, fields_changed, steps_of
from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.encoding import (
    HELD_BY,
    Row,
    columns_and_tables,
    columns_of,
    decoded,
    decoded_marks,
    encoded,
    encoded_batch,
    refs_of,
    renumbered,
)
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.kernels.orders import merge_keep_order
from bigfleet.engine.snapshot import Snapshot, Tables, keep_bucket_of_row, sorted_keep_rows
from bigfleet.engine.texts import TextColumn, put_or_drop
from bigfleet.model.batches import NEVER, MachineBatch, Offering, Texts
from bigfleet.model.errors import DuplicateMachine, InvalidMachine, NoSuchMachine
from bigfleet.model.fleet import Held, HeldBy, Marks
from bigfleet.model.journal import MachineTable
from bigfleet.model.machines import (
    Instant,
    Machine,
    MachineState,
    check_transition,
    why_invalid,
)

#: Snapshots after which the log of changes starts anew, at the price of one full copy.
_LONGEST_LOG = 1024
#: Rows of interned tables below which garbage is not worth collecting.
_FEW_ROWS = 4096
#: A batch at least this part of the fleet is looked up by a table made for it.
_TABLE_FROM = 1 / 16


class Inventory:
    def __init__(self, lock: AbstractContextManager[object] | None = None) -> None:
        self._lock: AbstractContextManager[object] = lock or nullcontext()
        self.tables = Tables()
        #: Ascending; the position of an id is its row.
        self._ids: list[str] = []
        self._live = MachineColumns.no_rows()
        self._waiting: dict[str, Row] = {}
        #: Beside the rows; no decision reads them.
        self._host_refs = TextColumn()
        self._waiting_refs: dict[str, str] = {}
        #: Only of Failed machines.
        self._errors: dict[str, str] = {}
        self._held_until: dict[str, Instant] = {}
        #: By cluster, the ids whose `empty` is set; a cluster without any is left out.
        self._empty_of: dict[str, set[str]] = {}
        self._keep_order: Int32s = np.zeros(0, np.int32)
        self._dirty: set[int] = set()
        self._current: Snapshot | None = None
        #: Rows changed in each snapshot since rows last shifted, oldest first.
        self._changed_in: list[set[int]] = []
        self._generation = 0
        self._most_rows = _FEW_ROWS
        #: Columns of a snapshot not in use any more, how much of the log they have seen, and of
        #: which generation they are: they may be offered by any thread at any moment.
        self._spare: tuple[MachineColumns, int, int] | None = None

    @classmethod
    def of_table(cls, table: MachineTable) -> "Inventory":
        """Of machines that were an inventory's before; hosts have the names of their machines."""
        inventory = cls()
        columns, inventory.tables = columns_and_tables(table)
        for row in np.flatnonzero(columns.empty).tolist():
            cluster = table.clusters[columns.cluster[row]]
            inventory._empty_of.setdefault(cluster, set()).add(table.ids[row])
        inventory._join(table.ids, columns, Texts.of(table.ids))
        return inventory

    def __len__(self) -> int:
        return len(self._ids) + len(self._waiting)

    def __contains__(self, machine_id: str) -> bool:
        return machine_id in self._waiting or self._row(machine_id) >= 0

    def nbytes(self) -> int:
        """Bytes held by columns and orders, ids apart."""
        return self._live.nbytes() + self._keep_order.nbytes + self._host_refs.nbytes()

    def insert(self, machine: Machine, marks: Marks | None = None, *, source: str = "") -> None:
        """Add a machine; refused if its id is known or its record breaks an invariant."""
        with self._lock:
            if machine.id in self:
                raise DuplicateMachine(f"machine {machine.id} is already in the inventory")
            self._check(machine)
            number = self.tables.sources.number(source) if source else -1
            self._waiting[machine.id] = self._encode(machine, marks or Marks(), number)
            self._waiting_refs[machine.id] = machine.host.ref

    def load(self, batch: MachineBatch, *, source: str = "") -> None:
        """Add a whole batch of new machines; its ids must be unknown and distinct."""
        with self._lock:
            self._place_waiting()
            known = set(self._ids)
            ids = list(batch.ids)
            if len(set(ids)) != len(ids) or not known.isdisjoint(ids):
                raise DuplicateMachine("the batch holds an id twice or one that is already known")
            number = self.tables.sources.number(source) if source else -1
            self._add(batch, encoded_batch(self.tables, batch, number))

    def adopt(
        self,
        batch: MachineBatch,
        *,
        source: str,
        now: Instant | None = None,
        busy: Bools | None = None,
    ) -> AdoptedBatch:
        """Take over what a provider lists: new machines, and what differs in known ones.

        `busy` machines keep their state. An id another source brought is left alone. A batch with
        a machine that breaks an invariant is refused whole: the caller sets such machines apart.
        """
        with self._lock:
            self._place_waiting()
            if not batch.sound().all():
                raise InvalidMachine("the batch holds a machine that breaks an invariant")
            if len(set(batch.ids)) != len(batch):
                raise DuplicateMachine("the batch holds an id twice")
            number = self.tables.sources.number(source)
            rows = self._rows_of(batch.ids)
            known = rows >= 0
            ours = known.copy()
            ours[known] = np.isin(self._live.source[rows[known]], (-1, number))
            columns = encoded_batch(self.tables, batch, number)
            told = self._refresh(batch, columns, rows, ours, busy, now)
            fresh = batch.taken(~known)
            self._add(fresh, as_new(columns.taken(np.flatnonzero(~known)), now))
            foreign = np.flatnonzero(known & ~ours).tolist()
            return replace(
                told, new=tuple(fresh.ids), foreign=tuple(batch.ids[at] for at in foreign)
            )

    def apply(
        self,
        machine: Machine,
        *,
        now: Instant | None = None,
        recovery: bool = False,
        adopted: bool = False,
    ) -> None:
        """Replace the record of a known machine, if its state may follow the one before.

        What is adopted from a provider is a fact, from any state before.
        """
        with self._lock:
            self._place_waiting()
            row = self._known_row(machine.id)
            self._check(machine)
            before = MachineState(int(self._live.state[row]))
            if not adopted:
                check_transition(machine.id, before, machine.state, recovery=recovery)
            since = int(self._live.idle_since[row])
            if machine.state is not MachineState.IDLE:
                since = NEVER
            elif before is not MachineState.IDLE:
                since = NEVER if now is None else now
            stays = before is machine.state
            held = self._held(machine.id, row) if stays else None
            overdue = stays and bool(self._live.overdue[row])
            empty = stays and bool(self._live.empty[row]) and self._cluster(row) == machine.cluster
            marks = Marks(None if since == NEVER else since, held, overdue, empty)
            self._forget_empty([row])
            self._write(row, self._encode(machine, marks, int(self._live.source[row])))
            self._host_refs.write(np.array([row]), Texts.of([machine.host.ref]))

    def mark(self, machine_id: str, marks: Marks) -> None:
        """Replace what the shard knows of a machine beside its record."""
        with self._lock:
            self._place_waiting()
            row = self._known_row(machine_id)
            machine, source = self._decode(machine_id, row), int(self._live.source[row])
            self._forget_empty([row])
            self._write(row, self._encode(machine, marks, source))

    def hold_all(self, machine_ids: Sequence[str], held: Held) -> None:
        """Hold those of these Idle and Speculative machines that are not held yet."""
        with self._lock:
            self._place_waiting()
            rows = self._rows_of(machine_ids)
            rows = rows[rows >= 0]
            free = np.isin(self._live.state[rows], (MachineState.IDLE, MachineState.SPECULATIVE))
            self._hold_rows(rows[free & (self._live.held[rows] == 0)], held)

    def lift_all(self, machine_ids: Sequence[str], by: HeldBy) -> None:
        """Let go of those of these machines that are held for this reason."""
        with self._lock:
            self._place_waiting()
            rows = self._rows_of(machine_ids)
            rows = rows[rows >= 0]
            self._hold_rows(rows[self._live.held[rows] == HELD_BY.index(by) + 1], None)

    def report_empty(self, cluster: str, machine_ids: Collection[str]) -> None:
        """Of this cluster's Configured machines these run nothing, and no others.

        Costs what changed since the last report of the cluster. An id that is unknown, not
        Configured or another cluster's is left alone; a mark ends when its machine leaves
        Configured or its cluster.
        """
        with self._lock:
            self._place_waiting()
            told = self._empty_of.get(cluster, set())
            gone, fresh = told.difference(machine_ids), set(machine_ids) - told
            rows = self._rows_of(list(gone))
            self._forget_empty(rows.tolist())
            self._live.empty[rows] = False
            self._dirty.update(rows.tolist())
            rows = self._configured_rows(cluster, list(fresh))
            self._live.empty[rows] = True
            self._dirty.update(rows.tolist())
            if len(rows):
                ids = self._empty_of.setdefault(cluster, set())
                ids.update(self._ids[row] for row in rows.tolist())

    def configured_for(self, cluster: str, machine_ids: Sequence[str]) -> list[str]:
        """Those of these machines that are Configured for the cluster."""
        with self._lock:
            self._place_waiting()
            return [self._ids[row] for row in self._configured_rows(cluster, machine_ids).tolist()]

    def hold_rows(self, snapshot: Snapshot, rows: Int64s, held: Held | None) -> None:
        """Hold or let go of rows of a snapshot since which no machine came or went."""
        with self._lock:
            self._place_waiting()
            assert snapshot.ids is self._ids, "the rows of that snapshot have shifted since"
            self._hold_rows(rows, held)

    def remove(self, machine_id: str) -> None:
        self.remove_all((machine_id,))

    def remove_all(self, machine_ids: Sequence[str]) -> None:
        """Remove distinct machines in one pass; if one is unknown, nothing is removed."""
        with self._lock:
            self._place_waiting()
            rows = self._rows_of(machine_ids)
            if len(rows) and rows.min() < 0:
                unknown = machine_ids[int(rows.argmin())]
                raise NoSuchMachine(f"no machine {unknown} in the inventory")
            self._forget_empty(rows.tolist())
            stays = np.ones(len(self._ids), np.bool_)
            stays[rows] = False
            row_after = np.cumsum(stays, dtype=np.int32) - 1
            keep = np.flatnonzero(stays)
            self._ids = list(compress(self._ids, stays.tolist()))
            order = self._keep_order
            self._keep_order = row_after[order[stays[order]]]
            self._live = self._live.taken(keep)
            self._host_refs.take(keep)
            self._dirty = {int(row_after[d]) for d in self._dirty if stays[d]}
            for machine_id in machine_ids:
                self._errors.pop(machine_id, None)
                self._held_until.pop(machine_id, None)
            self._moved()

    def stays(self, batch: MachineBatch) -> tuple[Bools, Bools]:
        """Which machines of a batch are known, and which would keep their state and cluster."""
        with self._lock:
            self._place_waiting()
            rows = self._rows_of(batch.ids)
            known, live = rows >= 0, self._live
            clusters = [self.tables.clusters.number(cluster) for cluster in batch.clusters]
            cluster = np.array([*clusters, -1], np.int32)[batch.cluster_of_machine]
            same = known.copy()
            at = rows[known]
            same[known] = live.state[at] == batch.state_of_machine[known]
            same[known] &= live.cluster[at] == cluster[known]
            return known, same

    def machine_of(self, machine_id: str) -> Machine:
        with self._lock:
            self._place_waiting()
            return self._decode(machine_id, self._known_row(machine_id))

    def state_of(self, machine_id: str) -> MachineState:
        """Without decoding the rest of the record."""
        with self._lock:
            self._place_waiting()
            return MachineState(int(self._live.state[self._known_row(machine_id)]))

    def offering_of(self, machine_id: str) -> tuple[Offering, str]:
        """What a machine offers, and its Node's name, without decoding the rest of the record."""
        with self._lock:
            self._place_waiting()
            row, tables = self._known_row(machine_id), self.tables
            name = int(self._live.node_name[row])
            offering = tables.offerings.table.rows[int(self._live.offering[row])]
            return offering, tables.node_names.rows[name] if name >= 0 else ""

    def marks_of(self, machine_id: str) -> Marks:
        with self._lock:
            self._place_waiting()
            row = self._known_row(machine_id)
            return decoded_marks(self._live, row, self._held_until.get(machine_id))

    def source_of(self, machine_id: str) -> str:
        """Whose List the machine came from; empty for one that was put in by hand."""
        with self._lock:
            self._place_waiting()
            number = int(self._live.source[self._known_row(machine_id)])
            return self.tables.sources.rows[number] if number >= 0 else ""

    def ids_bound_to(self, cluster: str) -> list[str]:
        """Ids ascending of every machine bound to a cluster, in any state."""
        with self._lock:
            self._place_waiting()
            number = self.tables.clusters.find(cluster)
            if number < 0:
                return []
            rows = np.flatnonzero(self._live.cluster == number).tolist()
            return [self._ids[row] for row in rows]

    def columns_now(self, snapshot: Snapshot, rows: Int64s) -> tuple[MachineColumns, Bools]:
        """What rows of a snapshot are by now, and which of them are still there."""
        with self._lock:
            self._place_waiting()
            if snapshot.ids is not self._ids:
                rows = self._rows_of([snapshot.ids[row] for row in rows.tolist()])
            return self._live.taken(rows), rows >= 0

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

    def _rows_of(self, ids: Sequence[str]) -> Int64s:
        """The row of each id, -1 where it is unknown."""
        if len(ids) < _TABLE_FROM * len(self._ids):
            return np.array([self._row(machine_id) for machine_id in ids], np.int64)
        row_of = dict(zip(self._ids, range(len(self._ids)), strict=True))
        return np.array([row_of.get(machine_id, -1) for machine_id in ids], np.int64)

    def _configured_rows(self, cluster: str, ids: Sequence[str]) -> Int64s:
        rows = self._rows_of(ids)
        rows = rows[rows >= 0]
        serves: Bools = self._live.state[rows] == MachineState.CONFIGURED
        serves &= self._live.cluster[rows] == self.tables.clusters.find(cluster)
        return np.compress(serves, rows)

    def _check(self, machine: Machine) -> None:
        problem = why_invalid(machine)
        if problem is not None:
            raise InvalidMachine(f"machine {machine.id}: {problem[0]}: {problem[1]}")

    def _held(self, machine_id: str, row: int) -> Held | None:
        by = int(self._live.held[row])
        return Held(HELD_BY[by - 1], self._held_until.get(machine_id)) if by else None

    def _encode(self, machine: Machine, marks: Marks, source: int) -> Row:
        self._keep_beside(machine, marks)
        return encoded(self.tables, machine, marks, source)

    def _keep_beside(self, machine: Machine, marks: Marks) -> None:
        until = marks.held.until if marks.held else None
        if marks.empty and machine.state is MachineState.CONFIGURED:
            self._empty_of.setdefault(machine.cluster, set()).add(machine.id)
        put_or_drop(self._errors, machine.id, machine.last_error or None)
        put_or_drop(self._held_until, machine.id, until)

    def _cluster(self, row: int) -> str:
        number = int(self._live.cluster[row])
        return self.tables.clusters.rows[number] if number >= 0 else ""

    def _forget_empty(self, rows: Iterable[int]) -> None:
        """Before the marks of these rows end, or are written anew."""
        for row in rows:
            if self._live.empty[row]:
                ids = self._empty_of[self._cluster(row)]
                ids.discard(self._ids[row])
                if not ids:
                    del self._empty_of[self._cluster(row)]

    def _decode(self, machine_id: str, row: int) -> Machine:
        ref = self._host_refs.text(row) if self._live.provider[row] >= 0 else ""
        error = self._errors.get(machine_id, "")
        return decoded(self.tables, self._live, row, machine_id, ref, error)

    def _hold_rows(self, rows: Int64s, held: Held | None) -> None:
        self._live.held[rows] = HELD_BY.index(held.by) + 1 if held else 0
        self._dirty.update(rows.tolist())
        until = held.until if held else None
        if until is not None or self._held_until:
            for row in rows.tolist():
                put_or_drop(self._held_until, self._ids[row], until)

    def _write(self, row: int, values: Row) -> None:
        for (_, array), value in zip(self._live.arrays(), values, strict=True):
            array[row] = value
        self._dirty.add(row)

    # -- bulk ------------------------------------------------------------------------------------

    def _refresh(
        self,
        batch: MachineBatch,
        columns: MachineColumns,
        rows: Int64s,
        ours: Bools,
        busy: Bools | None,
        now: Instant | None,
    ) -> AdoptedBatch:
        """Known machines of this source as the batch says."""
        at = np.flatnonzero(ours)
        if not len(at):
            return AdoptedBatch()
        rows, acting = rows[at], np.zeros(len(at), np.bool_) if busy is None else busy[at]
        before = self._live.taken(rows)
        after = adopted_columns(before, columns.taken(at), acting, now)
        refs = refs_of(batch).taken(at)
        moved = self._host_refs.differ(rows, refs) & ~acting
        self._host_refs.write(rows[moved], refs.taken(moved))
        errors = self._errors_of(batch, at, acting)
        unlike = after.differ(before) | moved | errors
        self._forget_empty(rows[before.empty & ~after.empty].tolist())
        self._live.put(rows, after)
        self._dirty.update(rows[unlike].tolist())
        steps = np.flatnonzero((after.state != before.state) | (after.cluster != before.cluster))
        refreshed = fields_changed(
            self.tables.offerings.table.rows, before.offering[unlike], after.offering[unlike]
        )
        refreshed["host"] += int(np.count_nonzero(moved | (after.provider != before.provider)))
        refreshed["node_name"] += int(np.count_nonzero(after.node_name != before.node_name))
        refreshed["last_error"] += int(np.count_nonzero(errors))
        ids, clusters = [batch.ids[i] for i in at[steps].tolist()], self.tables.clusters.rows
        told = steps_of(ids, clusters, before.taken(steps), after.taken(steps))
        return AdoptedBatch(steps=told, refreshed=+refreshed)

    def _errors_of(self, batch: MachineBatch, at: Int64s, busy: Bools) -> Bools:
        """Keeps the last errors of these machines; which of them are others than before."""
        changed = np.zeros(len(at), np.bool_)
        if not (batch.errors or self._errors):
            return changed
        for place, row in enumerate(at.tolist()):
            machine_id, error = batch.ids[row], batch.errors.get(row)
            if not busy[place] and self._errors.get(machine_id) != error:
                changed[place] = True
                put_or_drop(self._errors, machine_id, error)
        return changed

    def _add(self, batch: MachineBatch, columns: MachineColumns) -> None:
        if len(batch):
            for at, error in batch.errors.items():
                self._errors[batch.ids[at]] = error
            self._join(list(batch.ids), columns, refs_of(batch))

    def _place_waiting(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        refs, self._waiting_refs = self._waiting_refs, {}
        self._join(list(waiting), columns_of(waiting.values()), Texts.of(list(refs.values())))

    def _join(self, ids: list[str], columns: MachineColumns, refs: Texts) -> None:
        """Give new machines their rows; all others keep their order."""
        before = len(self._ids)
        ids = self._ids + ids
        place = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        row_of_place: Int64s = np.empty(len(place), np.int64)
        row_of_place[place] = np.arange(len(place))
        self._ids = [ids[p] for p in place]
        self._live = self._live.joined(columns).taken(place)
        self._host_refs.lengthen(len(columns))
        self._host_refs.write(np.arange(before, len(place)), refs)
        self._host_refs.take(place)
        self._keep_order = row_of_place[self._keep_order].astype(np.int32)
        dirty = np.fromiter(self._dirty, np.int64, len(self._dirty))
        self._dirty = set(row_of_place[dirty].tolist())
        self._dirty.update(row_of_place[before:].tolist())
        self._moved()

    def _moved(self) -> None:
        """Rows have shifted: no older copy of the columns can be caught up any more."""
        self._spare = None
        self._current = None
        self._changed_in = []
        self._generation += 1

    def _drop_garbage(self) -> None:
        """Tables only grow, with every price that moves, every gang and node that comes and goes.

        When they have doubled since the last time, they start anew from what machines still use;
        snapshots taken before keep the tables they know.
        """
        if self.tables.rows <= self._most_rows:
            return
        self.tables = renumbered(self.tables, self._live)
        self._most_rows = 2 * self.tables.rows + _FEW_ROWS
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
            self._keep_order,
            dirty,
            fresh,
            bucket,
            live.offering,
            live.stamp,
            live.empty,
            price,
            penalty,
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
        """Once the snapshot is garbage, its columns may be caught up and used again."""
        owner, columns = weakref.ref(self), snapshot.columns
        version, generation = len(self._changed_in), self._generation

        def offer() -> None:
            inventory = owner()
            if inventory is not None:
                inventory._spare = (columns, version, generation)

        weakref.finalize(snapshot, offer)
