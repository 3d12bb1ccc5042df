"""Answers of many rows, written piece by piece, so that other calls come in between."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from bigfleet.edge.clock import next_turn

R = TypeVar("R")

#: About a millisecond's work.
_PIECE = 1000


async def answer_of(rows: Sequence[R], message_of: Callable[[Sequence[R]], Message]) -> bytes:
    """The answer with all rows: written one after another, pieces of a message are one message."""
    pieces = []
    for start in range(0, len(rows), _PIECE):
        message = message_of(rows[start : start + _PIECE])
        pieces.append(message.SerializeToString(deterministic=True))
        await next_turn()
    return b"".join(pieces)
