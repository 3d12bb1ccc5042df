"""The calling end of a line: bytes out, bytes back, every failure a Rejected.

Nothing is retried here: whether a lost answer is asked again is the caller's decision. When the
certificate files change, new calls take a new channel and running ones end on the old.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import grpc

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.lines import Fingerprint, TlsFiles, client_channel
from bigfleet.wire.statuses import rejected_of

Unary = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]

#: How long calls on a channel with replaced certificates may still take: the longest default
#: deadline, that of List.
_RETIREMENT_SECONDS = 120.0


class ClientLine:
    def __init__(self, address: str, tls: TlsFiles | None = None) -> None:
        self.address = address
        self._tls = tls
        self._certificates: Fingerprint = tls.fingerprint() if tls else None
        self._channel = client_channel(address, tls)
        #: Paths called before on this very channel: making one costs as much as half a call.
        self._unary: dict[str, Unary] = {}
        #: All and only the closings of replaced channels that still wait for running calls.
        self._retiring: set[asyncio.Task[None]] = set()

    async def call(self, path: str, request: bytes, deadline: float) -> bytes:
        channel = self._line()
        rpc = self._unary.get(path) or self._unary.setdefault(path, channel.unary_unary(path))
        try:
            return await rpc(request, timeout=deadline)
        except grpc.aio.AioRpcError as problem:
            raise rejected_of(problem) from None

    async def stream(self, path: str, request: bytes) -> AsyncGenerator[bytes, None]:
        rpc: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._line().unary_stream(path)
        call = rpc(request)
        try:
            async for frame in call:
                yield frame
        except grpc.aio.AioRpcError as problem:
            raise rejected_of(problem) from None
        finally:
            call.cancel()

    async def connected(self, deadline: float) -> None:
        """Returns once the other end answers the line."""
        try:
            async with asyncio.timeout(deadline):
                await self._line().channel_ready()
        except TimeoutError:
            raise Rejected(Code.UNAVAILABLE, f"{self.address} does not answer") from None

    async def close(self) -> None:
        await self._channel.close()
        for closing in self._retiring:
            closing.cancel()
        for closing in tuple(self._retiring):
            with suppress(asyncio.CancelledError):
                await closing

    def _line(self) -> grpc.aio.Channel:
        if self._tls is None:
            return self._channel
        now = self._tls.fingerprint()
        if now not in (None, self._certificates) and not self._tls.why_unusable():
            closing = asyncio.create_task(self._channel.close(_RETIREMENT_SECONDS))
            self._retiring.add(closing)
            closing.add_done_callback(self._retiring.discard)
            self._channel = client_channel(self.address, self._tls)
            self._unary = {}
            self._certificates = now
        return self._channel
