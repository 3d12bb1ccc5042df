"""A shard on one page: what it has, what that costs, how its Needs stand, how fast it decides."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bigfleet.edge.counts import Counts
from bigfleet.engine.kernels.compiled import Floats, Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.shard_views import OfferingView, Quarantine, ShardStatus
from bigfleet.model.watch_events import ShardOverview
from bigfleet.shard.ledgers.needs import NeedsLedger
from bigfleet.shard.watching.recent_cycles import CycleTimes, quantile_of_phases

#: These are only promised: they cost nothing.
_HOSTLESS = (int(MachineState.SPECULATIVE), int(MachineState.CREATING))
_ACTIONS, _PROPOSALS = "actions_total", "phase1_occ_proposals_total"
_WHOLE = ""


@dataclass(frozen=True, slots=True)
class OverviewInput:
    """Taken in the event loop; nothing of it changes any more."""

    status: ShardStatus
    quarantines: tuple[Quarantine, ...]
    offerings: tuple[OfferingView, ...]
    clusters: tuple[str, ...]
    thrash_findings: int
    snapshot: Snapshot
    ledger: NeedsLedger
    times: tuple[CycleTimes, ...]
    #: Counters of `counters_of`, by how much they have risen, and in how many seconds.
    risen: Mapping[str, float]
    seconds: float


def counters_of(counts: Counts) -> dict[str, float]:
    """Started actions by kind, and proposals by outcome, each under a name of its own."""
    return {
        f"{name}/{labels[0][1]}": value
        for (name, labels), value in counts.counters.items()
        if name in (_ACTIONS, _PROPOSALS) and labels
    }


def overview_of(seen: OverviewInput) -> ShardOverview:
    """Some milliseconds for a large fleet: not in the event loop."""
    live, snapshot = seen.snapshot.columns, seen.snapshot
    capacity = snapshot.offerings.capacity_type[live.offering].astype(np.int64)
    exists = ~np.isin(live.state, _HOSTLESS)
    dollars = np.where(exists, snapshot.offerings.price[live.offering], 0.0)
    of_cluster = np.bincount(live.cluster + 1, dollars, len(snapshot.tables.clusters.rows) + 1)
    p50, p99 = (quantile_of_phases(seen.times, each) for each in (0.5, 0.99))
    seconds = max(1.0, seen.seconds)
    return ShardOverview(
        status=seen.status,
        quarantines=seen.quarantines,
        offerings=seen.offerings,
        machines_by_state=_counted(live.state.astype(np.int64), MachineState),
        machines_by_capacity_type=_counted(capacity, CapacityType),
        dollars_per_hour=float(dollars.sum()),
        idle_dollars_per_hour=float(dollars[live.state == int(MachineState.IDLE)].sum()),
        dollars_by_cluster={
            name: float(sum_)
            for name, sum_ in zip(snapshot.tables.clusters.rows, of_cluster[1:], strict=False)
            if sum_
        },
        dollars_by_capacity_type=_summed(capacity, dollars),
        need_classes=seen.ledger.classes(),
        cycle_p50_seconds=p50.pop(_WHOLE, 0.0),
        cycle_p99_seconds=p99.pop(_WHOLE, 0.0),
        phase_p99_seconds=p99,
        actions_per_minute=_risen(seen.risen, _ACTIONS),
        committed_per_second=_risen(seen.risen, _PROPOSALS).get("committed", 0.0) / seconds,
        conflicts_per_second=_risen(seen.risen, _PROPOSALS).get("conflict", 0.0) / seconds,
        thrash_findings=seen.thrash_findings,
        clusters=seen.clusters,
    )


def _risen(risen: Mapping[str, float], name: str) -> dict[str, float]:
    prefix = f"{name}/"
    return {key.removeprefix(prefix): each for key, each in risen.items() if key.startswith(prefix)}


def _counted(numbers: Int64s, kind: type[MachineState] | type[CapacityType]) -> dict[str, int]:
    counts = np.bincount(numbers, minlength=len(kind)).tolist()
    return {each.label: counts[each] for each in kind if each or counts[each]}


def _summed(capacity: Int64s, dollars: Floats) -> dict[str, float]:
    sums = np.bincount(capacity, dollars, len(CapacityType)).tolist()
    return {each.label: sums[each] for each in CapacityType if sums[each]}
