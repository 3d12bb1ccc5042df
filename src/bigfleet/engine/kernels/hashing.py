"""Numbering integers by value without sorting them: open addressing over powers of two."""

import numpy as np

from bigfleet.engine.kernels.compiled import Int, Int32s, Int64s, kernel, step
from bigfleet.engine.kernels.new_arrays import (
    copy_of_int64s,
    filled_int32s,
    new_int32s,
    new_int64s,
)

_SPREADER = -7046029254386353131  # odd, bits well mixed: 2**64 divided by the golden ratio


@step
def _home(key: Int, mask: Int) -> Int:
    return ((key * np.int64(_SPREADER)) >> np.int64(20)) & mask


@step
def _size_for(count: int) -> int:
    size = 16
    while size < 2 * count:
        size *= 2
    return size


@kernel
def number_by_value(keys: Int64s) -> tuple[Int32s, Int64s]:
    """A number for each distinct key in order of first sight, and where it was first seen."""
    size = _size_for(len(keys))
    slot = filled_int32s(size, np.int64(-1))
    number = new_int32s(len(keys))
    first = new_int64s(len(keys))
    count = 0
    for i in range(len(keys)):
        at = _home(keys[i], size - 1)
        while slot[at] >= 0 and keys[first[slot[at]]] != keys[i]:
            at = (at + 1) & (size - 1)
        if slot[at] < 0:
            slot[at] = count
            first[count] = i
            count += 1
        number[i] = slot[at]
    return number, copy_of_int64s(first[:count])
