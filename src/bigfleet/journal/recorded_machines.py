"""Machines that do what an engine decides, in a world that is otherwise the recorded one.

Taken over from the record: machines that come and go, prices and labels, what is held, what its
cluster calls empty, what fails and is mended. Everything else is the doing of decisions.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.journal.inputs import rows_before
from bigfleet.model.machines import MachineState
from bigfleet.whatif.moving import LATER, MovingMachines

_FAILED = int(MachineState.FAILED)
_FREE = (int(MachineState.IDLE), int(MachineState.SPECULATIVE))


class RecordedMachines(MovingMachines):
    """Has the machines of the record, in its order: a row is the same machine in both."""

    def follow(self, before: Snapshot, after: Snapshot, at: int) -> None:
        """From one recorded cycle to the next; `at` is nanoseconds since the beginning."""
        if before is after:
            return
        place, _gone = rows_before(before.ids, after.ids)
        if before.ids is not after.ids:
            self._realign(place, after, at)
        known = np.flatnonzero(place >= 0)
        then, now = before.columns.taken(place[known]), after.columns.taken(known)
        self._follow_offerings(known, then, now, before, after)
        state = self._columns.state[known]
        held = (then.held != now.held) & (state == now.state) & np.isin(state, _FREE)
        self._set(self._columns.held, known[held], now.held[held])
        served = state == int(MachineState.CONFIGURED)
        empty = (then.empty != now.empty) & served & (now.state == state)
        self._set(self._columns.empty, known[empty], now.empty[empty])
        failed = (then.state == _FAILED) | (now.state == _FAILED)
        self._fail_or_mend(after, known[failed & (then.state != now.state)], at)

    def _realign(self, place: Int64s, after: Snapshot, at: int) -> None:
        new = place < 0
        self._columns = self._columns.taken(place) if len(self._ids) else after.columns.copy()
        due, stamps = np.append(self._due, LATER), np.append(self._stamp_then, -1)
        # -1, a new one, is the last.
        self._due = due[place]
        self._stamp_then = stamps[place].astype(np.int32)
        self._ids = after.ids
        self._snapshot = None
        self._take_over(after, np.flatnonzero(new), at)

    def _follow_offerings(
        self,
        known: Int64s,
        then: MachineColumns,
        now: MachineColumns,
        before: Snapshot,
        after: Snapshot,
    ) -> None:
        other: Bools = then.offering != now.offering
        if before.tables is not after.tables:
            old, new = before.tables.offerings.table.rows, after.tables.offerings.table.rows
            pairs, number = np.unique(
                np.stack([then.offering, now.offering]), axis=1, return_inverse=True
            )
            differ = np.array([old[a] != new[b] for a, b in pairs.T.tolist()], np.bool_)
            other = differ[number.reshape(-1)] if len(differ) else other
        rows = np.compress(other, known)
        if len(rows):
            self._columns.offering[rows] = self._translated(after, rows).offering
            self._snapshot = None

    def _set(self, column: NDArray[np.generic], rows: Int64s, values: NDArray[np.generic]) -> None:
        if len(rows):
            column[rows] = values
            self._snapshot = None

    def _fail_or_mend(self, after: Snapshot, rows: Int64s, at: int) -> None:
        self._take_over(after, rows, at)

    def _take_over(self, after: Snapshot, rows: Int64s, at: int) -> None:
        """These machines are as the record says."""
        if len(rows):
            self._columns.put(rows, self._translated(after, rows))
            self._due[rows] = LATER
            self._stamp_then[rows] = -1
            self._wait_for(rows, at)
            self._snapshot = None

    def _translated(self, snapshot: Snapshot, rows: Int64s) -> MachineColumns:
        """Rows of a recorded snapshot over the tables of this one."""
        columns, theirs, ours = snapshot.columns.taken(rows), snapshot.tables, self._tables
        columns.offering = _numbers(
            columns.offering, lambda n: ours.offerings.number(theirs.offerings.table.rows[n])
        )
        columns.stamp = _numbers(
            columns.stamp, lambda n: ours.stamps.number(theirs.stamps.table.rows[n])
        )
        columns.cluster = _numbers(
            columns.cluster, lambda n: ours.clusters.number(theirs.clusters.rows[n])
        )
        columns.provider = _numbers(
            columns.provider, lambda n: ours.providers.number(theirs.providers.rows[n])
        )
        columns.node_name = _numbers(
            columns.node_name, lambda n: ours.node_names.number(theirs.node_names.rows[n])
        )
        columns.source = np.full(len(rows), -1, np.int32)
        return columns


def _numbers(column: Int32s, number_of: Callable[[int], int]) -> Int32s:
    """-1, nothing, stays."""
    used, place = np.unique(column, return_inverse=True)
    numbers = [number_of(n) if n >= 0 else -1 for n in used.tolist()]
    found: Int32s = np.array(numbers, np.int32)[place]
    return found
