"""Spending: what the machines of a snapshot cost per hour, by who has them and what they are.

Billed are machines with a host and those being created. A bound machine is its cluster's, one being
created that of the cluster that ordered it; all others are nobody's and stand under the empty name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.kernels.compiled import Floats, Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.figures import OTHERS, CostAxis, SpendingRow
from bigfleet.model.machines import CapacityType, MachineState

#: Names of an axis that have rows of their own, those that cost most first.
MOST_NAMES = 1_000
_STATES, _TYPES = len(MachineState), len(CapacityType)


def spending_of(snapshot: Snapshot) -> list[SpendingRow]:
    """By axis, name, state and capacity type."""
    columns, tables = snapshot.columns, snapshot.tables
    real = np.flatnonzero(columns.state != int(MachineState.SPECULATIVE))
    offering, stamp = columns.offering[real], columns.stamp[real]
    state, offerings, stamps = columns.state[real], snapshot.offerings, snapshot.stamps
    ordered = np.where(state == int(MachineState.CREATING), stamps.cluster[stamp], -1)
    cluster = np.where(columns.cluster[real] >= 0, columns.cluster[real], ordered)
    assigned = cluster >= 0
    facts = _Facts.of(snapshot, real)
    rows_of_table = tables.offerings.table.rows
    types, type_of = _numbered([each.instance_type for each in rows_of_table])
    zones, zone_of = _numbered([each.zone for each in rows_of_table])
    capacities = [kind.label for kind in CapacityType]
    levels, level_of = np.unique(stamps.priority, return_inverse=True)
    kind = (state.astype(np.int64) * _TYPES) + offerings.capacity_type[offering]
    clusters = [*tables.clusters.rows[: snapshot.cluster_count], ""]
    priorities = [*map(str, levels.tolist()), ""]
    axes = (
        (CostAxis.CLUSTER, clusters, np.where(assigned, cluster, len(clusters) - 1)),
        (CostAxis.TYPE, types, type_of[offering]),
        (CostAxis.ZONE, zones, zone_of[offering]),
        (
            CostAxis.PRIORITY,
            priorities,
            np.where(assigned, level_of.ravel()[stamp], len(priorities) - 1),
        ),
        (CostAxis.CAPACITY, capacities, offerings.capacity_type[offering].astype(np.int64)),
    )
    return [row for axis, names, name in axes for row in _rows(axis, names, name, kind, facts)]


def _numbered(names: Sequence[str]) -> tuple[list[str], Int64s]:
    """Each name once, and its number by row."""
    number_of = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return list(number_of), np.array([number_of[name] for name in names], np.int64)


@dataclass(frozen=True, slots=True)
class _Facts:
    """Of every machine that is not Speculative."""

    price: Floats
    interruption: Floats
    pinned: Floats

    @classmethod
    def of(cls, snapshot: Snapshot, real: Int64s) -> "_Facts":
        columns, offerings = snapshot.columns, snapshot.offerings
        offering = columns.offering[real]
        configured = columns.state[real] == int(MachineState.CONFIGURED)
        risk = np.where(configured, offerings.probability[offering], 0.0)
        penalty = snapshot.stamps.interruption_penalty[columns.stamp[real]]
        pinned = np.isinf(penalty)
        expected = risk * np.where(pinned, 0.0, penalty)
        return cls(offerings.price[offering], expected, ((risk > 0) & pinned).astype(np.float64))


def _rows(
    axis: CostAxis, names: list[str], name: Int64s, kind: Int64s, facts: _Facts
) -> list[SpendingRow]:
    if not len(name):
        return []
    name, shown = _largest(names, name.astype(np.int64), facts.price)
    sorts = _STATES * _TYPES
    group = name * sorts + kind
    size = len(shown) * sorts
    machines = np.bincount(group, minlength=size)
    unpriced = np.bincount(group, weights=facts.price == 0, minlength=size)
    sums = [
        np.bincount(group, weights=each, minlength=size)
        for each in (facts.price, facts.interruption, facts.pinned)
    ]
    found = []
    for row in np.flatnonzero(machines).tolist():
        place, sort = divmod(row, sorts)
        state, capacity = divmod(sort, _TYPES)
        found.append(
            SpendingRow(
                axis,
                shown[place],
                MachineState(state),
                CapacityType(capacity),
                int(machines[row]),
                int(unpriced[row]),
                float(sums[0][row]),
                float(sums[1][row]),
                int(sums[2][row]),
            )
        )
    return found


def _largest(names: list[str], name: Int64s, price: Floats) -> tuple[Int64s, list[str]]:
    """Names beyond the most are one; the number of each machine's name among those shown."""
    if len(names) <= MOST_NAMES:
        return name, names
    dollars = np.bincount(name, weights=price, minlength=len(names))
    machines = np.bincount(name, minlength=len(names))
    order = np.lexsort((np.arange(len(names)), -machines, -dollars))[:MOST_NAMES]
    place = np.full(len(names), MOST_NAMES, np.int64)
    place[order] = np.arange(len(order))
    return place[name], [*(names[row] for row in order.tolist()), OTHERS]
