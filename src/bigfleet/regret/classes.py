"""A decided cycle as classes of machines and groups of Needs: what the linear programs are made of.

Index spaces: C machine classes (machines that no Need can tell apart, of one instance type), G
groups (Needs that ask for the same, at one priority and penalty), L levels (priorities, the highest
first), D dimensions, P pairs of a group and a class of which the cycle made claims.

Machines may move: any machine that is usable counts for any Need it fits, wherever it is bound. A
gang that the engine folded onto one machine may use smaller ones here, and its Same is dropped.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.kernels.compiled import BoolTable, Floats, Int64s, Int64Table
from bigfleet.engine.outcome import Outcome
from bigfleet.model.machines import MachineState

_FREE = (int(MachineState.IDLE), int(MachineState.SPECULATIVE))
_COMING = tuple(
    int(state)
    for state in (MachineState.CONFIGURED, MachineState.CONFIGURING, MachineState.CREATING)
)


@dataclass(frozen=True, slots=True)
class FleetClasses:
    dimensions: tuple[str, ...]
    machines: Int64s  # C, how many are usable
    price: Floats  # C
    probability: Floats  # C
    units: Floats  # C x D, what one machine offers
    instance_type: tuple[str, ...]  # C
    total: Floats  # G x D, what the group asks for
    largest: Floats  # G x D, what one Need of it asks for at most
    least_machines: Floats  # G, whole machines without which it cannot be covered
    penalty: Floats  # G, dollars of an interruption, may be infinite
    level: Int64s  # G -> L
    fits: BoolTable  # G x C
    priorities: Int64s  # L
    uncovered: Floats  # L x D, what the cycle leaves uncovered
    claim_group: Int64s  # P -> G
    claim_class: Int64s  # P -> C
    claims: Int64s  # P, machines

    def cost(self, group: Int64s, machine_class: Int64s) -> Floats:
        """Effective cost per hour; 0 x infinity = 0 (U4)."""
        risk, penalty = self.probability[machine_class], self.penalty[group]
        expected = np.zeros(len(risk))
        np.multiply(risk, penalty, out=expected, where=risk > 0)
        return self.price[machine_class] + expected


def classes_of(outcome: Outcome, *, merge: bool = False) -> FleetClasses:
    """`merge`: Needs of one priority, penalty and set of machines become one group whatever their
    sizes. That makes the programs smaller, and the bound lower."""
    asking = np.flatnonzero(np.any(outcome.needs.wanted > 0, axis=1))
    wanted = outcome.needs.wanted[asking]
    fits_key, key = _eligibility(outcome, asking)
    demanded = np.flatnonzero(np.any(wanted > 0, axis=0))
    wanted = wanted[:, demanded]
    usable = _usable(outcome)
    kind_class, first_kind, fits_key = _machine_classes(outcome, usable, fits_key, demanded)
    class_of_row = kind_class[outcome.scene.supply.kind]
    units = outcome.kinds.units[first_kind][:, demanded].astype(np.float64)
    alike, key_number = np.unique(fits_key, axis=0, return_inverse=True)
    key = key_number.ravel()[key]
    priorities, level = np.unique(-outcome.needs.priority[asking], return_inverse=True)
    level = level.ravel()
    group, first = _groups(level, key, outcome.needs.penalty[asking], wanted, merge)
    fits = alike[key[first]]
    size = len(first)
    total = np.zeros((size, len(demanded)))
    np.add.at(total, group, wanted.astype(np.float64))
    largest = np.zeros((size, len(demanded)))
    np.maximum.at(largest, group, wanted.astype(np.float64))
    most = _most_offered(alike, units)[key]
    least = np.zeros(size)
    np.add.at(least, group, _least_machines(wanted, most))
    uncovered = np.zeros((len(priorities), len(demanded)))
    remaining = outcome.credit.remaining[asking][:, demanded]
    np.add.at(uncovered, level, np.maximum(remaining, 0).astype(np.float64))
    claimed = np.flatnonzero(outcome.credit.holder >= 0)
    place = np.full(len(outcome), -1, np.int64)
    place[asking] = group
    claim = place[outcome.credit.holder[claimed]] * len(first_kind) + class_of_row[claimed]
    pair, claims = np.unique(claim, return_counts=True)
    return FleetClasses(
        dimensions=tuple(outcome.scene.dimensions[d] for d in demanded.tolist()),
        machines=np.bincount(class_of_row[usable], minlength=len(first_kind)),
        price=outcome.kinds.price[first_kind],
        probability=outcome.kinds.probability[first_kind],
        units=units,
        instance_type=_instance_types(outcome, class_of_row, usable, len(first_kind)),
        total=total,
        largest=largest,
        least_machines=least,
        penalty=outcome.needs.penalty[asking][first],
        level=level[first],
        fits=fits,
        priorities=-priorities,
        uncovered=uncovered,
        claim_group=pair // max(1, len(first_kind)),
        claim_class=pair % max(1, len(first_kind)),
        claims=claims,
    )


def _usable(outcome: Outcome) -> Int64s:
    """Rows of machines that some Need may claim, now or once they are freed."""
    columns = outcome.scene.snapshot.columns
    free = np.isin(columns.state, _FREE) & (columns.held == 0)
    coming = np.isin(columns.state, _COMING) & ~columns.overdue
    return np.flatnonzero(free | coming | (outcome.credit.holder >= 0))


def _eligibility(outcome: Outcome, asking: Int64s) -> tuple[BoolTable, Int64s]:
    """Which kinds fit each key, and the key of each Need; folded groups have keys of their own."""
    eligible, scene = outcome.kinds.eligible[:, :-1], outcome.scene
    normalised, key = outcome.normalised, outcome.needs.key.astype(np.int64)
    folded = np.arange(normalised.first_folded, len(normalised))
    if len(folded):
        of_member = scene.vector_units[scene.demand.columns.unit[normalised.members]]
        unit = np.minimum.reduceat(of_member, normalised.starts[:-1], axis=0)[folded]
        unit = np.minimum(unit, scene.vector_units[normalised.unit[folded]])
        fits = scene.matches[normalised.profile[folded]].copy()
        for wanted, offered in zip(unit.T, scene.kind_units.T, strict=True):
            fits &= offered >= wanted[:, None]
        key[folded] = len(eligible) + np.arange(len(folded))
        eligible = np.concatenate([eligible, fits])
    used, number = np.unique(key[asking], return_inverse=True)
    return eligible[used], number.ravel()


def _machine_classes(
    outcome: Outcome, usable: Int64s, fits_key: BoolTable, demanded: Int64s
) -> tuple[Int64s, Int64s, BoolTable]:
    """The class of each kind (-1: without usable machines), a kind of each class, and which classes
    fit each key."""
    kinds, size = outcome.kinds, len(outcome.kinds.price)
    present = np.unique(outcome.scene.supply.kind[usable])
    told_apart: list[NDArray[np.int64]] = [
        kinds.type_rank[present].astype(np.int64),
        kinds.price[present].view(np.int64),
        kinds.probability[present].view(np.int64),
        *kinds.units[present][:, demanded].T,
        *np.packbits(fits_key[:, present], axis=0).astype(np.int64),
    ]
    _, first, number = np.unique(
        np.stack(told_apart, axis=1), axis=0, return_index=True, return_inverse=True
    )
    class_of = np.full(size, -1, np.int64)
    class_of[present] = number.ravel()
    chosen = present[first].astype(np.int64)
    return class_of, chosen, fits_key[:, chosen]


def _groups(
    level: Int64s, key: Int64s, penalty: Floats, wanted: Int64Table, merge: bool
) -> tuple[Int64s, Int64s]:
    """The group of each Need, and a Need of each group."""
    sizes = (wanted > 0).astype(np.int64) if merge else wanted
    told_apart = np.column_stack([level, key, penalty.view(np.int64), sizes])
    _, first, group = np.unique(told_apart, axis=0, return_index=True, return_inverse=True)
    return group.ravel(), first


def _least_machines(wanted: Int64Table, most: Floats) -> Floats:
    """Per Need: it takes as many machines as of the largest that fits, in its scarcest dimension;
    0 where a dimension cannot be had."""
    of_each = np.zeros(wanted.shape)
    np.divide(wanted, most, out=of_each, where=most > 0)
    # Below every real remainder, so that no rounding of the division asks for one machine too many.
    least: Floats = np.ceil(of_each * (1 - 1e-12)).max(axis=1, initial=0.0)
    return least


def _most_offered(fits: BoolTable, units: Floats) -> Floats:
    """What the largest machine that fits offers, by row of `fits` and dimension."""
    columns = [np.where(fits, offered, 0.0).max(axis=1, initial=0.0) for offered in units.T]
    return np.stack(columns, axis=1) if columns else np.zeros((len(fits), 0))


def _instance_types(
    outcome: Outcome, class_of_row: Int64s, usable: Int64s, size: int
) -> tuple[str, ...]:
    offerings = outcome.scene.snapshot.tables.offerings.table.rows
    row_of_class = np.zeros(size, np.int64)
    row_of_class[class_of_row[usable]] = usable
    columns = outcome.scene.snapshot.columns
    return tuple(offerings[columns.offering[row]].instance_type for row in row_of_class.tolist())
