"""A way to an API server that fails when it is told to: 429, conflicts, expired watches.

It stands before the real one, with its certificate, and answers chosen requests itself; all others
pass, one connection each. A process that is to meet faults gets a kubeconfig `through` its address.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from bigfleet.edge.clock import settle
from tests.e2e.rig.control_plane import ControlPlane

_REASONS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}
_BROKEN = (OSError, EOFError, asyncio.IncompleteReadError)


@dataclass(slots=True)
class Fault:
    """Requests of a method whose path and query contain a part are answered with a status."""

    method: str
    part: str
    status: int
    #: How many more.
    left: int
    #: How many were.
    met: int = 0
    retry_after: int | None = None

    def meets(self, method: str, path: str) -> bool:
        return self.left > 0 and method == self.method and self.part in path


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    head: bytes
    body: bytes


@dataclass(slots=True)
class FaultyApi:
    plane: ControlPlane
    #: Where to call instead of the API server.
    address: str = ""
    faults: list[Fault] = field(default_factory=list)
    #: Method and path of every request, in order.
    seen: list[tuple[str, str]] = field(default_factory=list)
    _watches: set[asyncio.Event] = field(default_factory=set)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def fail(
        self, method: str, part: str, status: int, times: int = 1, retry_after: int | None = None
    ) -> Fault:
        """The next so many of these requests; `times` large: from now on, until `left` is 0."""
        fault = Fault(method, part, status, times, retry_after=retry_after)
        self.faults.append(fault)
        return fault

    def expire_watches(self) -> int:
        """Every open watch ends with 410 Expired: how many."""
        for watch in self._watches:
            watch.set()
        return len(self._watches)

    async def start(self) -> None:
        own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        own.load_cert_chain(self.plane.certificates.cert, self.plane.certificates.key)
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0, ssl=own)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # A socket that is still open when the test's loop ends would fail some later test.
        await settle()

    # -- one connection, one request --------------------------------------------------------------

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(*_BROKEN):
                await self._answer(await _request(reader), writer)
                writer.close()
                await writer.wait_closed()
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _answer(self, request: _Request, writer: asyncio.StreamWriter) -> None:
        self.seen.append((request.method, request.path))
        for fault in self.faults:
            if fault.meets(request.method, request.path):
                fault.left, fault.met = fault.left - 1, fault.met + 1
                writer.write(_refusal(fault))
                return
        await self._pass(request, writer)

    async def _pass(self, request: _Request, writer: asyncio.StreamWriter) -> None:
        trusted = ssl.create_default_context(cafile=str(self.plane.certificates.ca))
        up, down = await asyncio.open_connection("127.0.0.1", self.plane.port, ssl=trusted)
        try:
            down.write(request.head + request.body)
            head = await up.readuntil(b"\r\n\r\n")
            writer.write(head)
            if "watch=" in request.path and b"chunked" in head.lower():
                await self._watch(up, writer)
                return
            while part := await up.read(65_536):
                writer.write(part)
                await writer.drain()
        finally:
            down.transport.abort()

    async def _watch(self, up: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Event by event, so that another may be put between two of them."""
        expired = asyncio.Event()
        self._watches.add(expired)
        ending = asyncio.create_task(expired.wait())
        chunk = asyncio.create_task(_chunk(up))
        try:
            while True:
                await asyncio.wait({chunk, ending}, return_when=asyncio.FIRST_COMPLETED)
                if not chunk.done():
                    writer.write(_expiry())
                    return
                writer.write(chunk.result())
                await writer.drain()
                if chunk.result().startswith(b"0\r\n"):
                    return
                chunk = asyncio.create_task(_chunk(up))
        finally:
            ending.cancel()
            chunk.cancel()
            self._watches.discard(expired)


async def _request(reader: asyncio.StreamReader) -> _Request:
    """What is passed on asks for one answer and the end of the connection."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    method, path, _ = first.decode().split(" ")
    headers = dict(line.decode().split(": ", 1) for line in lines)
    length = next((int(v) for name, v in headers.items() if name.lower() == "content-length"), 0)
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    head = b"\r\n".join([first, *kept, b"Connection: close", b"", b""])
    return _Request(method, path, head, await reader.readexactly(length))


async def _chunk(up: asyncio.StreamReader) -> bytes:
    size = await up.readuntil(b"\r\n")
    return size + await up.readexactly(int(size, 16) + 2)


def _status(code: int) -> dict[str, object]:
    reason = _REASONS.get(code, "Unknown")
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"a fault of the rig: {reason}",
        "reason": reason,
        "code": code,
    }


def _refusal(fault: Fault) -> bytes:
    body = json.dumps(_status(fault.status)).encode()
    lines = [
        f"HTTP/1.1 {fault.status} {_REASONS.get(fault.status, 'Unknown')}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    if fault.retry_after is not None:
        lines.append(f"Retry-After: {fault.retry_after}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _expiry() -> bytes:
    event = json.dumps({"type": "ERROR", "object": _status(410)}).encode() + b"\n"
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(event), event)


@asynccontextmanager
async def faulty_api_of(plane: ControlPlane) -> AsyncIterator[FaultyApi]:
    api = FaultyApi(plane)
    await api.start()
    try:
        yield api
    finally:
        await api.close()
