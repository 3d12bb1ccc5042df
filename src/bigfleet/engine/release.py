"""Phase 3: give back what no Need claims, let go what stood idle beyond its hold.

Reclaim re-derives nothing: a Configured machine is excess iff Phase 1 left it unclaimed. Only
on-demand and spot capacity can ever be released; the table of holds cannot express owned metal.
"""

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.kernels.leaving import excess_rows, releasable_rows
from bigfleet.engine.scene import Scene
from bigfleet.model.batches import NEVER
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.model.options import SECOND, EngineOptions

_RELEASABLE = (CapacityType.ON_DEMAND, CapacityType.SPOT)


def ready_clusters(scene: Scene, options: EngineOptions) -> Bools:
    """Per cluster of the inventory: has it reported? The last entry serves unbound machines."""
    names = scene.snapshot.tables.clusters.rows[: scene.snapshot.cluster_count]
    ready = options.clusters_ready
    return np.array([ready is None or name in ready for name in names] + [False], np.bool_)


def excess(scene: Scene, ready: Bools, holder: Int32s, preempted: Int32s) -> Int32s:
    """Clusters by name; inside a cluster, machines in keep-priority order."""
    names = scene.snapshot.tables.clusters.rows[: scene.snapshot.cluster_count]
    clusters = [c for c in sorted(range(len(names)), key=names.__getitem__) if ready[c]]
    return excess_rows(
        np.array(clusters, np.int64),
        scene.snapshot.keep_order,
        scene.snapshot.keep_starts,
        holder,
        np.sort(preempted).astype(np.int64),
    )


def released(
    scene: Scene, holder: Int32s, reserved: Int64s, now: Instant | None, options: EngineOptions
) -> Int32s:
    """Idle machines by id whose hold is over and that are neither claimed nor reserved."""
    hold_of_type = np.zeros(len(CapacityType), np.int64)
    for capacity_type in _RELEASABLE:
        hold = round(options.release_holds.get(capacity_type, 0.0) * SECOND)
        hold_of_type[capacity_type] = hold
    if now is None or not hold_of_type.any():
        return np.zeros(0, np.int32)
    columns = scene.snapshot.columns
    rows = releasable_rows(
        columns.state,
        columns.held,
        columns.idle_since,
        columns.offering,
        holder,
        hold_of_type[scene.snapshot.offerings.capacity_type],
        int(NEVER),
        now,
    )
    return rows[~np.isin(rows, reserved)]
