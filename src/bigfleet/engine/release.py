"""Phase 3: give back what no Need claims, let go what stood idle beyond its hold.

Reclaim re-derives nothing: a Configured machine is excess iff Phase 1 left it unclaimed. Only
on-demand and spot capacity can ever be released; the table of holds cannot express owned metal.
"""

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.scene import Scene
from bigfleet.model.batches import NEVER
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.options import SECOND, EngineOptions

_RELEASABLE = (CapacityType.ON_DEMAND, CapacityType.SPOT)


def ready_clusters(scene: Scene, options: EngineOptions) -> Bools:
    """Per cluster of the inventory: has it reported? The last entry serves unbound machines."""
    names = scene.snapshot.tables.clusters.rows[: scene.snapshot.cluster_count]
    ready = options.clusters_ready
    return np.array([ready is None or name in ready for name in names] + [False], np.bool_)


def release_hold(options: EngineOptions, capacity_type: CapacityType) -> int:
    """Nanoseconds an unclaimed Idle machine is kept; 0: it is never released."""
    if capacity_type not in _RELEASABLE:
        return 0
    return round(options.release_holds.get(capacity_type, 0.0) * SECOND)


def excess(scene: Scene, ready: Bools, holder: Int32s, preempted: Int32s) -> Int32s:
    """Configured machines that no Need claims, clusters by name, each in keep-priority order.

    A machine taken by Phase 2 already leaves for another reason.
    """
    free = holder < 0
    free[preempted] = False
    names = scene.snapshot.tables.clusters.rows[: scene.snapshot.cluster_count]
    clusters = [c for c in sorted(range(len(names)), key=names.__getitem__) if ready[c]]
    order, starts = scene.snapshot.keep_order, scene.snapshot.keep_starts.tolist()
    configured = [order[starts[2 * c] : starts[2 * c + 1]] for c in clusters]
    rows: Int32s = np.concatenate([*configured, order[:0]])
    return rows[free[rows]]


def released(
    scene: Scene, holder: Int32s, reserved: Int64s, now: Instant | None, options: EngineOptions
) -> Int32s:
    """Idle machines by id whose hold is over and that are neither claimed nor reserved.

    A hold of zero means never.
    """
    hold_of_type = np.zeros(len(CapacityType), np.int64)
    for capacity_type in CapacityType:
        hold_of_type[capacity_type] = release_hold(options, capacity_type)
    if now is None or not (hold_of_type > 0).any():
        return np.zeros(0, np.int32)
    columns = scene.snapshot.columns
    idle = (columns.state == int(MachineState.IDLE)) & (holder < 0) & (columns.held == 0)
    rows: Int32s = np.flatnonzero(idle).astype(np.int32)
    since = columns.idle_since[rows]
    # Most are not idle long enough for any hold.
    soon = (since != NEVER) & (now - since >= hold_of_type[hold_of_type > 0].min())
    rows, since = rows[soon], since[soon]
    holds = hold_of_type[scene.snapshot.offerings.capacity_type[columns.offering[rows]]]
    rows = rows[(holds > 0) & (now - since >= holds)]
    return rows[~np.isin(rows, reserved)]
