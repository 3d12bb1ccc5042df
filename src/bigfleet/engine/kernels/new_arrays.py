"""New arrays inside kernels.

Each function of NumPy is compiled once per type and kind of caller that uses it. So they are called
here and nowhere else in kernels, always with int64: a literal would be one more type.
"""

import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Floats, Int, Int32s, Int64s, Int64Table, inner


@inner
def new_int32s(size: Int) -> Int32s:
    """Nothing is written to them yet."""
    return np.empty(size, np.int32)


@inner
def filled_int32s(size: Int, value: Int) -> Int32s:
    array = new_int32s(size)
    for i in range(size):
        array[i] = value
    return array


@inner
def new_int64s(size: Int) -> Int64s:
    """Nothing is written to them yet."""
    return np.empty(size, np.int64)


@inner
def filled_int64s(size: Int, value: Int) -> Int64s:
    array = new_int64s(size)
    for i in range(size):
        array[i] = value
    return array


@inner
def copy_of_int64s(array: Int64s) -> Int64s:
    copy = new_int64s(len(array))
    for i in range(len(array)):
        copy[i] = array[i]
    return copy


@inner
def new_bools(size: Int) -> Bools:
    """All of them False."""
    array = np.empty(size, np.bool_)
    for i in range(size):
        array[i] = False
    return array


@inner
def new_floats(size: Int) -> Floats:
    """Nothing is written to them yet."""
    return np.empty(size, np.float64)


@inner
def new_int64_table(rows: Int, columns: Int) -> Int64Table:
    """All of them 0."""
    table = np.empty((rows, columns), np.int64)
    for row in range(rows):
        for column in range(columns):
            table[row, column] = 0
    return table
