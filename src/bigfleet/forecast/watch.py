"""Sees from cycle to cycle how long machines take for their steps, and offerings to be had again.

The same live and from a journal: a step lasts from the first cycle that finds a machine in it to
the first that finds it elsewhere. What was under way when the first cycle began says nothing.
"""

from collections.abc import Iterable

import numpy as np

from bigfleet.engine.need_progress import NeedProgress
from bigfleet.engine.places import held_code
from bigfleet.engine.snapshot import Snapshot
from bigfleet.forecast.durations import Durations, Step
from bigfleet.journal.inputs import rows_before
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.offering_scopes import OfferingScope
from bigfleet.model.options import SECOND

S = MachineState
#: Machines followed while they wait for something; more are not followed.
MOST_FOLLOWED = 200_000
#: After a longer time without a cycle, or where a clock was set back, what is under way is
#: forgotten: its steps would seem as long as the gap.
LONGEST_GAP = 120 * SECOND

_STEP = {
    int(S.CREATING): Step.CREATE,
    int(S.CONFIGURING): Step.CONFIGURE,
    int(S.DRAINING): Step.DRAIN,
}
_FREE = (int(S.IDLE), int(S.SPECULATIVE))
_ANY_PROVIDER = "*"


def offering_of_row(snapshot: Snapshot, row: int) -> str:
    """`provider/type/zone/capacityType`; a journal does not know whose List a machine came from."""
    sources, offerings = snapshot.tables.sources.rows, snapshot.tables.offerings.table.rows
    source = int(snapshot.columns.source[row])
    listed = offerings[int(snapshot.columns.offering[row])]
    return OfferingScope(
        sources[source] if source >= 0 else _ANY_PROVIDER,
        listed.instance_type,
        listed.zone,
        CapacityType(listed.capacity_type),
    ).name


