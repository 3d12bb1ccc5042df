"""An operator's end of sessions: frames out, frames back, every end that is not OK a Rejected.

Each session has a connection of its own, as every operator has; `shared` puts all sessions of a
client on one, for tests with thousands of clusters. Nothing is dialled again here: whether and
when is the caller's decision.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self, TypeAlias

import grpc

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.session_frames import Hello, OperatorFrame, ShardFrame
from bigfleet.wire.lines import MESSAGE_CEILING, TlsFiles, client_channel
from bigfleet.wire.session_frames import SESSION, operator_bytes, shard_frame
from bigfleet.wire.statuses import rejected_of

#: Reason of the Rejected for a frame that no line takes.
TOO_LARGE = "message_too_large"
#: What gRPC puts in place of the shard's own status when a stream ends under a write.
_LOST = "Internal error from Core"

Call: TypeAlias = "grpc.aio.StreamStreamCall[bytes, bytes]"


class Session:
    """One open stream. Iterate over it for what the shard says; it ends where the shard ends it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        #: gRPC ends a stream on which one write begins before the other is done.
        self._writing = asyncio.Lock()

    async def send(self, frame: OperatorFrame) -> None:
        """Returns when the line took the frame; raises Rejected where the stream has ended.

        Also for one above the ceiling, before it is sent: gRPC would end the stream without a word.
        """
        content = operator_bytes(frame)
        if len(content) > MESSAGE_CEILING:
            text = f"a message has {len(content)} bytes, and no line takes more than"
            raise Rejected(Code.RESOURCE_EXHAUSTED, f"{text} {MESSAGE_CEILING}", TOO_LARGE)
        try:
            async with self._writing:
                await self._call.write(content)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            # The two ways a write after the end shows; both mean the same.
            raise await self._end() from None

    async def done_sending(self) -> None:
        """The orderly goodbye: the shard ends the session with OK."""
        await self._call.done_writing()

    async def read(self) -> ShardFrame | None:
        """The next frame this version knows; None where the shard ended the session with OK."""
        while True:
            try:
                content: object = await self._call.read()
            except grpc.aio.AioRpcError as problem:
                raise _rejected_of(problem) from None
            if not isinstance(content, bytes):
                return None
            frame = shard_frame(content)
            if frame is not None:
                return frame

    async def __aiter__(self) -> AsyncIterator[ShardFrame]:
        while (frame := await self.read()) is not None:
            yield frame

    async def _end(self) -> Rejected:
        problem = grpc.aio.AioRpcError(
            await self._call.code(),
            await self._call.initial_metadata(),
            await self._call.trailing_metadata(),
            details=await self._call.details(),
        )
        return _rejected_of(problem)


class SessionClient:
    def __init__(self, address: str, tls: TlsFiles | None = None, *, shared: bool = False) -> None:
        self.address = address
        self._tls = tls
        #: The one connection of all sessions, where they share one.
        self._line = client_channel(address, tls) if shared else None

    @asynccontextmanager
    async def open(self, hello: Hello) -> AsyncIterator[Session]:
        """A stream whose Hello is sent; that it was let in shows in what the shard answers."""
        line = self._line or client_channel(self.address, self._tls)
        rpc: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = line.stream_stream(SESSION)
        call: Call = rpc()
        try:
            session = Session(call)
            await session.send(hello)
            yield session
        finally:
            call.cancel()
            if line is not self._line:
                await line.close()

    async def close(self) -> None:
        if self._line is not None:
            await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()


def _rejected_of(problem: grpc.aio.AioRpcError) -> Rejected:
    if problem.code() is grpc.StatusCode.INTERNAL and problem.details() == _LOST:
        text = "the session ended while a frame was sent; what the shard said of it is lost"
        return Rejected(Code.UNAVAILABLE, text)
    return rejected_of(problem)
