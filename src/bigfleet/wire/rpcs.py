"""The table of RPCs: one entry per RPC serves the client, the server and the check of callers.

An entry says what the RPC is called, who may call it, how a client writes its request, how the
server reads it, which method of the handler answers, and how the answer is written and read. It is
an attribute of the client's class: called on a client it makes the call, and its `Service` lists it
for the server (`rpc_service`) and for `authorisation`. To add one: the method in the
.proto, the entry, the handler's method, and the verb of the command line.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    TypeVarTuple,
    overload,
)

from google.protobuf.message import DecodeError, Message

from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_admin import Audit
from bigfleet.wire.audits import audit_message, metadata_of, require_admin, require_reader
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.lines import Metadata, TlsFiles
from bigfleet.wire.record_codecs import RecordCodec

DEADLINE = 30.0
#: A listing of everything is long.
LIST_DEADLINE = 120.0
CLUSTER_PREFIX = "bigfleet://cluster/"
SHARD_PREFIX = "bigfleet://shard/"

#: Bytes in, bytes out; raises Rejected.
Answering = Callable[[bytes, Peer], Coroutine[Any, Any, bytes]]
P = ParamSpec("P")
Arguments = TypeVarTuple("Arguments")
M = TypeVar("M", bound=Message)
N = TypeVar("N", bound=Message)
R = TypeVar("R")
H = TypeVar("H")
#: What a handler answers, and what the caller gets: the same, or a tuple of the rows.
Told = TypeVar("Told")
Told_contra = TypeVar("Told_contra", contravariant=True)
A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
T = TypeVar("T")
E = TypeVar("E", bound="Rpc")


class Gate(Enum):
    """Who may call."""

    #: Every caller that got through the handshake.
    EVERY_CALLER = "every caller"
    #: `bigfleet://cluster/<id>`; the id is compared with that of the Hello or the report.
    CLUSTER = "cluster"
    #: `bigfleet://shard/<id>`; the reader of the request compares all of it, as a report without a
    #: shard id is refused as such before names are checked.
    SHARD = "shard"
    READERS = "readers"
    #: Readers, and `bigfleet://cluster/<id>`, whose request is compared with its own name.
    READERS_AND_CLUSTER = "readers, and a cluster about itself"
    ADMINS = "admins"


def require(gate: Gate, peer: Peer) -> None:
    """Raises Rejected(PERMISSION_DENIED); that a shard speaks for itself is checked later."""
    match gate:
        case Gate.READERS:
            require_reader(peer)
        case Gate.READERS_AND_CLUSTER:
            if not (peer.authenticated and cluster_of(peer)):
                require_reader(peer)
        case Gate.ADMINS:
            require_admin(peer)
        case Gate.CLUSTER:
            if peer.authenticated and not (peer.identity or "").startswith(CLUSTER_PREFIX):
                raise refused(peer, f"{CLUSTER_PREFIX}<cluster id>")


def cluster_of(peer: Peer) -> str:
    """The cluster that calls; empty: another caller."""
    identity = (peer.identity or "") if peer.authenticated else ""
    return identity.removeprefix(CLUSTER_PREFIX) if identity.startswith(CLUSTER_PREFIX) else ""


def require_cluster(peer: Peer, cluster: str) -> None:
    """A cluster speaks only for itself."""
    if peer.authenticated and peer.identity != CLUSTER_PREFIX + cluster:
        raise refused(peer, CLUSTER_PREFIX + cluster)


def require_shard(peer: Peer, shard_id: str) -> None:
    """A shard speaks only for itself."""
    if peer.authenticated and peer.identity != SHARD_PREFIX + shard_id:
        raise refused(peer, SHARD_PREFIX + shard_id)


def refused(peer: Peer, wanted: str) -> Rejected:
    caller = peer.identity or "a caller without one bigfleet name"
    text = f"{caller} may not do this; it takes {wanted}"
    return Rejected(Code.PERMISSION_DENIED, text, "identity")


class Kind(Enum):
    #: Dropped when its caller hangs up.
    READ = "read"
    #: Finished even if its caller hangs up. The handler is told who calls, and the owner and reason
    #: that the request names.
    WRITE = "write"
    #: A write whose request has no place for owner and reason: its metadata names them.
    WRITE_WITH_METADATA = "write with metadata"
    #: A write whose request is one record, owner and reason in it.
    WRITE_RECORD = "write record"
    #: Many answers, until the caller hangs up or the handler is done.
    STREAM = "stream"


@dataclass(frozen=True, eq=False, repr=False)
class Rpc:
    """What every entry says."""

    service: "Service[Any]"
    method: str
    kind: Kind
    gate: Gate
    #: The words after `bigfleet` of the verb that calls it; empty where only a process does.
    verb: str

    @property
    def path(self) -> str:
        return f"/{self.service.name}/{self.method}"

    def read(self, content: bytes, message_type: type[N], record: Callable[[N], R]) -> R:
        """What an answer says; raises Rejected where it cannot be read."""
        try:
            return record(message_type.FromString(content))
        except (DecodeError, ValueError) as problem:
            raise self.unreadable(problem) from None

    def unreadable(self, problem: Exception) -> Rejected:
        server = self.service.server
        text = f"the answer to {self.method} cannot be read, is the {server} newer? {problem}"
        return Rejected(Code.INTERNAL, text)


class AnswerCodec(Protocol[Told_contra, A_co]):
    """How the server writes an answer and the client reads it: a RecordCodec, or an Answer."""

    @property
    def message_type(self) -> type[Message]: ...
    def message(self, told: Told_contra, /) -> Message: ...
    def record(self, message: Any, /) -> A_co: ...


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Generic[Told, A]):
    """An answer that is not one record of a RecordCodec."""

    message_type: type[Message]
    message: Callable[[Told], Message]
    record: Callable[[Any], A]
    #: Of rows: the server writes some of them at a time.
    in_pieces: bool = False


def one(message_type: type[Message], field: str, codec: RecordCodec[R, Any]) -> Answer[R, R]:
    """An answer whose one field holds the record."""
    return Answer(
        message_type,
        lambda told: message_type(**{field: codec.message(told)}),
        lambda answer: codec.record(getattr(answer, field)),
    )


def rows(
    message_type: type[Message], field: str, codec: RecordCodec[R, Any]
) -> Answer[Sequence[R], tuple[R, ...]]:
    """An answer whose one field is repeated."""
    return Answer(
        message_type,
        lambda some: message_type(**{field: codec.messages(some)}),
        lambda answer: codec.records(getattr(answer, field)),
        in_pieces=True,
    )


def nothing(message_type: type[Message]) -> Answer[None, None]:
    return Answer(message_type, lambda _told: message_type(), lambda _answer: None)


def no_arguments(_request: Message) -> tuple[()]:
    return ()


def read_as(message_type: type[M], content: bytes, most_bytes: int | None = None) -> M:
    """Raises Rejected or DecodeError."""
    if most_bytes is not None and len(content) > most_bytes:
        name = message_type.DESCRIPTOR.name
        text = f"the {name} has {len(content)} bytes; {most_bytes} are the most"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    message = message_type()
    message.ParseFromString(content)
    return message


class Line(Protocol):
    """A `ClientLine` to one server, or `LeaderLines` to the leader of several."""

    async def call(
        self, path: str, request: bytes, deadline: float, metadata: Metadata = ()
    ) -> bytes: ...
    def stream(self, path: str, request: bytes) -> AsyncGenerator[bytes, None]: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, eq=False, repr=False)
class ByHandRpc(Rpc):
    """Both ends are written by hand; the client's is elsewhere."""

    #: What answers, made from a handler.
    answering: Callable[[Any], Answering]


