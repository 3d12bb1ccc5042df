"""The calling end of a line: bytes out, bytes back, every failure a Rejected.

Nothing is retried here: whether a lost answer is asked again is the caller's decision. When the
certificate files change, new calls take a new channel and running ones end on the old.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import grpc

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.lines import (
    CLIENT_OPTIONS,
    Fingerprint,
    Metadata,
    Options,
    TlsFiles,
    client_channel,
)
from bigfleet.wire.statuses import rejected_of

Unary = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]

#: How long calls on a channel with replaced certificates may still take: the longest default
#: deadline, that of List.
_RETIREMENT_SECONDS = 120.0


class ClientLine:
    def __init__(
        self, address: str, tls: TlsFiles | None = None, options: Options = CLIENT_OPTIONS
    ) -> None:
        self.address = address
        self._tls = tls
        self._options = options
        self._certificates: Fingerprint = tls.fingerprint() if tls else None
        self._channel = client_channel(address, tls, options)
        #: Paths called before on this very channel: making one costs as much as half a call.
        self._unary: dict[str, Unary] = {}
        #: All and only the closings of replaced channels that still wait for running calls.
        self._retiring: set[asyncio.Task[None]] = set()

    async def call(
        self, path: str, request: bytes, deadline: float, metadata: Metadata = ()
    ) -> bytes:
        channel = self._line()
        rpc = self._unary.get(path) or self._unary.setdefault(path, channel.unary_unary(path))
        try:
            return await rpc(request, timeout=deadline, metadata=metadata or None)
        except grpc.aio.AioRpcError as problem:
            raise rejected_of(problem) from None

    async def stream(
        self, path: str, request: bytes, deadline: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        rpc: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._line().unary_stream(path)
        call = rpc(request, timeout=deadline)
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

    async def leads_somewhere(self, deadline: float) -> bool:
        """Whether a call would leave this end; False at once where connecting has failed."""
        channel = self._line()
        failed = (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)
        try:
            async with asyncio.timeout(deadline):
                while True:
                    state = channel.get_state(try_to_connect=True)
                    if state is grpc.ChannelConnectivity.READY:
                        return True
                    if state in failed:
                        return False
                    await channel.wait_for_state_change(state)
        except TimeoutError:
            return False

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
            self._channel = client_channel(self.address, self._tls, self._options)
            self._unary = {}
            self._certificates = now
        return self._channel
