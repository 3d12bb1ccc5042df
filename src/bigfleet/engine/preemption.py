"""Phase 2: strictly lower machines make way for what Phase 1 left short.

A victim is not moved here: it drains to Idle, reserved for the Need that asked, and a later cycle's
Phase 1 takes it. So the same deficit asks only for what earlier victims will not cover.
"""

from dataclasses import dataclass

import numpy as np

from bigfleet.engine.acquisition import Acquired, Credit
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.kernels.records import KindArrays, NeedArrays, VictimArrays
from bigfleet.engine.kernels.vectors import take
from bigfleet.engine.kernels.victims import group_victims, preempt, priority_of_group
from bigfleet.engine.scene import Scene
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
    victims = _victims(scene, needs, kinds, credit, askers, ready)
    if not len(victims.start):
        return Preempted(none, none, none, unresolved, counts, whole_domain)
    awaited = [counted.get(n, ()) for n in askers.tolist()] if counted else [()] * len(askers)
    weights = options.victim_weights
    picked, picked_for, graces = preempt(
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
            take(unresolved[n], kinds.units[scene.supply.kind[row]])
            counted.setdefault(n, []).append(row)
    return counted


def _victims(
    scene: Scene,
    needs: NeedArrays,
    kinds: KindArrays,
    credit: Credit,
    askers: Int64s,
    ready: Bools,
) -> VictimArrays:
    """Configured machines some asker could want, in runs that score alike."""
    snapshot = scene.snapshot
    stamps = snapshot.stamps
    interesting: Bools = np.any(kinds.eligible[np.unique(needs.key[askers])], axis=0)
    interruption = np.unique(stamps.interruption_penalty, return_inverse=True)[1]
    reclamation = np.unique(stamps.reclamation_penalty, return_inverse=True)[1]
    penalty = interruption * (int(reclamation.max()) + 1) + reclamation
    penalty = np.unique(penalty, return_inverse=True)[1].astype(np.int32)
    rows, starts, shown, keys = group_victims(
        snapshot.columns.state,
        scene.supply.kind,
        scene.supply.stamp,
        snapshot.columns.cluster,
        ready,
        credit.holder,
        needs.priority,
        stamps.priority.astype(np.int64),
        penalty,
        interesting,
        int(needs.priority[askers].max()),
        int(penalty.max()) + 1,
    )
    stamp = snapshot.columns.stamp[shown]
    excess = (credit.holder[shown] < 0) & ready[snapshot.columns.cluster[shown]]
    return VictimArrays(
        rows=rows,
        start=starts[:-1].astype(np.int32),
        end=starts[1:].astype(np.int32),
        kind=scene.supply.kind[shown],
        priority=priority_of_group(keys),
        interruption=stamps.interruption_penalty[stamp],
        reclamation=stamps.reclamation_penalty[stamp],
        excess=excess,
    )
