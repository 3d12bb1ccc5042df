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
from bigfleet.wire.audits import audit_in
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
    read_as,
)

H = TypeVar("H")


class RpcService(Generic[H]):
    """Answers the RPCs of a table from a handler."""

    def __init__(self, service: Service[H], handler: H) -> None:
        self.name = service.name
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

        async def on_bytes(request: bytes, _peer: Peer) -> bytes:
            arguments = rpc.arguments(read_request(rpc, request))
            return await _answer_bytes(rpc, await answer(*arguments))

        return on_bytes

    def _writing(self, rpc: UnaryRpc[Any, Any]) -> AnsweringTold:
        answer = getattr(self._handler, rpc.handler.__name__)

        async def on_bytes(request: bytes, peer: Peer, told: Told) -> bytes:
            arguments = rpc.arguments(read_request(rpc, request))
            if rpc.kind is Kind.WRITE_WITH_METADATA:
                arguments = (*arguments, audit_in(told))
            return await _answer_bytes(rpc, await answer(*arguments, peer))

        return on_bytes

    def _streaming(self, rpc: StreamRpc[Any, Any] | ListingRpc[Any, Any]) -> Streaming:
        async def on_bytes(request: bytes, _peer: Peer) -> AsyncGenerator[bytes, None]:
            async with aclosing(rpc.frames(self._handler, read_request(rpc, request))) as frames:
                async for frame in frames:
                    yield frame.SerializeToString(deterministic=True)

        return on_bytes


async def _answer_bytes(rpc: UnaryRpc[Any, Any], told: Any) -> bytes:
    if rpc.answer.in_pieces:
        return await answer_of(told, rpc.answer.message)
    return rpc.answer.message(told).SerializeToString(deterministic=True)


def read_request(rpc: Rpc, content: bytes) -> Any:
    """The request's message; raises Rejected or DecodeError."""
    return read_as(_request_type(rpc.service.name, rpc.method), content, rpc.service.most_bytes)


@cache
def _request_type(service: str, method: str) -> type[Message]:
    found = Default().FindServiceByName(service).methods_by_name[method]
    return message_factory.GetMessageClass(found.input_type)
