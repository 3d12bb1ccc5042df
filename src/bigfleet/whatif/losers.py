"""What a change costs: who is short of more, what is billed more, what clusters declared.

All of it compares two decisions by their columns; only the Needs that lose become records.
"""

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.actions import ActionKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources


class Loser(NamedTuple):
    """A Need that gets less than without the change."""

    need: NeedKey
    #: What it is short of more than before, with what is preempted from it.
    lost: Resources


class Price(NamedTuple):
    #: Of what is bought less what is given back; billed.
    dollars_per_hour: float
    #: Declared for the machines that are preempted; never part of a bill.
    penalty_dollars: float
    #: Machines preempted whose penalty has no finite amount.
    pinned_victims: int


def losers_of(base: Decision, changed: Decision, but: Collection[NeedKey]) -> tuple[Loser, ...]:
    """Needs whose verdict is worse than in the base, those of the highest precedence first."""
    dimensions = tuple(sorted({*base.outcome.scene.dimensions, *changed.outcome.scene.dimensions}))
    before, after = _shortages(base, dimensions), _shortages(changed, dimensions)
    order = np.argsort(before.identity, kind="stable")
    at = np.minimum(np.searchsorted(before.identity[order], after.identity), len(order) - 1)
    lost = after.amounts.copy()
    if len(order):
        known = before.identity[order[at]] == after.identity
        lost[known] -= before.amounts[order[at[known]]]
    found = []
    for place in np.flatnonzero((lost > 0).any(axis=1)).tolist():
        key = changed.outcome.key(int(after.row[place]))
        if key not in but:
            pairs = zip(dimensions, lost[place].tolist(), strict=True)
            found.append((int(after.row[place]), Loser(key, _positive(pairs))))
    precedence = changed.outcome.needs.precedence
    found.sort(key=lambda each: (-int(precedence[each[0]]), each[0]))
    return tuple(loser for _, loser in found)


def price_of(decision: Decision) -> Price:
    actions, snapshot = decision.outcome.action_columns, decision.outcome.scene.snapshot
    bought = price_of_machines(
        snapshot,
        actions.row[actions.kind == ActionKind.PROVISION].astype(np.int64),
        actions.row[actions.kind == ActionKind.PREEMPT].astype(np.int64),
    )
    given_back = actions.row[actions.kind == ActionKind.DELETE]
    price = snapshot.offerings.price[snapshot.columns.offering[given_back]]
    saved = math.fsum(price.tolist())
    return bought._replace(dollars_per_hour=bought.dollars_per_hour - saved)


def price_of_machines(snapshot: Snapshot, bought: Int64s, preempted: Int64s) -> Price:
    """Of rows of machines."""
    price = snapshot.offerings.price[snapshot.columns.offering[bought]]
    stamp, stamps = snapshot.columns.stamp[preempted], snapshot.stamps
    declared = stamps.interruption_penalty[stamp] + stamps.reclamation_penalty[stamp]
    finite = np.isfinite(declared)
    return Price(
        math.fsum(price.tolist()),
        math.fsum(declared[finite].tolist()),
        int(np.count_nonzero(~finite)),
    )


class _Shortages(NamedTuple):
    """What Needs are short of once the victims have gone; only those that are short of anything."""

    #: The same number for the same Need in every decision; Needs that share a name are one.
    identity: Int64s
    #: One row of the normalised demand that has this identity.
    row: Int64s
    amounts: Int64s


def _shortages(decision: Decision, dimensions: tuple[str, ...]) -> _Shortages:
    outcome = decision.outcome
    holder = outcome.credit.holder[outcome.preempted.row]
    kind = outcome.scene.supply.kind[outcome.preempted.row]
    robbed, taken = holder[holder >= 0], outcome.kinds.units[kind[holder >= 0]]
    rows: Int64s = np.unique(np.concatenate([outcome.queue, robbed])).astype(np.int64)
    short = np.where(outcome.unsatisfied[rows][:, None], outcome.credit.remaining[rows], 0)
    np.add.at(short, np.searchsorted(rows, robbed), taken)
    # What it never asked for, it does not lose.
    short[outcome.needs.wanted[rows] <= 0] = 0
    normalised, names = outcome.normalised, outcome.scene.cluster_names
    hashed = np.array([pair_of(name, "\0cluster") for name in names] or [0], np.int64)
    identity = normalised.pair[rows] + hashed[normalised.cluster[rows]]
    distinct, first, place = np.unique(identity, return_index=True, return_inverse=True)
    amounts = np.zeros((len(distinct), len(dimensions)), np.int64)
    columns = [dimensions.index(name) for name in outcome.scene.dimensions]
    wide = np.zeros((len(rows), len(dimensions)), np.int64)
    wide[:, columns] = short
    np.add.at(amounts, place, wide)
    return _Shortages(distinct, rows[first], amounts)


def _positive(pairs: "zip[tuple[str, int]]") -> Resources:
    return Resources(tuple((name, amount) for name, amount in pairs if amount > 0))
