"""Which actions of a decision are looked at one by one.

A fleet that has just connected may ask for a hundred thousand machines at once; the pool takes some
hundreds of them a cycle. So only the most urgent ones become records; the others are counted and
will be decided anew. Reclaims are given out by cluster, each in its own order, so many more of them
are looked at.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.outcome import Outcome
from bigfleet.model.actions import ActionKind

#: More than pool and queue hold, with as many again that are already under way.
MOST_ACQUIRED = 2_000
MOST_RECLAIMED = 10_000
MOST_DELETED = 2_000

_LIMITS = (
    ((ActionKind.PREEMPT, ActionKind.BOOTSTRAP, ActionKind.PROVISION), MOST_ACQUIRED),
    ((ActionKind.RECLAIM,), MOST_RECLAIMED),
    ((ActionKind.DELETE,), MOST_DELETED),
)


@dataclass(frozen=True, slots=True)
class Considered:
    #: Ascending places in the order of emission.
    places: Int64s
    #: How many of each kind were left out.
    left_out: Counter[ActionKind]
    #: Machines whose Preempt was left out: nothing is reserved for them.
    left_victims: tuple[str, ...] = ()


def considered_of(outcome: Outcome) -> Considered:
    columns = outcome.action_columns
    if len(columns) <= MOST_ACQUIRED:
        return Considered(np.arange(len(columns)), Counter())
    kept: list[Int64s] = []
    for kinds, most in _LIMITS:
        places = np.flatnonzero(np.isin(columns.kind, kinds))
        kept.append(_most_urgent(outcome, places, most))
    chosen = np.sort(np.concatenate(kept))
    left = np.ones(len(columns), np.bool_)
    left[chosen] = False
    out = np.flatnonzero(left)
    ids = outcome.scene.snapshot.ids
    victims = out[columns.kind[out] == ActionKind.PREEMPT]
    return Considered(
        chosen,
        Counter(ActionKind(kind) for kind in columns.kind[out].tolist()),
        tuple(ids[row] for row in columns.row[victims].tolist()),
    )


def _most_urgent(outcome: Outcome, places: Int64s, most: int) -> Int64s:
    """By the Need's priority; at equal priority victims first, then what was emitted first."""
    if len(places) <= most:
        return places
    columns = outcome.action_columns
    need = columns.need[places]
    priority = np.where(need >= 0, outcome.needs.priority[need], 0)
    no_victim = columns.kind[places] != ActionKind.PREEMPT
    return places[np.lexsort((places, no_victim, -priority))[:most]]
