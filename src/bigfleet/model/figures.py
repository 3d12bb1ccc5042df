"""A shard in figures: what its last cycle had of each sort, and what it counted since it started.

Counters only grow, so that the difference of two answers is what happened between them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bigfleet.model.machines import CapacityType, Instant, MachineState

#: The name of a row that sums up what has no row of its own.
OTHERS = "other"


class CostAxis(StrEnum):
    """What spending is told by."""

    CLUSTER = "cluster"
    TYPE = "type"
    ZONE = "zone"
    PRIORITY = "priority"
    CAPACITY = "capacity"
    TEAM = "team"
    NEED = "need"


#: Those that `spending_of` tells: the others take the settings of teams, or a decided cycle.
SPENDING_AXES = (
    CostAxis.CLUSTER,
    CostAxis.TYPE,
    CostAxis.ZONE,
    CostAxis.PRIORITY,
    CostAxis.CAPACITY,
)


@dataclass(frozen=True, slots=True)
class MachineSort:
    state: MachineState
    capacity_type: CapacityType
    #: The label of the stamped interruption penalty, such as `0.5` or `pinned`.
    penalty_bucket: str
    machines: int


@dataclass(frozen=True, slots=True)
class SpendingRow:
    """Machines of one name on an axis, in one state; none are Speculative."""

    axis: CostAxis
    #: Empty: machines that no cluster has, or without type, zone or stamped priority.
    name: str
    state: MachineState
    capacity_type: CapacityType
    machines: int
    #: Of them, those with the price 0: committed capacity.
    unpriced: int
    #: Billed: of machines with a host, and of those that are being created.
    dollars_per_hour: float
    #: Declared: probability times penalty, of Configured machines without the pinned ones.
    expected_interruption_per_hour: float
    #: Configured machines that may be interrupted although their workload never may.
    pinned: int


@dataclass(frozen=True, slots=True)
class DurationCounts:
    #: Empty: the whole cycle.
    phase: str
    #: By upper edge, and one more for what is above all of them.
    counts: tuple[int, ...]
    total_seconds: float


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Needs of one class of priority, by state."""

    priority_class: str
    met: int = 0
    arriving: int = 0
    blocked: int = 0
    short: int = 0


@dataclass(frozen=True, slots=True)
class ShardFigures:
    shard_id: str
    epoch: int
    #: 0: nothing was computed yet.
    cycle: int
    computed_at: Instant
    machines: int
    sessions: int
    shortfalls: int
    sorts: tuple[MachineSort, ...]
    spending: tuple[SpendingRow, ...]
    classes: tuple[ClassCounts, ...]
    #: Need rows by label of their interruption penalty.
    demand_by_bucket: Mapping[str, int]
    #: Since the shard started: actions handed on, by kind; proposals of parallel workers.
    actions: Mapping[str, int]
    proposals_committed: int
    proposals_conflicting: int
    #: Upper edges of the durations, in seconds, ascending.
    edges: tuple[float, ...]
    #: Since the shard started.
    durations: tuple[DurationCounts, ...]


def quantile(edges: tuple[float, ...], counts: tuple[int, ...], share: float) -> float | None:
    """From a histogram, between two edges by their distance; None: nothing was counted.

    What lies above the last edge counts as that edge, as it does in Prometheus.
    """
    total = sum(counts)
    if not total:
        return None
    wanted, below = share * total, 0
    for place, count in enumerate(counts):
        if below + count >= wanted and count:
            if place >= len(edges):
                return edges[-1]
            low = edges[place - 1] if place else 0.0
            return low + (edges[place] - low) * (wanted - below) / count
        below += count
    return edges[-1]


@dataclass(frozen=True, slots=True)
class AvailableCall:
    #: Empty: of all clusters.
    cluster: str = ""
    #: 0: as many as may be asked for.
    limit: int = 0


@dataclass(frozen=True, slots=True)
class AvailableRow:
    """Free machines that match a profile a cluster asks for, and hold one unit of it."""

    cluster: str
    fingerprint: str
    priority: int
    #: `key In a, b` each.
    requirements: tuple[str, ...]
    idle: int
    speculative: int
    #: High, Medium, Low or None.
    availability: str
    #: Dollars per hour of the next machine; 0 where there is none.
    cost_per_hour: float


@dataclass(frozen=True, slots=True)
class AvailableList:
    #: 0: nothing was computed yet.
    cycle: int
    #: Before the limit.
    total: int
    rows: tuple[AvailableRow, ...]
