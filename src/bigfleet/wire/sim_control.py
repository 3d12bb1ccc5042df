"""The control of the simulated world on the wire: one verb with its words in, JSON out.

What a verb means is the simulation's business. Events come as a stream; with `follow` it stays
open until the caller leaves or the provider stops.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol, Self

import grpc
import orjson

from bigfleet.admin.v1alpha1 import provider_admin_pb2 as pb
from bigfleet.model.provider_calls import Peer
from bigfleet.wire.audits import require_admin
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.lines import TlsFiles

SERVICE = "bigfleet.admin.v1alpha1.SimControl"
JsonObject = Mapping[str, object]


class SimHandler(Protocol):
    """Raises Rejected(INVALID_ARGUMENT) for what it does not understand."""

    async def do(self, verb: str, words: Sequence[str], args: Mapping[str, str]) -> JsonObject: ...
    def events(self, follow: bool, after: int) -> AsyncGenerator[JsonObject, None]: ...


class SimControlService:
    name = SERVICE

    def __init__(self, handler: SimHandler) -> None:
        self._handler = handler

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Do": serving.writes("Do", self._do),
                "Events": serving.streams("Events", self._events),
            },
        )

    async def _do(self, request: bytes, peer: Peer) -> bytes:
        require_admin(peer)
        command = pb.SimCommand.FromString(request)
        answer = await self._handler.do(command.verb, tuple(command.words), dict(command.args))
        return pb.SimAnswer(json=orjson.dumps(answer).decode()).SerializeToString()

    async def _events(self, request: bytes, peer: Peer) -> AsyncGenerator[bytes, None]:
        require_admin(peer)
        asked = pb.SimEventsRequest.FromString(request)
        async with aclosing(self._handler.events(asked.follow, asked.after)) as events:
            async for event in events:
                yield pb.SimEvent(json=orjson.dumps(event).decode()).SerializeToString()


class SimControlClient:
    def __init__(self, address: str, tls: TlsFiles | None = None) -> None:
        self._line = ClientLine(address, tls)

    async def do(
        self,
        verb: str,
        words: Sequence[str] = (),
        args: Mapping[str, str] | None = None,
        deadline: float = 30.0,
    ) -> dict[str, object]:
        command = pb.SimCommand(verb=verb, words=words, args=args or {})
        answer = await self._line.call(f"/{SERVICE}/Do", command.SerializeToString(), deadline)
        return _object_of(pb.SimAnswer.FromString(answer).json)

    async def events(
        self, *, follow: bool = False, after: int = 0
    ) -> AsyncGenerator[dict[str, object], None]:
        asked = pb.SimEventsRequest(follow=follow, after=after)
        stream = self._line.stream(f"/{SERVICE}/Events", asked.SerializeToString())
        async with aclosing(stream) as frames:
            async for frame in frames:
                yield _object_of(pb.SimEvent.FromString(frame).json)

    async def close(self) -> None:
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()


def _object_of(json: str) -> dict[str, object]:
    found: dict[str, object] = orjson.loads(json or "{}")
    return found
