"""A shard in figures, every field with a value of its own."""

from bigfleet.model.figures import (
    AvailableList,
    AvailableRow,
    ClassCounts,
    CostAxis,
    DurationCounts,
    MachineSort,
    ShardFigures,
    SpendingRow,
)
from bigfleet.model.machines import CapacityType, MachineState

FIGURES = ShardFigures(
    "shard-0",
    3,
    18,
    19,
    4,
    2,
    1,
    (MachineSort(MachineState.CONFIGURED, CapacityType.SPOT, "0.5", 4),),
    (
        SpendingRow(
            CostAxis.CLUSTER, "shop", MachineState.CONFIGURED, CapacityType.SPOT, 4, 1, 0.3, 2.0, 1
        ),
    ),
    (ClassCounts("critical", 1, 2, 3, 4),),
    {"pinned": 5},
    {"Reclaim": 6},
    7,
    8,
    (0.1, 0.2),
    (DurationCounts("acquire", (1, 2, 3), 0.5),),
)

AVAILABLE = AvailableList(
    18, 2, (AvailableRow("shop", "p=1|x", 5, ("zone In a",), 3, 4, "High", 0.38),)
)
