"""A finding as a scripted shard tells it."""

from bigfleet.model.actions import ActionKind
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
    domain="rack-1",
)
THRASHING = ThrashFinding(
    *(4, ThrashKind.REPEATED, "ml", FINGERPRINT, "need/ml/n1", "ml preempted again", 22, 23),
    times=2,
    held_until=24,
    witness=(_VICTIM, TraceAction(8, 0, ActionKind.RECLAIM, "m-2", 22, done_at=23)),
)
