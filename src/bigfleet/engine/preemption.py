"""Phase 2: strictly lower machines make way for what Phase 1 left short.

A victim is not moved here: it drains to Idle, reserved for the Need that asked, and a later cycle's
Phase 1 takes it. So the same deficit asks only for what earlier victims will not cover.
"""

from dataclasses import dataclass

import numpy as np

from bigfleet.engine.acquisition import Acquired, Credit
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.kernels.hashing import number_by_value
from bigfleet.engine.kernels.records import KindArrays, NeedArrays, VictimArrays
from bigfleet.engine.kernels.victims import preempt
from bigfleet.engine.scene import Scene
from bigfleet.engine.vocabulary import StampColumns
from bigfleet.model.machines import MachineState
from bigfleet.model.options import EngineOptions


@dataclass(frozen=True, slots=True)
class Preempted:
    row: Int32s
    need: Int32s
    grace_seconds: Int32s
    #: Per Need: what neither victims of this cycle nor those still draining cover.
    unresolved: Int64s
    count_of_need: Int64s
    #: Per Need: a gang without a domain that takes one whole (U26); the domain is in the credit.
    whole_domain: Bools


def preempt_for(
    scene: Scene,
    needs: NeedArrays,
    kinds: KindArrays,
    credit: Credit,
    acquired: Acquired,
    queue: Int64s,
    draining: dict[int, list[int]],
    ready: Bools,
    options: EngineOptions,
) -> Preempted:
    """`draining`: by identity of their holder, the victims on their way, by id.

    Records the domain of a gang that had none and takes one whole.
    """
    unresolved = credit.remaining.copy()
    counted = _count_draining(unresolved, queue, draining, needs, kinds, scene)
    counts = np.zeros(len(needs.key), np.int64)
    none = np.zeros(0, np.int32)
    whole_domain = np.zeros(len(needs.key), np.bool_)
    short: Bools = np.any(unresolved[queue] > 0, axis=1)
    asking = np.flatnonzero(short & ~needs.parked[queue])
    if not len(asking):
        return Preempted(none, none, none, unresolved, counts, whole_domain)
    askers = queue[asking]
    victims = victim_runs(scene, needs, kinds, credit, askers, ready)
    if not len(victims.start):
        return Preempted(none, none, none, unresolved, counts, whole_domain)
    awaited = [counted.get(n, ()) for n in askers.tolist()] if counted else [()] * len(askers)
    weights = options.victim_weights
    found = preempt(
        askers,
        needs,
        kinds,
        scene.supply,
        victims,
        credit.holder,
        credit.domain,
        acquired.taken,
        acquired.start,
        acquired.count,
        np.array([row for rows in awaited for row in rows], np.int32),
        np.concatenate([[0], np.cumsum([len(rows) for rows in awaited])]).astype(np.int64),
        float(options.drain_seconds),
        np.array(
            [weights.priority, weights.drain, weights.interruption, weights.reclamation], np.float64
        ),
        unresolved,
        counts,
        whole_domain,
    )
    picked, picked_for, graces = (column.copy() for column in found)
    return Preempted(picked, picked_for, graces, unresolved, counts, whole_domain)


def _count_draining(
    unresolved: Int64s,
    queue: Int64s,
    draining: dict[int, list[int]],
    needs: NeedArrays,
    kinds: KindArrays,
    scene: Scene,
) -> dict[int, list[int]]:
    """A victim that still drains counts once, for the first Need of its holder that is short.

    Returns the victims counted for each Need.
    """
    counted: dict[int, list[int]] = {}
    left = {identity: list(rows) for identity, rows in draining.items()}
    for n in queue.tolist() if left else ():
        waiting = left.get(int(needs.identity[n]), [])
        while waiting and (unresolved[n] > 0).any():
            row = waiting.pop(0)
            offered = kinds.units[scene.supply.kind[row]]
            unresolved[n] = np.maximum(unresolved[n] - offered, 0)
            counted.setdefault(n, []).append(row)
    return counted


def victim_runs(
    scene: Scene,
    needs: NeedArrays,
    kinds: KindArrays,
    credit: Credit,
    askers: Int64s,
    ready: Bools,
) -> VictimArrays:
    """Configured machines some asker could want, in runs that score alike."""
    columns, stamps, kind = scene.snapshot.columns, scene.snapshot.stamps, scene.supply.kind
    interesting: Bools = np.any(kinds.eligible[np.unique(needs.key[askers])], axis=0)
    configured = columns.state == int(MachineState.CONFIGURED)
    rows = np.flatnonzero(configured & interesting[kind])
    holder, stamp = credit.holder[rows], columns.stamp[rows]
    # The holder of an unclaimed machine is -1: the Need that it finds is not looked at.
    priority = np.where(holder >= 0, needs.priority[holder], stamps.priority[stamp])
    lower = priority < needs.priority[askers].max()
    rows, holder, stamp, priority = rows[lower], holder[lower], stamp[lower], priority[lower]
    excess = (holder < 0) & ready[columns.cluster[rows]]
    penalty = _numbered_penalties(stamps)
    # Kind, penalties, priority (made positive) and excess as one number.
    sort = kind[rows].astype(np.int64) * (int(penalty.max()) + 1) + penalty[stamp]
    sort = (sort << 33) | ((priority + 2**31) << 1) | excess
    run, shown = number_by_value(sort)
    # Small numbers are sorted much faster.
    by_run = np.argsort(run.astype(np.min_scalar_type(len(shown))), kind="stable")
    count = np.bincount(run, minlength=len(shown))
    end = np.cumsum(count)
    return VictimArrays(
        rows=rows[by_run].astype(np.int32),
        start=(end - count).astype(np.int32),
        end=end.astype(np.int32),
        kind=kind[rows[shown]],
        priority=priority[shown],
        interruption=stamps.interruption_penalty[stamp[shown]],
        reclamation=stamps.reclamation_penalty[stamp[shown]],
        excess=excess[shown],
    )


def _numbered_penalties(stamps: StampColumns) -> Int64s:
    """For each stamp a number that those with the same two penalties share."""
    interruption = np.unique(stamps.interruption_penalty, return_inverse=True)[1]
    reclamation = np.unique(stamps.reclamation_penalty, return_inverse=True)[1]
    both = interruption * len(reclamation) + reclamation
    numbers: Int64s = np.unique(both, return_inverse=True)[1]
    return numbers
