"""TailJournal and FetchJournal: records as they are written, and segments as they lie on disk.

Records have columns of numbers in them: what reads and writes those is loaded when it is used.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.shard_admin import FetchCall, TailCall
from bigfleet.wire.record_codecs import RecordCodec

if TYPE_CHECKING:
    from bigfleet.model.journal import JournalHeader, JournalRecord

#: Of a segment, in one frame.
CHUNK_BYTES = 2**20
TAIL_CALL = RecordCodec(TailCall, pb.TailJournalRequest)
FETCH_CALL = RecordCodec(FetchCall, pb.FetchJournalRequest)


class JournalHandler(Protocol):
    def tail_journal(self, call: TailCall) -> "AsyncGenerator[JournalRecord, None]":
        """Raises Rejected."""

    def fetch_journal(self, call: FetchCall) -> "AsyncGenerator[JournalHeader | bytes, None]":
        """The header, then bytes in pieces of CHUNK_BYTES at most; raises Rejected."""


async def tail_frames(
    handler: JournalHandler, request: pb.TailJournalRequest
) -> AsyncGenerator[pb.JournalRecord, None]:
    from bigfleet.wire.journal_records import record_message

    async with aclosing(handler.tail_journal(TAIL_CALL.record(request))) as records:
        async for record in records:
            yield record_message(record)


async def fetch_frames(
    handler: JournalHandler, request: pb.FetchJournalRequest
) -> AsyncGenerator[pb.JournalChunk, None]:
    from bigfleet.wire.journal_records import header_message

    async with aclosing(handler.fetch_journal(FETCH_CALL.record(request))) as pieces:
        async for piece in pieces:
            if isinstance(piece, bytes):
                yield pb.JournalChunk(data=piece)
            else:
                yield pb.JournalChunk(header=header_message(piece))


def record_in(message: pb.JournalRecord) -> "JournalRecord":
    """Raises ValueError for a record of a later version."""
    from bigfleet.wire.journal_records import record_from

    return record_from(message)


def piece_in(chunk: pb.JournalChunk) -> "JournalHeader | bytes":
    """Raises ValueError for a header of a later format."""
    from bigfleet.wire.journal_records import header_of

    return header_of(chunk.header) if chunk.HasField("header") else chunk.data