class CalledRpc(Rpc, Generic[P, T]):
    """An entry as an attribute of a client's class: `client.status()` calls `on(client)`."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: "RpcClient", owner: type) -> Callable[P, T]: ...
    def __get__(self, client: "RpcClient | None", owner: type) -> "Self | Callable[P, T]":
        return self if client is None else partial(self.on, client)

    def on(self, client: "RpcClient", *args: P.args, **kwargs: P.kwargs) -> T:
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class UnaryRpc(CalledRpc[P, Coroutine[Any, Any, A]], Generic[P, A]):
    """One request, one answer."""

    #: What the client is called with as a message, but for owner and reason of a write.
    request: Callable[..., Message]
    #: What the message says, as arguments of the handler; raises Rejected.
    arguments: Callable[[Any], tuple[Any, ...]]
    #: The method of the handler's Protocol; the handler's own has the same name.
    handler: Callable[..., Coroutine[Any, Any, Any]]
    answer: AnswerCodec[Any, A]
    #: Seconds, of a question that takes longer than a client waits for others; None: it does not.
    deadline: float | None = None

    async def on(self, client: "RpcClient", *args: P.args, **kwargs: P.kwargs) -> A:
        audit: Any = None
        given: Any = args
        if self.kind in (Kind.WRITE, Kind.WRITE_WITH_METADATA):
            audit, *given = given
        request: Any = self.request(*given, **kwargs)
        if self.kind is Kind.WRITE:
            request.audit.CopyFrom(audit_message(audit))
        metadata = metadata_of(audit) if self.kind is Kind.WRITE_WITH_METADATA else ()
        deadline = client.deadline if self.deadline is None else self.deadline
        return await self.call(client.line, deadline, request, metadata)

    async def call(
        self, line: Line, deadline: float, request: Message, metadata: Metadata = ()
    ) -> A:
        content = await line.call(self.path, request.SerializeToString(), deadline, metadata)
        return self.read(content, self.answer.message_type, self.answer.record)


@dataclass(frozen=True, eq=False, repr=False)
class StreamRpc(CalledRpc[P, AsyncGenerator[A, None]], Generic[P, A]):
    """The answers are handed on as they come, and the caller keeps the deadline."""

    request: Callable[P, Message]
    #: The answers of a handler to a request; raises Rejected.
    frames: Callable[[Any, Any], AsyncGenerator[Message, None]]
    message_type: type[Message]
    record: Callable[[Any], A]

    async def on(
        self, client: "RpcClient", *args: P.args, **kwargs: P.kwargs
    ) -> AsyncGenerator[A, None]:
        request = self.request(*args, **kwargs).SerializeToString()
        async with aclosing(client.stream(self.path, request)) as frames:
            async for frame in frames:
                yield self.read(frame, self.message_type, self.record)


@dataclass(frozen=True, eq=False, repr=False)
class Page(Generic[R, A]):
    """A stream of a header and rows, as one record."""

    message_type: type[Message]
    #: The field that holds a row; with an `s`, where there is such a field, the one of several.
    row: str
    record: Callable[[Any], R]
    #: From the header's message and all rows.
    page: Callable[[Any, tuple[R, ...]], A]


@dataclass(frozen=True, eq=False, repr=False)
class ClusterPart:
    """What a cluster may list of itself."""

    #: The cluster that a request asks about.
    asked: Callable[[Any], str]
    #: A frame as that cluster may read it.
    told: Callable[[Any], Message]

    def require(self, request: Message, peer: Peer) -> None:
        """Raises Rejected where a cluster asks about more than itself."""
        cluster = cluster_of(peer)
        if cluster and self.asked(request) != cluster:
            raise refused(peer, f"a question about {cluster} alone")


@dataclass(frozen=True, eq=False, repr=False)
class ListingRpc(CalledRpc[P, Coroutine[Any, Any, A]], Generic[P, A]):
    """The answers are collected within the deadline."""

    request: Callable[P, Message]
    frames: Callable[[Any, Any], AsyncGenerator[Message, None]]
    page: Page[Any, A]
    #: What is listed, in the plural.
    noun: str
    #: None: clusters may not call it.
    cluster_part: ClusterPart | None = None

    async def on(self, client: "RpcClient", *args: P.args, **kwargs: P.kwargs) -> A:
        header, rows = await self.rows(client, self.page.record, *args, **kwargs)
        return self.page.page(header, rows)

    async def rows(
        self,
        client: "RpcClient",
        record: Callable[[Any], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Any, tuple[T, ...]]:
        """The header's message, and what `record` makes of the message of each row."""
        request = self.request(*args, **kwargs).SerializeToString()
        page, found = self.page, []
        first: Any = page.message_type()
        several = f"{page.row}s"
        if several not in page.message_type.DESCRIPTOR.fields_by_name:
            several = ""

        def take(answer: Any) -> None:
            if answer.HasField("header"):
                first.MergeFrom(answer)
            elif answer.HasField(page.row):
                found.append(record(getattr(answer, page.row)))
            if several:
                found.extend(map(record, getattr(answer, several)))

        try:
            async with (
                asyncio.timeout(client.list_deadline),
                aclosing(client.stream(self.path, request)) as frames,
            ):
                async for frame in frames:
                    self.read(frame, page.message_type, take)
        except TimeoutError:
            text = f"the {self.noun} took too long to come"
            raise Rejected(Code.DEADLINE_EXCEEDED, text) from None
        return first.header, tuple(found)


