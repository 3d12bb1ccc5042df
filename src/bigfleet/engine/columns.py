"""The columns of the inventory.

| column | dtype | meaning |
|---|---|---|
| state | int8 | MachineState |
| offering | int32 | row of Offerings |
| cluster | int32 | row of the cluster Words, -1 unbound |
| stamp | int32 | row of Stamps |
| provider | int32 | row of the provider Words, -1 no host |
| idle_since | int64 | nanoseconds, NEVER where unknown or not Idle |
| held | int8 | 0, or 1 + position in HeldBy |
| overdue | bool | past the deadline of its state |
| node_name | int32 | row of the node-name Words, -1 no such label |
| source | int32 | row of the source Words: whose List it came from, -1 none |
| empty | bool | Configured, and its cluster says that nothing runs on it |

Compare a state with the enum's number, `int(MachineState.IDLE)`: for the member itself NumPy would
first widen the whole column.

Index space: MachineRow. Rows are in ascending order of machine id, so comparing rows compares ids.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.kernels.compiled import Bools, Int8s, Int32s, Int64s


@dataclass(slots=True)
class MachineColumns:
    state: Int8s
    offering: Int32s
    cluster: Int32s
    stamp: Int32s
    provider: Int32s
    idle_since: Int64s
    held: Int8s
    overdue: Bools
    node_name: Int32s
    source: Int32s
    empty: Bools

    @classmethod
    def no_rows(cls) -> "MachineColumns":
        return cls(
            np.zeros(0, np.int8),
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0, np.int64),
            np.zeros(0, np.int8),
            np.zeros(0, np.bool_),
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0, np.bool_),
        )

    def __len__(self) -> int:
        return len(self.state)

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        return ((f.name, getattr(self, f.name)) for f in fields(self))

    def nbytes(self) -> int:
        return sum(array.nbytes for _, array in self.arrays())

    def copy(self) -> "MachineColumns":
        return MachineColumns(**{name: array.copy() for name, array in self.arrays()})

    def taken(self, rows: Int64s) -> "MachineColumns":
        return MachineColumns(**{name: array[rows] for name, array in self.arrays()})

    def joined(self, other: "MachineColumns") -> "MachineColumns":
        mine, theirs = dict(self.arrays()), dict(other.arrays())
        return MachineColumns(**{n: np.concatenate([mine[n], theirs[n]]) for n in mine})

    def put(self, rows: Int64s, values: "MachineColumns") -> None:
        for (_, mine), (_, theirs) in zip(self.arrays(), values.arrays(), strict=True):
            mine[rows] = theirs

    def differ(self, other: "MachineColumns") -> Bools:
        """Which rows are not the same in every column."""
        unlike = np.zeros(len(self), np.bool_)
        for (_, mine), (_, theirs) in zip(self.arrays(), other.arrays(), strict=True):
            unlike |= mine != theirs
        return unlike

    def catch_up(self, live: "MachineColumns", rows: Int64s) -> None:
        """Make `rows` equal to those of the live columns."""
        for (_, mine), (_, theirs) in zip(self.arrays(), live.arrays(), strict=True):
            mine[rows] = theirs[rows]
