"""Rates: what the machines of a decided cycle cost per hour, and who has them.

Billed are machines with a host and those being created. A bound machine is its cluster's and the
Need's that claims it, one being created is the Need's that ordered it. Machines that no cluster has
stand in a row of their own, and on each axis the rows add up to the total.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.kernels.compiled import Bools, Floats, Int64s
from bigfleet.engine.outcome import Outcome
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.batches import Offering
from bigfleet.model.costs import AMOUNTS, NO_TEAM, SHARED, Amounts, CostRow, by_bill
from bigfleet.model.figures import OTHERS, CostAxis
from bigfleet.model.fleet import Costs
from bigfleet.model.machines import CapacityType, MachineState

#: Names of an axis that have rows of their own, those that cost most first.
MOST_NAMES = 1_000
#: In a metric, machines that no cluster has: an empty label would be none.
NO_CLUSTER = "-"
_CLAIMABLE = (MachineState.CREATING, MachineState.CONFIGURING, MachineState.CONFIGURED)


@dataclass(frozen=True, slots=True)
class AxisColumn:
    """The number of each billed machine's name; names are made when they are read."""

    number: Int64s
    size: int
    name: Callable[[int], str]


class CostSheet:
    """What each billed machine costs, as columns; immutable, and safe to read from any thread."""

    def __init__(self, outcome: Outcome, costs: Costs) -> None:
        self._outcome = outcome
        self.costs = costs
        self.snapshot: Snapshot = outcome.scene.snapshot
        columns = self.snapshot.columns
        billed = (columns.provider >= 0) | (columns.state == int(MachineState.CREATING))
        #: Of billed machines, ascending; all other columns are of these.
        self.rows: Int64s = np.flatnonzero(billed)
        self.state = columns.state[self.rows]
        self.offering = columns.offering[self.rows]
        self.stamp = columns.stamp[self.rows]
        self.price: Floats = self.snapshot.offerings.price[self.offering]
        #: -1: no cluster has it.
        self.cluster = self._cluster_of_machine()
        #: The Need that claims it, -1: none does.
        self.holder = np.where(
            np.isin(self.state, _CLAIMABLE), outcome.credit.holder[self.rows], -1
        ).astype(np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    # -- amounts ---------------------------------------------------------------------------------

    @cached_property
    def amounts(self) -> dict[str, Floats]:
        """By field of Amounts, of each billed machine."""
        committed = self.price == 0
        imputed = self._imputed_of_offering[self.offering]
        penalty = self.snapshot.stamps.interruption_penalty[self.stamp]
        probability = self.snapshot.offerings.probability[self.offering]
        risk = np.where(self.state == int(MachineState.CONFIGURED), probability, 0.0)
        pinned = np.isinf(penalty)
        idle, stranded = self.idle, self.stranded
        return {
            "machines": np.ones(len(self)),
            "committed": committed.astype(np.float64),
            "unvalued": (committed & np.isnan(imputed)).astype(np.float64),
            "billed": self.price,
            "imputed": np.where(committed & ~np.isnan(imputed), imputed, 0.0),
            "interruption": risk * np.where(pinned, 0.0, penalty),
            "pinned": ((risk > 0) & pinned).astype(np.float64),
            "waste": self.price * self.unused,
            "idle": np.where(idle, self.price, 0.0),
            "stranded": np.where(stranded, self.price, 0.0),
        }

    @cached_property
    def idle(self) -> Bools:
        held = self.snapshot.columns.held[self.rows] != 0
        free: Bools = (self.state == int(MachineState.IDLE)) & ~held
        return free

    @cached_property
    def stranded(self) -> Bools:
        held = self.snapshot.columns.held[self.rows] != 0
        excess = (self.state == int(MachineState.CONFIGURED)) & (self.holder < 0)
        kept_back = (self.state == int(MachineState.IDLE)) & held
        found: Bools = (self.state == int(MachineState.FAILED)) | kept_back | excess
        return found

    @cached_property
    def unused(self) -> Floats:
        """Of machines that a Need claims the part it leaves unused, in the dimension that fills
        first; 0 of all others."""
        outcome, claimed = self._outcome, self.holder >= 0
        wanted = outcome.needs.wanted.astype(np.float64)
        holder = self.holder[claimed]
        kind = outcome.scene.supply.kind[self.rows[claimed]]
        used = np.zeros(len(outcome))
        for dimension in range(wanted.shape[1]):
            unit = outcome.kinds.units[kind, dimension].astype(np.float64)
            there = np.bincount(holder, weights=unit, minlength=len(outcome))
            share = np.divide(
                wanted[:, dimension], there, out=np.zeros(len(outcome)), where=there > 0
            )
            np.maximum(used, np.minimum(share, 1.0), out=used)
        unused = np.zeros(len(self))
        unused[claimed] = 1.0 - used[holder]
        return unused

    @cached_property
    def _imputed_of_offering(self) -> Floats:
        """By instance type, else by capacity type; NaN where neither is named."""
        worths = (
            self.costs.imputed_of(each.instance_type, CapacityType(each.capacity_type).label)
            for each in self.snapshot.tables.offerings.table.rows
        )
        return np.array([math.nan if each is None else each for each in worths], np.float64)

    # -- axes ------------------------------------------------------------------------------------

    def column(self, axis: CostAxis) -> AxisColumn:
        match axis:
            case CostAxis.CLUSTER:
                return self._named([*self._clusters, SHARED], self._owned(self.cluster))
            case CostAxis.TEAM:
                return self._teams()
            case CostAxis.NEED:
                return self._needs()
            case CostAxis.PRIORITY:
                return self._priorities()
            case CostAxis.TYPE:
                return self._by_offering([o.instance_type for o in self._offerings])
            case CostAxis.ZONE:
                return self._by_offering([o.zone for o in self._offerings])
            case CostAxis.CAPACITY:
                return self._by_offering(
                    [CapacityType(o.capacity_type).label for o in self._offerings]
                )

    @property
    def _offerings(self) -> Sequence[Offering]:
        return self.snapshot.tables.offerings.table.rows

    @property
    def _clusters(self) -> list[str]:
        return self.snapshot.tables.clusters.rows[: self.snapshot.cluster_count]

    def _cluster_of_machine(self) -> Int64s:
        bound = self.snapshot.columns.cluster[self.rows]
        creating = self.state == int(MachineState.CREATING)
        ordered = np.where(creating, self.snapshot.stamps.cluster[self.stamp], -1)
        return np.where(bound >= 0, bound, ordered).astype(np.int64)

    def _owned(self, number: Int64s) -> Int64s:
        """Machines that no cluster has are the last name."""
        return np.where(number >= 0, number, self.snapshot.cluster_count)

    def _named(self, names: Sequence[str], number: Int64s) -> AxisColumn:
        return AxisColumn(number, len(names), names.__getitem__)

    def _by_offering(self, name_of_offering: list[str]) -> AxisColumn:
        names, number = numbered(name_of_offering)
        return self._named(names, number[self.offering])

    def _teams(self) -> AxisColumn:
        teams = self.costs.team_of_cluster
        names, number = numbered([*(teams.get(c, NO_TEAM) for c in self._clusters), SHARED])
        return self._named(names, number[self._owned(self.cluster)])

    def _priorities(self) -> AxisColumn:
        levels, level = np.unique(self.snapshot.stamps.priority[self.stamp], return_inverse=True)
        number = np.where(self.cluster >= 0, level.ravel(), len(levels)).astype(np.int64)
        return self._named([*map(str, levels.tolist()), SHARED], number)

    def _needs(self) -> AxisColumn:
        """Needs, then of each cluster what none of its Needs claims, then what no cluster has."""
        needs, clusters = len(self._outcome), self._clusters
        unclaimed = needs + self._owned(self.cluster)

        def name(number: int) -> str:
            if number < needs:
                key = self._outcome.key(number)
                return f"need/{key.cluster}/{key.need_id}"
            cluster = number - needs
            return f"unclaimed/{clusters[cluster]}" if cluster < len(clusters) else SHARED

        number = np.where(self.holder >= 0, self.holder, unclaimed)
        return AxisColumn(number, needs + len(clusters) + 1, name)

    # -- answers ---------------------------------------------------------------------------------

    def total(self) -> Amounts:
        return Amounts(*(float(self.amounts[name].sum()) for name in AMOUNTS))

    def bill_by_cluster(self, most: int) -> dict[tuple[str, str], float]:
        """Dollars per hour by cluster and label of the capacity type; clusters beyond those that
        cost most are one."""
        clusters, kinds = self.column(CostAxis.CLUSTER), len(CapacityType)
        capacity = self.snapshot.offerings.capacity_type[self.offering].astype(np.int64)
        bill = np.bincount(
            clusters.number * kinds + capacity, weights=self.price, minlength=clusters.size * kinds
        ).reshape(clusters.size, kinds)
        whole = bill.sum(axis=1)
        shown = set(np.lexsort((np.arange(clusters.size), -whole))[:most].tolist())
        found: dict[tuple[str, str], float] = {}
        for cluster, kind in zip(*np.nonzero(bill), strict=True):
            name = (clusters.name(int(cluster)) or NO_CLUSTER) if int(cluster) in shown else OTHERS
            key = name, CapacityType(int(kind)).label
            found[key] = found.get(key, 0.0) + float(bill[cluster, kind])
        return found

    def by(self, axis: CostAxis, most: int = MOST_NAMES) -> tuple[CostRow, ...]:
        """What costs most first; names beyond the most are one row."""
        column = self.column(axis)
        sums = sums_of(self.amounts, column.number, column.size)
        there = np.flatnonzero(sums[:, 0])
        shown, rest = split(there, sums, most)
        rows = [CostRow(column.name(at), Amounts(*sums[at].tolist())) for at in shown.tolist()]
        if len(rest):
            rows.append(CostRow(OTHERS, Amounts(*sums[rest].sum(axis=0).tolist())))
        return by_bill(rows)


def numbered(names: Sequence[str]) -> tuple[list[str], Int64s]:
    """Each name once, and its number by place."""
    number_of = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return list(number_of), np.array([number_of[name] for name in names], np.int64)


def sums_of(amounts: dict[str, Floats], number: Int64s, size: int) -> NDArray[np.float64]:
    """One row per name, one column per field of Amounts."""
    sums = np.zeros((size, len(AMOUNTS)))
    for place, name in enumerate(AMOUNTS):
        sums[:, place] = np.bincount(number, weights=amounts[name], minlength=size)
    return sums


def split(there: Int64s, sums: NDArray[np.float64], most: int) -> tuple[Int64s, Int64s]:
    """Those that cost most, and the rest."""
    if len(there) <= most:
        return there, there[:0]
    machines, billed = sums[there, 0], sums[there, AMOUNTS.index("billed")]
    order = there[np.lexsort((there, -machines, -billed))]
    return order[:most], order[most:]
