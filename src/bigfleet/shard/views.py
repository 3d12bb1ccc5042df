"""What people may look at of machines: their views and their stories.

Reads only, from the live state; a caller that asks for many machines takes them from a generator, a
few at a time, so that the loop is never busy for long.
"""

from dataclasses import dataclass

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.machine_order import page_by_id, page_of, place_of, values_of
from bigfleet.engine.selection import selected_rows
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.shard_views import (
    MachineQuery,
    MachineSelector,
    MachineView,
    OwnerSource,
    SortBy,
    StoryEvent,
)
from bigfleet.shard.machines import HOSTNAME_KEY
from bigfleet.shard.parts import Parts

#: The column has one state for both.
_MEANT_TOGETHER = frozenset({MachineState.CONFIGURED, MachineState.DRAINING})
#: Machines whose times are looked up at once: a millisecond or two.
_LOOKED_UP = 10_000


class MachineViews:
    def __init__(self, parts: Parts) -> None:
        self._machines = parts.machines
        self._stories = parts.effects.stories
        self._parts = parts

    def view(self, machine_id: str) -> MachineView:
        """Raises NoSuchMachine."""
        machines, parts = self._machines, self._parts
        machine, marks = machines.truth(machine_id), machines.inventory.marks_of(machine_id)
        return MachineView(
            machine,
            machines.provider_of(machine_id),
            machine.labels.get(HOSTNAME_KEY, ""),
            self._owner_source(machine),
            self._claimed_by(machine_id),
            machines.since(machine_id),
            parts.deadlines.deadline_of(machine_id),
            marks.idle_since,
            parts.execution.pending(machine_id),
            parts.drains.intent(machine_id),
            parts.decision_loop.reservations.get(machine_id),
            parts.failures.view(machine_id),
            parts.reconciler.unseen_lists(machine_id),
            marks.held is not None and marks.held.by is HeldBy.QUOTA,
            marks.empty,
            parts.lost.cause_of(machine_id),
        )

    def matching(self, query: MachineQuery) -> "MatchingMachines":
        """In order of ids; a machine may be gone when it is looked at."""
        snapshot, selector = self._machines.inventory.snapshot(), query.selector
        rows = selected_rows(snapshot, selector)
        if len(selector.states & _MEANT_TOGETHER) == 1:
            rows = rows[self._in_state(snapshot, rows, selector)]
        if query.only_reserved:
            reserved = map(snapshot.row_of, self._parts.decision_loop.reservations)
            rows = np.intersect1d(rows, np.fromiter(reserved, np.int64))
        if query.failed_cause or query.only_pending or query.only_unseen:
            ids, numbers = snapshot.ids, rows.tolist()
            rows = np.array([n for n in numbers if self._matches(ids[n], query)], np.int64)
        return MatchingMachines(snapshot, rows)

    def page(self, found: "MatchingMachines", query: MachineQuery) -> list[str]:
        """Ids of a page in the order that is asked for; in any thread. Raises BadPlace."""
        snapshot, rows, by = found.snapshot, found.rows, query.sort
        if by is SortBy.NAME:
            shown = page_by_id(
                snapshot.ids, rows, query.after_id, query.limit, descending=query.descending
            )
            return [snapshot.ids[row] for row in shown.tolist()]
        if by is SortBy.STATE:
            values = self._shown_states(snapshot, rows)
        elif by is SortBy.SINCE:
            values = self._since(snapshot, rows)
        else:
            values = values_of(snapshot, rows, by)
        after = None
        if query.after_id:
            after = place_of(snapshot, by, query.after_value), query.after_id
        shown = page_of(snapshot.ids, rows, values, after, query.limit, descending=query.descending)
        return [snapshot.ids[row] for row in shown.tolist()]

    def story(
        self, machine_id: str, since: Instant, limit: int
    ) -> tuple[tuple[StoryEvent, ...], bool]:
        """The newest events in order, and whether older ones were left out."""
        events = [event for event in self._stories.of(machine_id) if event.at >= since]
        shown = events[-limit:] if limit > 0 else events
        return tuple(shown), len(shown) < len(events) or self._stories.is_cut(machine_id)

    def _owner_source(self, machine: Machine) -> OwnerSource:
        parts = self._parts
        address = parts.providers[self._machines.provider_of(machine.id)]
        return parts.reconciler.ownership.owner(machine.id, machine.attribute, address).source

    def _claimed_by(self, machine: str) -> NeedKey | None:
        decision = self._parts.decision_loop.decision
        if decision is None:
            return None
        outcome = decision.outcome
        row = outcome.scene.snapshot.row_of(machine)
        holder = int(outcome.credit.holder[row]) if row >= 0 else -1
        return outcome.key(holder) if holder >= 0 else None

    def _in_state(self, snapshot: Snapshot, rows: Int64s, selector: MachineSelector) -> Bools:
        """A victim is Draining in the inventory from the moment it is chosen, and Configured for
        people until it drains."""
        draining = snapshot.columns.state[rows] == int(MachineState.DRAINING)
        meant = np.ones(len(rows), np.bool_)
        wanted = MachineState.CONFIGURED in selector.states
        for place in np.flatnonzero(draining).tolist():
            shown = self._machines.is_shown_as_draining(snapshot.ids[int(rows[place])])
            meant[place] = shown is wanted
        return meant

    def _shown_states(self, snapshot: Snapshot, rows: Int64s) -> Int64s:
        """By their numbers, which follow a machine's life."""
        states = snapshot.columns.state[rows].astype(np.int64)
        for place in np.flatnonzero(states == MachineState.DRAINING).tolist():
            if not self._machines.is_shown_as_draining(snapshot.ids[int(rows[place])]):
                states[place] = MachineState.CONFIGURED
        return states

    def _since(self, snapshot: Snapshot, rows: Int64s) -> Int64s:
        """A part at a time, so that the loop has its turns while a thread looks them up."""
        ids, numbers, since = snapshot.ids, rows.tolist(), np.zeros(len(rows), np.int64)
        for begin in range(0, len(numbers), _LOOKED_UP):
            some = numbers[begin : begin + _LOOKED_UP]
            found = self._machines.since_of(map(ids.__getitem__, some))
            since[begin : begin + len(some)] = found
        return since

    def _matches(self, machine_id: str, query: MachineQuery) -> bool:
        parts = self._parts
        if query.failed_cause:
            failed = parts.failures.view(machine_id)
            return failed is not None and failed.cause == query.failed_cause
        if query.only_pending and parts.execution.pending(machine_id) is None:
            return False
        return not (query.only_unseen and not parts.reconciler.unseen_lists(machine_id))


@dataclass(frozen=True, slots=True)
class MatchingMachines:
    """Rows of a snapshot, ascending."""

    snapshot: Snapshot
    rows: Int64s

    def __len__(self) -> int:
        return len(self.rows)
