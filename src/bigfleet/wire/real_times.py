"""Real time on the lines of a process that lives by a clock of its own.

A fleet in a hurry (`up --speed 60`) decides by simulated time. People read its answers by
their watches: every instant that leaves such a process is turned into real time, and every instant
that comes in is turned into its own. Fields are found by their names, which end in `_unix_nanos` or
`_unix_ns` on all our messages; in sentences and facts of reasons, RFC 3339 times are turned. A
process that lives by the real clock has no such thing on its lines.
"""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message

from bigfleet.model.instants import instant_of, instant_text
from bigfleet.model.machines import Instant

_ENDINGS = ("_unix_nanos", "_unix_ns")
#: Sentences of ours; what people wrote themselves stands in other fields.
_SENTENCES = ("text", "basis")
_FACTS = "facts"
_RFC3339 = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")

Convert = Callable[[Instant], Instant]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Times(Protocol):
    """Both directions; 0 is an unknown instant and stays 0."""

    @property
    def is_real(self) -> bool:
        """Both are the same so far: nothing has to be turned."""
        ...

    def real_of(self, instant: Instant) -> Instant: ...

    def own_of(self, instant: Instant) -> Instant: ...


@dataclass(frozen=True, slots=True)
class WireTimes:
    times: Times
    #: Whether messages of a type can have an instant in them.
    _timed: dict[str, bool] = field(default_factory=dict)

    def request_sent(self, path: str, content: bytes) -> bytes:
        return self._turned(_method(path).input_type, content, self.times.real_of)

    def request_received(self, path: str, content: bytes) -> bytes:
        return self._turned(_method(path).input_type, content, self.times.own_of)

    def answer_sent(self, path: str, content: bytes) -> bytes:
        return self._turned(_method(path).output_type, content, self.times.real_of)

    def answer_received(self, path: str, content: bytes) -> bytes:
        return self._turned(_method(path).output_type, content, self.times.own_of)

    def text_told(self, text: str) -> str:
        """A sentence or a time as people are to read it."""
        return turned_text(text, self.times.real_of)

    def _turned(self, kind: Descriptor, content: bytes, convert: Convert) -> bytes:
        """What cannot be read is left to those who can say why; DecodeError is theirs too."""
        if self.times.is_real or not self._is_timed(kind):
            return content
        message = message_factory.GetMessageClass(kind)()
        message.ParseFromString(content)
        _turn(message, convert)
        return message.SerializeToString(deterministic=True)

    def _is_timed(self, kind: Descriptor) -> bool:
        if kind.full_name not in self._timed:
            # Also while its own fields are looked at, which may be of its kind.
            self._timed[kind.full_name] = False
            self._timed[kind.full_name] = any(map(self._may_hold_one, kind.fields))
        return self._timed[kind.full_name]

    def _may_hold_one(self, known: FieldDescriptor) -> bool:
        if known.message_type is not None:
            return self._is_timed(known.message_type)
        return known.name.endswith(_ENDINGS) or known.name in _SENTENCES


class TimesOnTheWire(grpc.aio.ServerInterceptor):
    """Turns the instants in what a server hears and says; sessions of operators carry none back."""

    def __init__(self, wire: WireTimes) -> None:
        self._wire = wire

    async def intercept_service(
        self, continuation: Any, handler_call_details: grpc.HandlerCallDetails
    ) -> "Handler | None":
        handler: Handler | None = await continuation(handler_call_details)
        path = str(handler_call_details.method)
        if handler is None or handler.request_streaming or not _is_ours(path):
            return handler
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(self._stream(path, handler.unary_stream))
        return grpc.unary_unary_rpc_method_handler(self._answer(path, handler.unary_unary))

    def _answer(self, path: str, inner: Any) -> Any:
        async def answer(request: bytes, context: Any) -> bytes:
            said = await inner(self._wire.request_received(path, request), context)
            return self._wire.answer_sent(path, said)

        return answer

    def _stream(self, path: str, inner: Any) -> Any:
        assert inspect.isasyncgenfunction(inner), "our streams are generators"

        async def stream(request: bytes, context: Any) -> AsyncIterator[bytes]:
            async for said in inner(self._wire.request_received(path, request), context):
                yield self._wire.answer_sent(path, said)

        return stream


def interceptors_of(
    guard: grpc.aio.ServerInterceptor, wire: WireTimes | None
) -> list[grpc.aio.ServerInterceptor]:
    """Who may call is looked at first."""
    return [guard] if wire is None else [guard, TimesOnTheWire(wire)]


def _is_ours(path: str) -> bool:
    return path.startswith("/bigfleet.")


def _method(path: str) -> MethodDescriptor:
    service, _, name = path.lstrip("/").partition("/")
    found: MethodDescriptor = Default().FindServiceByName(service).methods_by_name[name]
    return found


def _turn(message: Message, convert: Convert) -> None:
    for known, value in message.ListFields():
        if known.name.endswith(_ENDINGS):
            if isinstance(value, int):
                setattr(message, known.name, convert(value))
            else:
                value[:] = map(convert, value)
        elif known.name in _SENTENCES and isinstance(value, str):
            setattr(message, known.name, turned_text(value, convert))
        elif known.name == _FACTS:
            for key in tuple(value):
                value[key] = turned_text(value[key], convert)
        elif known.message_type is not None:
            for inner in _messages_in(value):
                _turn(inner, convert)


def turned_text(text: str, convert: Convert) -> str:
    """Every RFC 3339 time in it."""

    def turned(found: re.Match[str]) -> str:
        instant = instant_of(found[0])
        if instant is None:
            return found[0]
        real = convert(instant)
        # As exact as it was: seconds stay whole.
        return instant_text(real if "." in found[0] else real // 1_000_000_000 * 1_000_000_000)

    return _RFC3339.sub(turned, text)


def _messages_in(value: Any) -> Iterator[Message]:
    if isinstance(value, Message):
        yield value
        return
    rows = value.values() if hasattr(value, "values") else value
    for row in rows:
        if isinstance(row, Message):
            yield row
