"""Things to be shown."""

from bigfleet.model.coordination import Transfer, TransferState, TransferTier

MOVE = Transfer(
    "1-7",
    TransferTier.IDLE,
    "shard-1",
    "shard-2",
    TransferState.GRANTED,
    ("bm-1", "bm-2"),
    reason="shard-2 is short of cpu 15",
)
