"""Vector steps shared by the walks, and who may use a guarded run."""

from bigfleet.engine.kernels.compiled import (
    Int,
    Int32s,
    Int64s,
    inner,
    step,
)
from bigfleet.engine.kernels.new_arrays import new_int32s
from bigfleet.engine.kernels.records import NeedArrays, PoolArrays

LARGEST = 2**62 - 1

GUARD_PREEMPTION = 0
GUARD_OFFER = 1
GUARD_TRANSFER_IN = 2


@step
def take(remaining: Int64s, offered: Int64s) -> bool:
    """Subtract one machine from what is still wanted; True when nothing is left."""
    covered = True
    for d in range(len(remaining)):
        left = remaining[d] - offered[d]
        if left > 0:
            remaining[d] = left
            covered = False
        else:
            remaining[d] = 0
    return covered


@step
def is_covered(remaining: Int64s) -> bool:
    for d in range(len(remaining)):
        if remaining[d] > 0:
            return False
    return True


@step
def covers(offered: Int64s, wanted: Int64s) -> bool:
    for d in range(len(wanted)):
        if offered[d] < wanted[d]:
            return False
    return True


@step
def add_times(total: Int64s, offered: Int64s, count: Int) -> None:
    """total += offered * count, held at the largest number a column can count."""
    for d in range(len(total)):
        if offered[d] > 0 and count > 0:
            if offered[d] > (LARGEST - total[d]) // count:
                total[d] = LARGEST
            else:
                total[d] += offered[d] * count


@step
def next_free(skip: Int32s, i: Int) -> Int:
    """The first position at or after `i` that is not claimed; shortens the path it follows."""
    while skip[i] != i:
        skip[i] = skip[skip[i]]
        i = skip[i]
    return i


@step
def may_use(n: int, run: int, needs: NeedArrays, pool: PoolArrays) -> bool:
    """Whether a reservation lets Need n take machines of a run."""
    g = pool.guard[run]
    if g < 0:
        return True
    kind = pool.guard_kind[g]
    if kind == GUARD_OFFER:
        return False
    if needs.precedence[n] > pool.guard_precedence[g]:
        return True
    if kind == GUARD_TRANSFER_IN:
        return bool(needs.fingerprint[n] == pool.guard_fingerprint[g])
    return bool(needs.identity[n] == pool.guard_identity[g])


@step
def first_at(ascending: Int64s, value: Int) -> int:
    """The first position whose entry is not below `value`."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def grown(array: Int32s) -> Int32s:
    """The same entries with room for as many again."""
    larger = new_int32s(2 * len(array))
    for i in range(len(array)):
        larger[i] = array[i]
    return larger
