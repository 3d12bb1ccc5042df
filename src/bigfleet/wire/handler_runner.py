"""Runs the handlers behind a line: what they raise becomes a status, each finished call is told.

A call that writes is finished although its caller hung up. What a handler rejects goes out with
its code; anything else it raises is INTERNAL, told to `failed`, and the caller sees no details.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError

from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.wire.lines import peer_of
from bigfleet.wire.rpcs import Answering
from bigfleet.wire.statuses import end_with

Context = grpc.aio.ServicerContext[bytes, bytes]
RpcHandler: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"
#: Method, code, seconds from arrival to answer.
Observe = Callable[[str, Code, float], None]
Failed = Callable[[str, Exception], None]
#: The same for calls whose metadata says something.
AnsweringTold = Callable[[bytes, Peer, "Told"], Coroutine[Any, Any, bytes]]
Streaming = Callable[[bytes, Peer], AsyncGenerator[bytes, None]]
#: Metadata of a request.
Told = tuple[tuple[str, str | bytes], ...]


def ignore(*_told: object) -> None:
    """Stands in for a callback that was not given."""


class HandlerRunner:
    def __init__(
        self, *, secured: bool, observe: Observe | None = None, failed: Failed | None = None
    ) -> None:
        self._secured = secured
        self._observe = observe or ignore
        self._failed = failed or ignore
        #: All and only the writing calls that are still running, their callers gone or not.
        self._writing: set[asyncio.Task[bytes | Rejected]] = set()

    def reads(self, method: str, answering: Answering) -> RpcHandler:
        """A call that is dropped when its caller hangs up."""

        async def serve(request: bytes, context: Context) -> bytes:
            peer = peer_of(context, secured=self._secured)
            return await _sent(await self._outcome(method, answering(request, peer)), context)

        return grpc.unary_unary_rpc_method_handler(serve)

    def writes(self, method: str, answering: Answering) -> RpcHandler:
        """A call that is finished even if its caller hangs up."""

        async def answering_told(request: bytes, peer: Peer, _told: Told) -> bytes:
            return await answering(request, peer)

        return self.writes_told(method, answering_told)

    def writes_told(self, method: str, answering: AnsweringTold) -> RpcHandler:
        """A call that is finished even if its caller hangs up, with what its metadata says."""

        async def serve(request: bytes, context: Context) -> bytes:
            peer = peer_of(context, secured=self._secured)
            told = tuple(context.invocation_metadata() or ())
            task = asyncio.create_task(self._outcome(method, answering(request, peer, told)))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)
            return await _sent(await asyncio.shield(task), context)

        return grpc.unary_unary_rpc_method_handler(serve)

    def streams(self, method: str, streaming: Streaming) -> RpcHandler:
        """A call with many answers, which ends with its caller or its handler."""

        async def serve(request: bytes, context: Context) -> AsyncIterator[bytes]:
            began = _now()
            peer = peer_of(context, secured=self._secured)
            try:
                async with aclosing(streaming(request, peer)) as frames:
                    async for frame in frames:
                        yield frame
                self._observe(method, Code.OK, _now() - began)
            except Exception as problem:  # noqa: BLE001 - the guard: one call only is ended
                rejected = self.rejected_for(method, problem)
                self._observe(method, rejected.code, _now() - began)
                await end_with(rejected, context)

        return grpc.unary_stream_rpc_method_handler(serve)

    async def settled(self) -> None:
        """Returns when no writing call is running any more."""
        while self._writing:
            await asyncio.wait(self._writing)

    async def _outcome(self, method: str, answer: Coroutine[Any, Any, bytes]) -> bytes | Rejected:
        began, code = _now(), Code.CANCELLED
        outcome: bytes | Rejected
        try:
            outcome = await answer
            code = Code.OK
        except Exception as problem:  # noqa: BLE001 - the guard: one call only is ended
            outcome = self.rejected_for(method, problem)
            code = outcome.code
        finally:
            self._observe(method, code, _now() - began)
        return outcome

    def rejected_for(self, method: str, problem: Exception) -> Rejected:
        """How a call ends whose handler raised this; a fault is told, its caller sees nothing."""
        if isinstance(problem, Rejected):
            return problem
        if isinstance(problem, DecodeError):
            return Rejected(Code.INVALID_ARGUMENT, f"the request is not a message of {method}")
        self._failed(method, problem)
        return Rejected(Code.INTERNAL, "internal error")


async def _sent(outcome: bytes | Rejected, context: Context) -> bytes:
    if isinstance(outcome, Rejected):
        await end_with(outcome, context)
    return outcome


def _now() -> float:
    """The loop's own clock: only durations are told, nothing is decided by it."""
    return asyncio.get_running_loop().time()
