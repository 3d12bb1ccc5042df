"""The census: how many machines and how much demand there is of each sort.

Counted by offering and profile, not by machine and Need: reading it costs what there is to tell.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.kernels.hashing import number_by_value
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.machines import Assigned, CapacityType, MachineState
from bigfleet.model.penalties import UNSPECIFIED, Bucket, bucket_of_dollars

_FREE = (MachineState.IDLE, MachineState.SPECULATIVE)
#: These cost nothing.
_HOSTLESS = (MachineState.SPECULATIVE, MachineState.CREATING)


@dataclass(frozen=True, slots=True)
class Census:
    machines: int
    #: Idle and Speculative, held ones included.
    free: int
    #: By state, capacity type and the bucket of the stamped interruption penalty; a machine
    #: without stamp has none.
    by_sort: Mapping[tuple[MachineState, CapacityType, Bucket], int]
    by_instance_type: Mapping[str, int]
    by_zone: Mapping[str, int]
    #: Dollars per hour of real machines, by state and capacity type.
    cost: Mapping[tuple[MachineState, CapacityType], float]
    #: Dollars per hour their interruptions are expected to cost those who have them; infinite
    #: where one that may be interrupted has a pinned workload (U4).
    interruption_cost: Mapping[tuple[MachineState, CapacityType], float]


def census_of(snapshot: Snapshot) -> Census:
    columns = snapshot.columns
    offerings = snapshot.tables.offerings.table.rows
    stamps = snapshot.tables.stamps.table.rows
    types: Counter[str] = Counter()
    zones: Counter[str] = Counter()
    for offering, machines in enumerate(np.bincount(columns.offering).tolist()):
        if machines:
            types[offerings[offering].instance_type] += machines
            zones[offerings[offering].zone] += machines
    sorts: Counter[tuple[MachineState, CapacityType, Bucket]] = Counter()
    cost: dict[tuple[MachineState, CapacityType], float] = defaultdict(float)
    interruption: dict[tuple[MachineState, CapacityType], float] = defaultdict(float)
    states, unassigned = len(MachineState), Assigned()
    offered = columns.stamp.astype(np.int64) * len(offerings) + columns.offering
    number, first = number_by_value(offered * states + columns.state)
    for row, machines in zip(first.tolist(), np.bincount(number).tolist(), strict=True):
        state = MachineState(int(columns.state[row]))
        offered_as = offerings[int(columns.offering[row])]
        capacity_type = CapacityType(offered_as.capacity_type)
        stamp = stamps[int(columns.stamp[row])]
        is_assigned = stamp != unassigned
        bucket = bucket_of_dollars(stamp.interruption_penalty) if is_assigned else UNSPECIFIED
        sorts[state, capacity_type, bucket] += machines
        if state not in _HOSTLESS:
            cost[state, capacity_type] += machines * offered_as.price_per_hour
            risk = offered_as.interruption_probability
            expected = risk * stamp.interruption_penalty if risk > 0 else 0.0
            interruption[state, capacity_type] += machines * expected
    del types[""], zones[""]
    return Census(
        machines=len(snapshot),
        free=int(np.isin(columns.state, _FREE).sum()),
        by_sort=sorts,
        by_instance_type=types,
        by_zone=zones,
        cost=cost,
        interruption_cost=interruption,
    )


@dataclass(frozen=True, slots=True)
class DemandCensus:
    #: Rows of the demand by bucket of their interruption penalty.
    rows_by_bucket: Mapping[Bucket, int]
    #: In units of each dimension; not exact beyond 2**53 of them.
    wanted: Mapping[str, float]
    #: Of that, what no claimed machine covers.
    unmet: Mapping[str, float]


def bound_count(snapshot: Snapshot, source: str) -> int:
    """Machines of a source that are bound to a cluster and not Failed."""
    columns = snapshot.columns
    bound = (columns.source == snapshot.tables.sources.find(source)) & (columns.cluster >= 0)
    return int(np.count_nonzero(bound & (columns.state != MachineState.FAILED)))


def demand_census_of(decision: Decision) -> DemandCensus:
    outcome = decision.outcome
    scene = outcome.scene
    profiles = scene.demand.tables.profiles.rows
    buckets: Counter[Bucket] = Counter()
    for profile, rows in enumerate(np.bincount(scene.demand.columns.profile).tolist()):
        if rows:
            buckets[profiles[profile].interruption_bucket] += rows

    def totals(amounts: Int64s) -> dict[str, float]:
        sums = amounts.sum(axis=0, dtype=np.float64).tolist()
        return dict(zip(scene.dimensions, sums, strict=True))

    return DemandCensus(buckets, totals(outcome.needs.wanted), totals(outcome.credit.remaining))
