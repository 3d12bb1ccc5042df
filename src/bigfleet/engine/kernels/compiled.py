"""The types kernels are compiled for, and the decorators that mark them.

A column has one dimension, a `...Table` two; every array is contiguous and writable.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from bigfleet.compiling import Columns, copied, inner, kernel, step

__all__ = [
    "BoolTable",
    "Bools",
    "FloatTable",
    "Floats",
    "Int",
    "Int8s",
    "Int32Table",
    "Int32s",
    "Int64Table",
    "Int64s",
    "copied",
    "inner",
    "kernel",
    "step",
]

#: Of inner parts: a literal would be compiled beside the number it stands for.
Int = int | np.int64

Bools = NDArray[np.bool_]
Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]

BoolTable = Annotated[Bools, Columns]
FloatTable = Annotated[Floats, Columns]
Int32Table = Annotated[Int32s, Columns]
Int64Table = Annotated[Int64s, Columns]
