"""What two runs of a cycle differ in, as a scripted shard tells it."""

from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.model.what_if import (
    AddedNeed,
    ClusterDelta,
    ClusterSide,
    Move,
    NeedChange,
    WhatIfAnswer,
    WhatIfSide,
)

_SIDE = WhatIfSide({"Preempt": 2}, 3, 4, {1000: 1, 5: 2}, 1.5, 0.25, 64.0, 1, {"Idle": 7})
COMPARED = WhatIfAnswer(
    "3:18231",
    WhatIfSide(),
    _SIDE,
    (
        ClusterDelta("bank", ClusterSide(4, 0, 1.0), ClusterSide(2, 1, 0.5, {"Preempt": 2}), 1),
        ClusterDelta("shop", ClusterSide(), ClusterSide(3, 2, 0.25, {"Bootstrap": 3})),
    ),
    (
        NeedChange(NeedKey("bank", "p=1|x", "g"), 1000, Resources.of({"cpu": 4000}), "too small"),
        NeedChange(NeedKey("shop", "p=1|x", ""), 10, Resources.of({"cpu": 2000}), "held"),
    ),
    (NeedChange(NeedKey("bank", "p=2|x", ""), 5),),
    30,
    1,
    (Move("bank", "shop", 2),),
    5,
    ("zone-loss b",),
    ("a warning",),
    (
        AddedNeed(NeedKey("shop", "p=1|x", ""), False, "supply.none", "no machine fits"),
        AddedNeed(NeedKey("bank", "p=2|x", ""), True),
    ),
)
