"""The serving end of the table of RPCs: each is answered by the method its entry names."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import cache
from typing import Any, Generic, TypeVar

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message

from bigfleet.model.provider_calls import Peer
from bigfleet.wire.audits import audit_in, audit_of
from bigfleet.wire.handler_runner import AnsweringTold, HandlerRunner, RpcHandler, Streaming, Told
from bigfleet.wire.row_answers import answer_of
from bigfleet.wire.rpcs import (
    Answering,
    ByHandRpc,
    Kind,
    ListingRpc,
    Rpc,
    Service,
    StreamRpc,
    UnaryRpc,
    cluster_of,
    read_as,
    require,
)

H = TypeVar("H")


class RpcService(Generic[H]):
    """Answers the RPCs of a table from a handler."""

    def __init__(self, service: Service[H], handler: H, *, checks_callers: bool = False) -> None:
        """`checks_callers`: of all but those by hand, on a port without `Authorisation`."""
        self.name = service.name
        self._checks_callers = checks_callers
        self._service = service
        self._handler = handler

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        served = {name: self._served(rpc, serving) for name, rpc in self._service.rpcs.items()}
        return grpc.method_handlers_generic_handler(self.name, served)

    def _served(self, rpc: Rpc, serving: HandlerRunner) -> RpcHandler:
        if isinstance(rpc, ByHandRpc):
            runs = serving.reads if rpc.kind is Kind.READ else serving.writes
            return runs(rpc.method, rpc.answering(self._handler))
        if isinstance(rpc, StreamRpc | ListingRpc):
            return serving.streams(rpc.method, self._streaming(rpc))
        assert isinstance(rpc, UnaryRpc)
        if rpc.kind is Kind.READ:
            return serving.reads(rpc.method, self._reading(rpc))
        return serving.writes_told(rpc.method, self._writing(rpc))

    def _reading(self, rpc: UnaryRpc[Any, Any]) -> Answering:
        answer = getattr(self._handler, rpc.handler.__name__)

        async def on_bytes(request: bytes, peer: Peer) -> bytes:
            arguments = rpc.arguments(self._message(rpc, request, peer))
            return await _answer_bytes(rpc, await answer(*arguments))

        return on_bytes

    def _writing(self, rpc: UnaryRpc[Any, Any]) -> AnsweringTold:
        answer = getattr(self._handler, rpc.handler.__name__)

        async def on_bytes(request: bytes, peer: Peer, told: Told) -> bytes:
            message = self._message(rpc, request, peer)
            match rpc.kind:
                case Kind.WRITE:
                    further: tuple[object, ...] = (audit_of(message.audit), peer)
                case Kind.WRITE_WITH_METADATA:
                    further = (audit_in(told), peer)
                case _:
                    further = (peer,)
            return await _answer_bytes(rpc, await answer(*rpc.arguments(message), *further))

        return on_bytes

    def _streaming(self, rpc: StreamRpc[Any, Any] | ListingRpc[Any, Any]) -> Streaming:
        async def on_bytes(request: bytes, peer: Peer) -> AsyncGenerator[bytes, None]:
            message = self._message(rpc, request, peer)
            part = rpc.cluster_part if isinstance(rpc, ListingRpc) else None
            if part is not None:
                part.require(message, peer)
            told = part.told if part is not None and cluster_of(peer) else None
            async with aclosing(rpc.frames(self._handler, message)) as frames:
                async for frame in frames:
                    shown = frame if told is None else told(frame)
                    yield shown.SerializeToString(deterministic=True)

        return on_bytes

    def _message(self, rpc: Rpc, content: bytes, peer: Peer) -> Any:
        """Raises Rejected or DecodeError."""
        if self._checks_callers:
            require(rpc.gate, peer)
        return read_as(_request_type(rpc.service.name, rpc.method), content, rpc.service.most_bytes)


async def _answer_bytes(rpc: UnaryRpc[Any, Any], told: Any) -> bytes:
    if getattr(rpc.answer, "in_pieces", False):
        return await answer_of(told, rpc.answer.message)
    return rpc.answer.message(told).SerializeToString(deterministic=True)


@cache
def _request_type(service: str, method: str) -> type[Message]:
    found = Default().FindServiceByName(service).methods_by_name[method]
    return message_factory.GetMessageClass(found.input_type)
