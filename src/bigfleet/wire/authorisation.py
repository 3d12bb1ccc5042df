"""Who may call what on a shard's and the coordinator's port: one table, and who keeps it.

Without mTLS callers have no name and nothing is checked. With it a caller needs exactly one
`bigfleet:` name, of a role its RPC is open to. An RPC that is served but missing from the table is
denied on any line: a forgotten entry never opens anything. That a cluster or a shard speaks only
for itself cannot be told before its request is read: the code that reads it calls `require_cluster`
or `require_shard`.

A stream is denied when its first frame has come, which is not read: a status that crosses the
caller's first write is lost on the way, and what was denied would look like a broken line.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import grpc
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection

from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.wire.coordinator_admin import COORDINATOR, COORDINATOR_ADMIN
from bigfleet.wire.handler_runner import Context, ignore
from bigfleet.wire.lines import peer_of
from bigfleet.wire.rpcs import Gate, Service, require
from bigfleet.wire.shard_admin import SHARD_ADMIN
from bigfleet.wire.shard_read import SHARD_READ
from bigfleet.wire.statuses import end_with

#: A caller that opens a stream and sends nothing is denied after this.
FIRST_FRAME_SECONDS = 60.0


#: Of a shard's and the coordinator's port; a provider checks its own.
TABLES: tuple[Service[Any], ...] = (SHARD_READ, SHARD_ADMIN, COORDINATOR, COORDINATOR_ADMIN)
GATES: Mapping[str, Gate] = {
    "/bigfleet.v1alpha1.Shard/Session": Gate.CLUSTER,
    **{rpc.path: rpc.gate for service in TABLES for rpc in service.rpcs.values()},
    # Probes have no role of their own; the names of RPCs are no secret.
    f"/{health.SERVICE_NAME}/Check": Gate.EVERY_CALLER,
    f"/{health.SERVICE_NAME}/Watch": Gate.EVERY_CALLER,
    f"/{health.SERVICE_NAME}/List": Gate.EVERY_CALLER,
    f"/{reflection.SERVICE_NAME}/ServerReflectionInfo": Gate.EVERY_CALLER,
}


def authorise(path: str, peer: Peer) -> None:
    """Raises Rejected(PERMISSION_DENIED)."""
    gate = GATES.get(path)
    if gate is None:
        text = f"no role may call {path}: it has no line in the table of who may"
        raise Rejected(Code.PERMISSION_DENIED, text, "identity")
    require(gate, peer)


Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
#: Raises Rejected where the RPC of this path is not answered here for any caller.
First = Callable[[str], None]
#: The path of the RPC, who called it, and what it was told.
Denied = Callable[[str, Peer, Rejected], None]
Found: TypeAlias = "Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]]"


class Authorisation(grpc.aio.ServerInterceptor):
    """Checks the table before every RPC of a server, of all its services."""

    def __init__(
        self, *, secured: bool, denied: Denied | None = None, first: First | None = None
    ) -> None:
        """`first` is asked before the table."""
        self._secured = secured
        self._denied = denied or ignore
        self._first = first or ignore

    async def intercept_service(
        self, continuation: Found, handler_call_details: grpc.HandlerCallDetails
    ) -> "Handler | None":
        handler = await continuation(handler_call_details)
        if handler is None:  # not served: gRPC answers UNIMPLEMENTED
            return None
        return self._checked(str(handler_call_details.method), handler)

    def _checked(self, path: str, handler: Handler) -> Handler:
        async def check(context: Context) -> None:
            peer = peer_of(context, secured=self._secured)
            try:
                self._first(path)
                authorise(path, peer)
            except Rejected as rejected:
                self._denied(path, peer, rejected)
                if handler.request_streaming:
                    await _first_frame_came(context)
                await end_with(rejected, context)

        if handler.request_streaming and handler.response_streaming:
            guarded = _guarded(check, handler.stream_stream)
            return grpc.stream_stream_rpc_method_handler(
                guarded, handler.request_deserializer, handler.response_serializer
            )
        if handler.response_streaming:
            guarded = _guarded(check, handler.unary_stream)
            return grpc.unary_stream_rpc_method_handler(
                guarded, handler.request_deserializer, handler.response_serializer
            )
        if handler.request_streaming:
            guarded = _guarded(check, handler.stream_unary)
            return grpc.stream_unary_rpc_method_handler(
                guarded, handler.request_deserializer, handler.response_serializer
            )
        guarded = _guarded(check, handler.unary_unary)
        return grpc.unary_unary_rpc_method_handler(
            guarded, handler.request_deserializer, handler.response_serializer
        )


async def _first_frame_came(context: Context) -> None:
    """Or the caller is done sending, or gone, or silent for too long."""
    with suppress(TimeoutError, grpc.aio.InternalError):
        async with asyncio.timeout(FIRST_FRAME_SECONDS):
            await context.read()


def _guarded(check: Callable[[Context], Awaitable[None]], inner: Any) -> Any:
    """The same behaviour behind the check; gRPC tells its two kinds apart by how they are made."""
    if inspect.isasyncgenfunction(inner):

        async def generating(request: Any, context: Any) -> AsyncIterator[Any]:
            await check(context)
            async for answer in inner(request, context):
                yield answer

        return generating

    async def answering(request: Any, context: Any) -> Any:
        await check(context)
        return await inner(request, context)

    return answering
