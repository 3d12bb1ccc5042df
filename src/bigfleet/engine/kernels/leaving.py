"""Phase 3: machines nobody claims. Bound ones are given back, idle ones let go after a hold."""

import numpy as np

from bigfleet.engine.kernels.compiled import Int, Int8s, Int32s, Int64s, kernel
from bigfleet.engine.kernels.new_arrays import new_int32s
from bigfleet.engine.kernels.vectors import first_at, grown

IDLE = 3


@kernel
def excess_rows(
    clusters: Int64s,
    order: Int32s,
    starts: Int32s,
    holder: Int32s,
    preempted: Int64s,
) -> Int32s:
    """Configured machines of `clusters` that no Need claims, in keep-priority order.

    A machine taken by Phase 2 already leaves for another reason; `preempted` is sorted.
    """
    size: Int = np.int64(0)
    for c in clusters:
        for i in range(starts[2 * c], starts[2 * c + 1]):
            size += holder[order[i]] < 0
    found = new_int32s(size)
    size = 0
    for c in clusters:
        for i in range(starts[2 * c], starts[2 * c + 1]):
            row = order[i]
            if holder[row] < 0:
                if len(preempted):
                    at = first_at(preempted, np.int64(row))
                    if at < len(preempted) and preempted[at] == row:
                        continue
                found[size] = row
                size += 1
    return found[:size]


@kernel
def releasable_rows(
    state: Int8s,
    held: Int8s,
    idle_since: Int64s,
    offering: Int32s,
    holder: Int32s,
    hold_of_offering: Int64s,
    never: int,
    now: int,
) -> Int32s:
    """Unclaimed Idle machines whose hold is over, by id; a hold of zero means never."""
    found = new_int32s(np.int64(64))
    size = 0
    for row in range(len(state)):
        if state[row] != IDLE or holder[row] >= 0 or held[row] != 0:
            continue
        hold = hold_of_offering[offering[row]]
        since = idle_since[row]
        if hold <= 0 or since == never or now - since < hold:
            continue
        if size == len(found):
            found = grown(found)
        found[size] = row
        size += 1
    return found[:size]
