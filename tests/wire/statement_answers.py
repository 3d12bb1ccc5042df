"""Statements as a scripted shard tells them, every field with a value of its own."""

import math

from bigfleet.model.actions import ActionKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.statements import (
    InvoiceCall,
    InvoicePart,
    Invoices,
    NextBest,
    NextBestKind,
    Statement,
    StatementGap,
)

FINGERPRINT = "p=1|ipb=0|rpb=0|reqs=|spr="
CALL = InvoiceCall(1, 2, 3, 4)
PINNED = Statement(
    "3:7/m-1",
    ActionKind.PREEMPT,
    "m-1",
    NeedKey("shop", FINGERPRINT, "g\x00"),
    NeedKey("ml", FINGERPRINT, ""),
    epoch=3,
    cycle=7,
    index=2,
    from_priority=1,
    to_priority=0,
    interruption_penalty=math.inf,
    reclamation_penalty=0.0,
    decided_at=21,
    completed_at=22,
    drain_seconds=0.5,
    price_per_hour=0.25,
    drain_value=0.125,
    grace_seconds=60,
    next_best=NextBest(NextBestKind.BUY, "a3/z-a/Spot", "a3/z-a/Spot at $2.00/h", None, 2.0),
    chain=("3:5/m-9",),
)
UNKNOWN = Statement(
    "3:9/m-2", ActionKind.RECLAIM, "m-2", NeedKey("ml", "", ""), completed_at=23, unknown="lost"
)
INVOICES = Invoices(
    (InvoicePart("2026-03", "ml", "shop", 8.0, 4, 1, 2), InvoicePart("2026-03", "", "ml", count=1)),
    (UNKNOWN, PINNED),
    total=5,
    next=11,
    gaps=(StatementGap(20, "two cycles are missing"),),
    kept_since=19,
    team_of_cluster=(("ml", "research"), ("shop", "retail")),
    trouble="the disk is full",
)
