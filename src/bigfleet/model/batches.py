"""A batch of machines as columns: what a big List or a generated fleet fills, and only the
inventory reads.

| column | dtype | index space |
|---|---|---|
| ids | list of str | machine of the batch |
| offering_of_machine | int32 | -> offerings |
| state_of_machine | int8 | MachineState |
| cluster_of_machine | int32 | -> clusters, -1 unbound |
| stamp_of_machine | int32 | -> stamps, -1 none |
| idle_since_of_machine | int64 | nanoseconds, NEVER unknown |

Hosts are `provider/<id>` where the state requires one. A batch carries no marks and no Failed
machines: those come one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.machines import Assigned, CapacityType
from bigfleet.model.resources import Resources

NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Offering:
    """What many machines share: everything about a machine that is not its life."""

    capacity_type: CapacityType
    instance_type: str = ""
    zone: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    resources: Resources = Resources()
    allocatable: Resources = Resources()
    price_per_hour: float = 0.0
    interruption_probability: float = 0.0


@dataclass(frozen=True, slots=True)
class MachineBatch:
    ids: Sequence[str]
    offerings: Sequence[Offering]
    clusters: Sequence[str]
    stamps: Sequence[Assigned]
    offering_of_machine: NDArray[np.int32]
    state_of_machine: NDArray[np.int8]
    cluster_of_machine: NDArray[np.int32]
    stamp_of_machine: NDArray[np.int32]
    idle_since_of_machine: NDArray[np.int64]
    provider: str = "sim"