#: A frame costs more than a row: clients ask for so many rows in one.
ROWS_PER_FRAME = 100
MOST_PER_FRAME = 256


async def in_frames(
    rows: AsyncIterable[M], per_frame: int, one: Callable[[M], N], several: Callable[[list[M]], N]
) -> AsyncGenerator[N, None]:
    """A frame for each row, or for as many as were asked for."""
    most, waiting = min(per_frame, MOST_PER_FRAME), list[M]()
    async for row in rows:
        if most <= 1:
            yield one(row)
            continue
        waiting.append(row)
        if len(waiting) >= most:
            yield several(waiting)
            waiting = []
    if waiting:
        yield several(waiting)


class Service(Generic[H]):
    """A service of the .proto files and its RPCs, in the order of their entries."""

    def __init__(self, name: str, server: str, most_bytes: int | None = None) -> None:
        """`server`: what serves it, in texts; `most_bytes`: of a request, the ceiling if None."""
        self.name = name
        self.server = server
        self.most_bytes = most_bytes
        self.rpcs: dict[str, Rpc] = {}

    def read(
        self,
        method: str,
        request: Callable[P, M],
        arguments: Callable[[M], tuple[*Arguments]],
        handler: Callable[[H, *Arguments], Coroutine[Any, Any, Told]],
        answer: AnswerCodec[Told, A],
        verb: str = "",
        *,
        deadline: float | None = None,
    ) -> UnaryRpc[P, A]:
        head = (self, method, Kind.READ, Gate.READERS, verb)
        return self.add(UnaryRpc(*head, request, arguments, handler, answer, deadline))

    def write(
        self,
        method: str,
        request: Callable[P, M],
        arguments: Callable[[M], tuple[*Arguments]],
        handler: Callable[[H, *Arguments, Audit, Peer], Coroutine[Any, Any, Told]],
        answer: AnswerCodec[Told, A],
        verb: str = "",
        *,
        in_metadata: bool = False,
    ) -> UnaryRpc[Concatenate[Audit, P], A]:
        """`in_metadata`: the request has no place for who and why, so its metadata says it."""
        kind = Kind.WRITE_WITH_METADATA if in_metadata else Kind.WRITE
        head = (self, method, kind, Gate.ADMINS, verb)
        return self.add(UnaryRpc(*head, request, arguments, handler, answer))

    def write_record(
        self,
        method: str,
        request: Callable[P, M],
        record: Callable[[M], R],
        handler: Callable[[H, R, Peer], Coroutine[Any, Any, Told]],
        answer: AnswerCodec[Told, A],
        verb: str = "",
    ) -> UnaryRpc[P, A]:
        head = (self, method, Kind.WRITE_RECORD, Gate.ADMINS, verb)
        return self.add(UnaryRpc(*head, request, lambda m: (record(m),), handler, answer))

    def stream(
        self,
        method: str,
        request: Callable[P, M],
        frames: Callable[[H, M], AsyncGenerator[N, None]],
        message_type: type[N],
        record: Callable[[N], A],
        verb: str = "",
        gate: Gate = Gate.READERS,
    ) -> StreamRpc[P, A]:
        head = (self, method, Kind.STREAM, gate, verb)
        return self.add(StreamRpc(*head, request, frames, message_type, record))

    def listing(
        self,
        method: str,
        request: Callable[P, M],
        frames: Callable[[H, M], AsyncGenerator[Message, None]],
        page: Page[R, A],
        noun: str,
        verb: str = "",
        cluster_part: ClusterPart | None = None,
    ) -> ListingRpc[P, A]:
        gate = Gate.READERS if cluster_part is None else Gate.READERS_AND_CLUSTER
        head = (self, method, Kind.STREAM, gate, verb)
        return self.add(ListingRpc(*head, request, frames, page, noun, cluster_part))

    def by_hand(
        self,
        method: str,
        kind: Kind,
        gate: Gate,
        answering: Callable[[H], Answering],
        verb: str = "",
    ) -> ByHandRpc:
        return self.add(ByHandRpc(self, method, kind, gate, verb, answering))

    def add(self, rpc: E) -> E:
        assert rpc.method not in self.rpcs, f"{rpc.path} has two entries"
        self.rpcs[rpc.method] = rpc
        return rpc


class RpcClient:
    """A line to one server, and a deadline for each call."""

    def __init__(
        self, address: str, tls: TlsFiles | None = None, *, deadline: float | None = None
    ) -> None:
        """`deadline`: in seconds, of listings too."""
        self.line: Line = ClientLine(address, tls)
        self.deadline = DEADLINE if deadline is None else deadline
        self.list_deadline = LIST_DEADLINE if deadline is None else deadline

    def stream(self, path: str, request: bytes) -> AsyncGenerator[bytes, None]:
        return self.line.stream(path, request)

    async def close(self) -> None:
        await self.line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()
