"""Answers of a scripted shard that take more than a few lines to say."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.counterfactuals import (
    CounterfactualAnswer,
    ToldChange,
    ToldLoser,
)
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.model.thrash import ThrashFinding, ThrashKind, TraceAction

FINGERPRINT = "p=1|ipb=0|rpb=0|reqs=|spr="
_VICTIM = TraceAction(
    *(7, 3, ActionKind.PREEMPT, "m-1", 21, "shop", FINGERPRINT, "g\x00"),
    priority=9,
    offering="sim/a3/z-a/Spot",
    hold_seconds=60.0,
    preemptor=NeedKey("ml", FINGERPRINT, ""),
    frees=Resources.parse({"cpu": "8"}),
    deficit=Resources.parse({"cpu": "5"}),
)
THRASHING = ThrashFinding(
    *(4, ThrashKind.REPEATED, "ml", FINGERPRINT, "need/ml/n1", "ml preempted again", 22, 23),
    times=2,
    held_until=24,
    witness=(_VICTIM, TraceAction(8, 0, ActionKind.RECLAIM, "m-2", 22, done_at=23)),
)
COUNTERFACTUAL = CounterfactualAnswer(
    "3:18231",
    NeedKey("shop", "p=1|x", "g"),
    "n3f9c",
    1000,
    False,
    Resources.of({"cpu": 4000}),
    (
        ToldChange(
            "priority 1001 instead of 1000, and 2 units less",
            ("priority", "smaller"),
            (1001, 2),
            True,
            Resources(),
            -1.5,
            64.0,
            1,
            2,
            (
                ToldLoser(NeedKey("bank", "p=2|x", ""), Resources.of({"cpu": 2000})),
                ToldLoser(NeedKey("shop", "p=3|x", ""), Resources.of({"memory": 5})),
            ),
            30,
            7,
            False,
            ("priority need/shop/n3f9c =1001",),
        ),
        ToldChange(
            "2 more machines of std-8", ("machines",), (2,), False, Resources.of({"cpu": 1}), 0.5
        ),
    ),
    False,
    19,
    2000,
    2,
    ("the budget is 30 s at most",),
)