class StepWatch:
    def __init__(self, durations: Durations) -> None:
        self._durations = durations
        self._before: Snapshot | None = None
        self._at: Instant | None = None
        #: When a machine came into the state it is in; None: before the first cycle was seen.
        self._since: dict[str, tuple[int, Instant]] = {}
        #: Machines that are claimed and not begun, and since when.
        self._ordered: dict[str, Instant] = {}
        #: Machines that are Configured and whose Node cannot be used yet.
        self._joining: dict[str, tuple[str, Instant]] = {}
        #: Offerings that rest, and since when.
        self._resting: dict[str, Instant] = {}
        self._known_resting: set[str] | None = None

    def __len__(self) -> int:
        return len(self._since) + len(self._ordered) + len(self._joining) + len(self._resting)

    def since(self, machine: str, state: int) -> Instant | None:
        """Since when it is in this state; None: for longer than this was watched."""
        known = self._since.get(machine)
        return known[1] if known is not None and known[0] == state else None

    def ordered_since(self, machine: str) -> Instant | None:
        return self._ordered.get(machine)

    def joining_since(self, machine: str) -> Instant | None:
        known = self._joining.get(machine)
        return known[1] if known is not None else None

    def resting_since(self, offering: str) -> Instant | None:
        return self._resting.get(offering)

    def take(
        self,
        snapshot: Snapshot,
        progress: NeedProgress | None,
        unusable: Iterable[int],
        at: Instant,
    ) -> None:
        """`progress`: of the decision on this snapshot; None: it was not decided again. `unusable`:
        rows of Configured machines whose Nodes cannot be used."""
        if self._at is not None and not 0 <= at - self._at <= LONGEST_GAP:
            self._forget()
        self._at = at
        before, self._before = self._before, snapshot
        if before is not None and before is not snapshot:
            self._changes(before, snapshot, at)
        if progress is not None:
            self._orders(snapshot, progress, at)
            self._joins(snapshot, unusable, at)
        self._rests(snapshot, at)

    # -- within ----------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._before, self._known_resting = None, None
        for followed in (self._since, self._ordered, self._joining, self._resting):
            followed.clear()

    def _changes(self, before: Snapshot, now: Snapshot, at: Instant) -> None:
        place, gone = rows_before(before.ids, now.ids)
        for row in gone:
            machine = before.ids[row]
            self._since.pop(machine, None)
            self._ordered.pop(machine, None)
            self._joining.pop(machine, None)
        known = np.flatnonzero(place >= 0)
        old, new = before.columns.state[place[known]], now.columns.state[known]
        changed = np.flatnonzero(old != new)
        rows, left, entered = known[changed].tolist(), old[changed].tolist(), new[changed].tolist()
        for row, was, state in zip(rows, left, entered, strict=True):
            self._left(now, row, was, state, at)
        begun = known[changed[new[changed] == int(S.CREATING)]].tolist()
        for offering in {offering_of_row(now, row) for row in begun}:
            self._durations.count_order(offering, refused=False)

    def _left(self, now: Snapshot, row: int, was: int, state: int, at: Instant) -> None:
        machine = now.ids[row]
        began = self._since.pop(machine, None)
        waited = self._ordered.pop(machine, None)
        if began is not None and began[0] == was and was in _STEP and _is_done(was, state):
            self._add(now, row, _STEP[was], began[1], at)
        if waited is not None and was in _FREE and state in _STEP:
            self._add(now, row, Step.ORDER, waited, at)
        if was == S.CREATING and state == S.CONFIGURING:
            # It went on without being found Idle.
            self._add(now, row, Step.ORDER, at, at)
        if state in _STEP and len(self._since) < MOST_FOLLOWED:
            self._since[machine] = (state, at)

    def _orders(self, snapshot: Snapshot, progress: NeedProgress, at: Instant) -> None:
        states = snapshot.columns.state[progress.coming]
        rows = progress.coming[np.isin(states, _FREE)].tolist()
        claimed = {snapshot.ids[row] for row in rows[:MOST_FOLLOWED]}
        self._ordered = {machine: self._ordered.get(machine, at) for machine in claimed}

    def _joins(self, snapshot: Snapshot, unusable: Iterable[int], at: Instant) -> None:
        joining: dict[str, tuple[str, Instant]] = {}
        for row in unusable:
            machine = snapshot.ids[row]
            known = self._joining.get(machine)
            joining[machine] = known or (offering_of_row(snapshot, row), at)
        for machine in self._joining.keys() - joining.keys():
            row = snapshot.row_of(machine)
            if row >= 0 and int(snapshot.columns.state[row]) == int(S.CONFIGURED):
                offering, began = self._joining[machine]
                self._durations.add(offering, Step.JOIN, (at - began) / SECOND, at)
        self._joining = joining

    def _rests(self, snapshot: Snapshot, at: Instant) -> None:
        columns = snapshot.columns
        rows = np.flatnonzero(columns.held == held_code(HeldBy.BACKOFF))
        if len(rows):
            pairs = np.stack([columns.source[rows], columns.offering[rows]])
            rows = rows[np.unique(pairs, axis=1, return_index=True)[1]]
        resting = {offering_of_row(snapshot, row) for row in rows.tolist()}
        for offering in self._resting.keys() - resting:
            began = self._resting.pop(offering)
            self._durations.add(offering, Step.PROBE, (at - began) / SECOND, at)
        if self._known_resting is None:
            # These rested before this was watched.
            self._known_resting = set(resting)
        self._known_resting &= resting
        for offering in resting - self._known_resting - self._resting.keys():
            self._resting[offering] = at
            self._durations.count_order(offering, refused=True)

    def _add(self, now: Snapshot, row: int, step: Step, began: Instant, at: Instant) -> None:
        self._durations.add(offering_of_row(now, row), step, (at - began) / SECOND, at)


def _is_done(was: int, state: int) -> bool:
    """Whether a step ended as it should; one that was undone or failed says nothing."""
    match was:
        case S.CREATING:
            return state in (S.IDLE, S.CONFIGURING, S.CONFIGURED)
        case S.CONFIGURING:
            return state == S.CONFIGURED
        case _:
            return state in (S.IDLE, S.CONFIGURING, S.SPECULATIVE, S.DELETING)
