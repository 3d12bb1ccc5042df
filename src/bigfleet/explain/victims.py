"""Victims of a Need with each term of their score, and the best that is not one.

Scored by the engine's own function; looked at in columns, since a Need may have many thousands.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.kernels.victims import victim_score
from bigfleet.model.machines import Assigned, MachineState

if TYPE_CHECKING:
    from bigfleet.explain.decided_cycle import DecidedCycle


@dataclass(frozen=True, slots=True)
class Victim:
    machine: str
    row: int
    cluster: str
    priority: int
    assigned: Assigned
    score: float
    chosen: bool

    @classmethod
    def of(cls, cycle: "DecidedCycle", row: int, need: int) -> "Victim":
        machine = cycle.machine(row).machine
        priority = cycle.victim_priority(row)
        options, own = cycle.given.options, int(cycle.outcome.needs.priority[need])
        weights = options.victim_weights
        score = victim_score(
            own - priority,
            float(options.drain_seconds),
            machine.assigned.interruption_penalty,
            machine.assigned.reclamation_penalty,
            np.array([weights.priority, weights.drain, weights.interruption, weights.reclamation]),
        )
        chosen = cycle.preemptor(row) == need
        return cls(machine.id, row, machine.cluster, priority, machine.assigned, score, chosen)


def victims_of(cycle: "DecidedCycle", need: int) -> list[Victim]:
    """Those chosen for the Need, in order of emission."""
    preempted = cycle.outcome.preempted
    rows = preempted.row[preempted.need == need].tolist()
    return [Victim.of(cycle, row, need) for row in rows]


def next_best_victim(cycle: "DecidedCycle", need: int) -> Victim | None:
    """The machine that would have been preempted next for the Need; None: no other could be."""
    rows = _possible(cycle, need)
    if not len(rows):
        return None
    snapshot, outcome = cycle.given.snapshot, cycle.outcome
    holder, stamp = outcome.credit.holder[rows], snapshot.columns.stamp[rows].astype(np.int64)
    # The first machine of each score: those of one holder's priority and stamp score alike.
    ready = cycle.given.options.clusters_ready
    names = snapshot.tables.clusters.rows
    is_ready = np.array([ready is None or name in ready for name in names] + [False], np.bool_)
    excess = (holder < 0) & is_ready[snapshot.columns.cluster[rows]]
    _, first = np.unique(
        np.stack([np.maximum(holder, -1).astype(np.int64), stamp, excess]),
        axis=1,
        return_index=True,
    )
    shown = [(Victim.of(cycle, int(rows[at]), need), bool(excess[at])) for at in first.tolist()]
    return min(shown, key=lambda each: (not each[1], -each[0].score, each[0].row))[0]


def _possible(cycle: "DecidedCycle", need: int) -> Int64s:
    outcome, snapshot = cycle.outcome, cycle.given.snapshot
    columns, kind = snapshot.columns, outcome.scene.supply.kind
    fits = cycle.eligible(need) & (columns.state == int(MachineState.CONFIGURED))
    fits[outcome.preempted.row] = False
    rows = np.flatnonzero(fits)
    holder = outcome.credit.holder[rows]
    stamped = snapshot.stamps.priority[columns.stamp[rows]]
    priority = np.where(holder >= 0, outcome.needs.priority[holder], stamped)
    possible: Bools = priority < outcome.needs.priority[need]
    for topology in (int(outcome.needs.same[need]), int(outcome.needs.spread[need])):
        if topology >= 0:
            possible &= outcome.kinds.domain[topology][kind[rows]] >= 0
    if outcome.needs.same[need] >= 0 and outcome.credit.domain[need] >= 0:
        chosen = outcome.credit.domain[need]
        possible &= outcome.kinds.domain[outcome.needs.same[need]][kind[rows]] == chosen
    return rows[possible]
