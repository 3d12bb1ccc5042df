"""The control of the simulated world on the wire: one verb with its words in, JSON out.

What a verb means is the simulation's business. Events come as a stream; with `follow` it stays
open until the caller leaves or the provider stops.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

import orjson

from bigfleet.admin.v1alpha1 import provider_admin_pb2 as pb
from bigfleet.model.provider_calls import Peer
from bigfleet.wire.audits import require_admin
from bigfleet.wire.rpcs import Answering, Gate, Kind, RpcClient, Service

JsonObject = Mapping[str, object]


class SimHandler(Protocol):
    """Raises Rejected(INVALID_ARGUMENT) for what it does not understand."""

    async def do(self, verb: str, words: Sequence[str], args: Mapping[str, str]) -> JsonObject: ...
    def events(self, follow: bool, after: int) -> AsyncGenerator[JsonObject, None]: ...


SIM_CONTROL: Service[SimHandler] = Service("bigfleet.admin.v1alpha1.SimControl", "provider")


def _answering_verbs(handler: SimHandler) -> Answering:
    async def answer(content: bytes, peer: Peer) -> bytes:
        require_admin(peer)
        command = pb.SimCommand.FromString(content)
        told = await handler.do(command.verb, tuple(command.words), dict(command.args))
        return pb.SimAnswer(json=orjson.dumps(told).decode()).SerializeToString()

    return answer


async def _event_frames(
    handler: SimHandler, request: pb.SimEventsRequest
) -> AsyncGenerator[pb.SimEvent, None]:
    async with aclosing(handler.events(request.follow, request.after)) as events:
        async for event in events:
            yield pb.SimEvent(json=orjson.dumps(event).decode())


def _object_in(message: pb.SimAnswer | pb.SimEvent) -> dict[str, object]:
    found: dict[str, object] = orjson.loads(message.json or "{}")
    return found


DO = SIM_CONTROL.by_hand("Do", Kind.WRITE, Gate.ADMINS, _answering_verbs, "provider sim")


class SimControlClient(RpcClient):
    async def do(
        self, verb: str, words: Sequence[str] = (), args: Mapping[str, str] | None = None
    ) -> dict[str, object]:
        command = pb.SimCommand(verb=verb, words=words, args=args or {})
        answer = await self.line.call(DO.path, command.SerializeToString(), self.deadline)
        return _object_in(pb.SimAnswer.FromString(answer))

    events = SIM_CONTROL.stream(
        "Events",
        pb.SimEventsRequest,
        _event_frames,
        pb.SimEvent,
        _object_in,
        "provider sim events",
        Gate.ADMINS,
    )
