"""Machines that carry out what is decided, as columns: each step takes its latency, nothing fails.

A step starts as the shard starts it and ends as a List would find it: an order is filled with an
Idle machine, which the next decision may bind. What was under way at the beginning takes its whole
latency from then on; a machine that is overdue stays as it is.

| column | dtype | meaning |
|---|---|---|
| due | int64 | nanoseconds since the beginning, LATER where nothing is under way |
| stamp_then | int32 | row of Stamps it gets once it is Configured, -1: keeps its own |

Index space: MachineRow of the snapshot it began with.
"""

from dataclasses import replace

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.encoding import renumbered
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.snapshot import Snapshot, keep_bucket_of_row, sorted_keep_rows
from bigfleet.model.actions import ActionKind
from bigfleet.model.batches import NEVER
from bigfleet.model.latencies import STEPS, Latencies
from bigfleet.model.machines import Assigned, CapacityType, Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.penalties import upper_bound_dollars

LATER = 2**62
#: Of hosts that are new; a fleet file means the same where it names none.
_PROVIDER = "sim"
_STATE_OF_STEP = {
    "create": MachineState.CREATING,
    "configure": MachineState.CONFIGURING,
    "drain": MachineState.DRAINING,
    "delete": MachineState.DELETING,
}


class MovingMachines:
    def __init__(self, before: Snapshot, latencies: Latencies) -> None:
        self._ids = before.ids
        self._columns = before.columns.copy()
        self._tables = renumbered(before.tables, self._columns)
        self._snapshot: Snapshot | None = before
        self._due: Int64s = np.full(len(before), LATER, np.int64)
        self._stamp_then: Int32s = np.full(len(before), -1, np.int32)
        self._nanos_of_kind = {step: _nanos_of_kind(latencies, step) for step in STEPS}
        self._wait_for(np.arange(len(before)), 0)

    @property
    def are_moving(self) -> bool:
        return self.next_due < LATER

    @property
    def next_due(self) -> int:
        return int(self._due.min()) if len(self._due) else LATER

    def snapshot(self) -> Snapshot:
        if self._snapshot is None:
            columns, tables = self._columns.copy(), self._tables
            bucket = keep_bucket_of_row(columns)
            order = sorted_keep_rows(
                columns,
                np.flatnonzero(bucket >= 0),
                bucket,
                tables.offerings.columns().price,
                tables.stamps.columns().reclamation_penalty,
            )
            self._snapshot = Snapshot(columns, self._ids, order, tables)
        return self._snapshot

    def start(self, decision: Decision, at: int) -> None:
        """The actions of a decision on the snapshot; `at` is nanoseconds since the beginning."""
        actions = decision.outcome.action_columns
        if not len(actions):
            return
        for kind, step in ((ActionKind.PROVISION, "create"), (ActionKind.BOOTSTRAP, "configure")):
            chosen = actions.kind == kind
            self._acquire(decision, actions.row[chosen], actions.need[chosen], step, at)
        leaving = np.isin(actions.kind, (ActionKind.RECLAIM, ActionKind.PREEMPT))
        rows = actions.row[leaving]
        self._begin(rows, "drain", at)
        # A machine is never drained for longer than its grace.
        grace = actions.grace_seconds[leaving].astype(np.int64) * SECOND
        self._due[rows] = np.minimum(self._due[rows], at + grace)
        self._begin(actions.row[actions.kind == ActionKind.DELETE], "delete", at)

    def finish(self, at: int, now: Instant | None) -> None:
        """All steps that are due by then."""
        done = self._due <= at
        if not done.any():
            return
        columns, state = self._columns, self._columns.state.copy()
        since = NEVER if now is None else now
        configured = done & (state == int(MachineState.CONFIGURING))
        columns.state[configured] = int(MachineState.CONFIGURED)
        stamped = configured & (self._stamp_then >= 0)
        columns.stamp[stamped] = self._stamp_then[stamped]
        created = done & (state == int(MachineState.CREATING))
        columns.provider[created] = self._tables.providers.number(_PROVIDER)
        self._unbind(created | (done & (state == int(MachineState.DRAINING))), since)
        gone = done & (state == int(MachineState.DELETING))
        self._unbind(gone, NEVER)
        columns.state[gone] = int(MachineState.SPECULATIVE)
        columns.provider[gone] = -1
        self._due[done] = LATER
        self._stamp_then[done] = -1
        self._snapshot = None

    def _unbind(self, chosen: Bools, idle_since: int) -> None:
        columns = self._columns
        columns.state[chosen] = int(MachineState.IDLE)
        columns.cluster[chosen] = -1
        columns.stamp[chosen] = 0
        columns.idle_since[chosen] = idle_since

    def _begin(self, rows: Int32s, step: str, at: int) -> None:
        columns = self._columns
        columns.state[rows] = int(_STATE_OF_STEP[step])
        columns.held[rows] = 0
        columns.overdue[rows] = False
        columns.empty[rows] = False
        columns.idle_since[rows] = NEVER
        self._due[rows] = at + self._nanos(rows, step)
        self._snapshot = None

    def _wait_for(self, rows: Int64s, at: int) -> None:
        """What these have under way takes its whole latency from now on."""
        state, overdue = self._columns.state[rows], self._columns.overdue[rows]
        for step, moving in _STATE_OF_STEP.items():
            chosen = rows[(state == int(moving)) & ~overdue]
            self._due[chosen] = at + self._nanos(chosen, step)

    def _nanos(self, rows: Int64s | Int32s, step: str) -> Int64s:
        kind = self._tables.offerings.columns().capacity_type[self._columns.offering[rows]]
        found: Int64s = self._nanos_of_kind[step][kind]
        return found

    def _acquire(self, decision: Decision, rows: Int32s, needs: Int32s, step: str, at: int) -> None:
        """The stamp names the Need at once; priority and penalties come with success."""
        outcome, tables = decision.outcome, self._tables
        used, place = np.unique(needs, return_inverse=True)
        cluster, early, later = [], [], []
        profiles = outcome.scene.demand.tables.profiles.rows
        for need in used.tolist():
            key, profile = outcome.key(need), profiles[outcome.normalised.profile[need]]
            stamp = Assigned(
                cluster=key.cluster, need_fingerprint=profile.fingerprint, group=key.group
            )
            cluster.append(tables.clusters.number(key.cluster))
            early.append(tables.stamps.number(stamp))
            later.append(
                tables.stamps.number(
                    replace(
                        stamp,
                        priority=profile.priority,
                        interruption_penalty=upper_bound_dollars(profile.interruption_bucket),
                        reclamation_penalty=upper_bound_dollars(profile.reclamation_bucket),
                    )
                )
            )
        self._begin(rows, step, at)
        self._columns.stamp[rows] = np.array(early, np.int32)[place]
        if step == "configure":
            self._columns.cluster[rows] = np.array(cluster, np.int32)[place]
            self._stamp_then[rows] = np.array(later, np.int32)[place]


def _nanos_of_kind(latencies: Latencies, step: str) -> Int64s:
    seconds = [latencies.seconds(step, kind) for kind in sorted(CapacityType)]
    return np.array([round(each * SECOND) for each in seconds], np.int64)
