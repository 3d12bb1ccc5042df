"""A client of etcd's v3 API: several endpoints, one at a time, and a deadline on every call.

Calls go to the endpoint that answered last; where it does not, to the next. What may be asked twice
is asked of each of them in turn. A transaction is not: once it has left us its outcome is only
known from an answer, so it is sent elsewhere only while no connection to the first one stands.

Keep-alive and watch are streams in both directions to etcd, and etcd serves them as well when we
say one thing and close our side. So a keep-alive is a call like any other, with its deadline and
its next endpoint, and no stream can die unnoticed between two of them.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

from google.protobuf.message import DecodeError

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.etcd import messages
from bigfleet.wire.etcd.records import (
    EtcdDown,
    EtcdRefused,
    EtcdUnclear,
    KeyChange,
    Lease,
    RangePage,
    Read,
    Transaction,
    TransactionOutcome,
)
from bigfleet.wire.lines import CLIENT_OPTIONS, Options, TlsFiles

#: Of one call to one endpoint. etcd itself gives up after seven: by then the lease is gone anyway.
CALL_SECONDS = 3.0
ETCD_OPTIONS: Options = tuple(
    {
        **dict(CLIENT_OPTIONS),
        # Of a watch on a dead connection; etcd hangs up on who pings more often than every 5 s ...
        "grpc.keepalive_time_ms": 10_000,
        "grpc.keepalive_timeout_ms": 5_000,
        # ... or without a call.
        "grpc.keepalive_permit_without_calls": 0,
        # A lease of 5 s does not wait longer than this for a member that has come back.
        "grpc.max_reconnect_backoff_ms": 1_000,
        "grpc.min_reconnect_backoff_ms": 5_000,
    }.items()
)
#: With these etcd says that it did nothing.
_REFUSALS = frozenset(
    {
        Code.INVALID_ARGUMENT,
        Code.NOT_FOUND,
        Code.ALREADY_EXISTS,
        Code.PERMISSION_DENIED,
        Code.RESOURCE_EXHAUSTED,
        Code.FAILED_PRECONDITION,
        Code.OUT_OF_RANGE,
        Code.UNIMPLEMENTED,
        Code.UNAUTHENTICATED,
    }
)
_Answer = TypeVar("_Answer")


class EtcdClient:
    def __init__(
        self,
        endpoints: Sequence[str],
        tls: TlsFiles | None = None,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        """Endpoints are host:port; a scheme before it is read over. Connects when first asked."""
        if not endpoints:
            raise ValueError("an etcd client needs at least one endpoint")
        self._lines = [ClientLine(_address(each), tls, ETCD_OPTIONS) for each in endpoints]
        self._call_seconds = call_seconds
        #: The endpoint that answered last, or the one after one that did not.
        self._at = 0

    async def version(self) -> str:
        """Of the member that answers first, such as `3.5.1`."""
        return await self._ask(messages.STATUS, b"", messages.version_of)

    async def read(self, read: Read) -> RangePage:
        """Of what the majority has agreed on, not of what one member believes."""
        return await self._ask(messages.RANGE, messages.read_bytes(read), messages.page_of)

    async def pages(self, read: Read) -> AsyncGenerator[RangePage, None]:
        """All there is, a limit's worth at a time; the next is asked for while one is unpacked."""
        coming = asyncio.ensure_future(self._page(read))
        try:
            while True:
                content = await coming
                after = messages.after_page(content)
                if after is not None:
                    coming = asyncio.ensure_future(self._page(replace(read, key=after)))
                # In a thread: meanwhile the loop sends what was asked for.
                yield await asyncio.to_thread(messages.page_of, content)
                if after is None:
                    return
        finally:
            coming.cancel()

    async def _page(self, read: Read) -> bytes:
        return await self._ask(messages.RANGE, messages.read_bytes(read), bytes)

    async def commit(self, transaction: Transaction) -> TransactionOutcome:
        """Raises EtcdDown, EtcdRefused, or EtcdUnclear."""
        request, tried = messages.transaction_bytes(transaction), []
        for line in self._in_turn():
            if not await line.leads_somewhere(self._call_seconds):
                tried.append(f"{line.address}: no connection")
                continue
            try:
                answer = await line.call(messages.TXN, request, self._call_seconds)
                return messages.outcome_of(answer)
            except (Rejected, DecodeError) as problem:
                if isinstance(problem, Rejected) and _is_refusal(problem):
                    raise EtcdRefused(problem.code, problem.text) from None
                self._turn_away_from(line)
                raise EtcdUnclear(_told(line, problem)) from None
        raise EtcdDown("; ".join(tried))

    async def grant(self, ttl_seconds: int) -> Lease:
        """A lease whose answer was lost runs out by itself."""
        return await self._ask(messages.GRANT, messages.grant_bytes(ttl_seconds), messages.lease_of)

    async def keep_alive(self, lease: int, try_seconds: float) -> int:
        """The seconds it now has; 0 or less: it is gone."""
        request = messages.keep_alive_bytes(lease)
        return await self._ask(messages.KEEP_ALIVE, request, messages.ttl_of, try_seconds)

    async def revoke(self, lease: int, try_seconds: float | None = None) -> None:
        """Also deletes what is bound to it. One that is gone already is not a failure."""
        request = messages.revoke_bytes(lease)
        try:
            await self._ask(messages.REVOKE, request, lambda _: None, try_seconds)
        except EtcdRefused as refused:
            if refused.code is not Code.NOT_FOUND:
                raise

    async def watch(
        self, key: bytes, first_revision: int, seconds: float
    ) -> AsyncGenerator[KeyChange, None]:
        """Changes of one key from a revision on, until etcd or time ends it; raises EtcdDown.

        That it ended says nothing about the key: read it, and watch on from what was read.
        """
        line = self._lines[self._at]
        request = messages.watch_bytes(key, first_revision)
        clock = asyncio.get_running_loop().time
        ends_at = clock() + seconds
        # Longer than it is waited for: etcd's own words for a deadline vary.
        frames = line.stream(messages.WATCH, request, seconds + self._call_seconds)
        try:
            async with aclosing(frames):
                while (frame := await _next(frames, ends_at - clock())) is not None:
                    changes = messages.changes_of(frame)
                    if changes is None:
                        return
                    for change in changes:
                        yield change
        except (Rejected, DecodeError) as problem:
            self._turn_away_from(line)
            raise EtcdDown(_told(line, problem)) from None

    async def close(self) -> None:
        await asyncio.gather(*(line.close() for line in self._lines))

    async def _ask(
        self,
        path: str,
        request: bytes,
        answer_of: Callable[[bytes], _Answer],
        try_seconds: float | None = None,
    ) -> _Answer:
        """Of one endpoint after the other: for what may be done twice."""
        tried = []
        for line in self._in_turn():
            try:
                return answer_of(await line.call(path, request, try_seconds or self._call_seconds))
            except (Rejected, DecodeError) as problem:
                if isinstance(problem, Rejected) and _is_refusal(problem):
                    raise EtcdRefused(problem.code, problem.text) from None
                tried.append(_told(line, problem))
        raise EtcdDown("; ".join(tried))

    def _in_turn(self) -> Iterator[ClientLine]:
        """Each endpoint once, the next only when the one before is done with."""
        at = self._at
        for line in (*self._lines[at:], *self._lines[:at]):
            yield line
            self._turn_away_from(line)

    def _turn_away_from(self, line: ClientLine) -> None:
        # Another call may have turned meanwhile.
        if self._lines[self._at] is line:
            self._at = (self._at + 1) % len(self._lines)


def _address(endpoint: str) -> str:
    return endpoint.removeprefix("http://").removeprefix("https://").rstrip("/")


async def _next(frames: AsyncGenerator[bytes, None], seconds: float) -> bytes | None:
    """None: there are no more, or time is up."""
    try:
        async with asyncio.timeout(seconds):
            return await anext(frames, None)
    except TimeoutError:
        return None


def _is_refusal(problem: Rejected) -> bool:
    # gRPC itself uses this code for an answer that is too long, after everything has happened.
    local = problem.code is Code.RESOURCE_EXHAUSTED and not problem.text.startswith("etcdserver:")
    return problem.code in _REFUSALS and not local


def _told(line: ClientLine, problem: Rejected | DecodeError) -> str:
    if isinstance(problem, Rejected):
        return f"{line.address}: {problem.code.name} {problem.text}"
    return f"{line.address}: its answer cannot be read, it may not be etcd: {problem}"
