"""The small HTTP side of a process: metrics, probes, and what else it adds. One answer per line.

Deliberately no framework: a few pages for probes and scrapers, bound to the loopback by default.

A page that takes long to make is made in a thread and written piece by piece, so that probes are
answered meanwhile. Requests for a page that is being made share it.
"""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

#: A slow or endless request is not listened to for longer, or beyond this size.
PATIENCE_SECONDS = 10.0
LARGEST_BODY = 8 * 1024 * 1024
#: Bytes that are handed to the line at once.
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    body: bytes
    content_type: str = "application/json"
    status: int = 200
    #: Makes the body, in a thread.
    build: Callable[[], bytes] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    #: Below the route's prefix, without the query.
    path: str
    query: str
    body: bytes = field(repr=False)
    #: The header of that name, empty where there is none.
    authorization: str = field(default="", repr=False)


Page = Callable[[], HttpAnswer]
Route = Callable[[HttpRequest], Awaitable[HttpAnswer]]


def _cannot_listen(address: str, problem: OSError) -> OSError:
    """The same without asyncio's wrapping; its number stays, for callers that go elsewhere."""
    # Names that cannot be resolved have numbers of their own, below 0.
    known = os.strerror(problem.errno) if problem.errno and problem.errno > 0 else ""
    why = known or problem.strerror or problem
    error = OSError(f"cannot listen on {address}: {why}; free that address, or choose another")
    error.errno = problem.errno
    return error


class Pages:
    def __init__(self, pages: Mapping[str, Page], routes: Mapping[str, Route]) -> None:
        self._pages = pages
        self._routes = routes
        self._server: asyncio.Server | None = None
        #: All and only the connections that are open, each with the task that serves it.
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}
        #: All and only the pages that are being made, by path.
        self._making: dict[str, asyncio.Task[HttpAnswer]] = {}
        self.port = 0

    async def start(self, address: str, certificate: ssl.SSLContext | None = None) -> int:
        host, _, port = address.rpartition(":")
        try:
            self._server = await asyncio.start_server(
                self._serve, host or "127.0.0.1", int(port), ssl=certificate
            )
        except OSError as problem:
            raise _cannot_listen(address, problem) from problem
        except (ValueError, OverflowError):
            text = "it is not HOST:PORT with a port from 0 to 65535; name another"
            raise OSError(f"cannot listen on {address}: {text}") from None
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self.port

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer, serving in tuple(self._open.items()):
                writer.transport.abort()
                if serving is not None:
                    serving.cancel()
            for making in self._making.values():
                making.cancel()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = asyncio.current_task()
        try:
            await self._answered(reader, writer)
        except asyncio.CancelledError:
            # At a stop. asyncio would print it as a fault, with its stack.
            return
        finally:
            del self._open[writer]
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                request = await _read(reader)
            answer = await self._answer(request)
        except (TimeoutError, ValueError, asyncio.IncompleteReadError, ConnectionError):
            answer = plain(HTTPStatus.BAD_REQUEST)
        try:
            await _written(writer, answer)
        except (ConnectionError, TimeoutError):
            # The reader went away, or does not read.
            writer.transport.abort()

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        if request.method == "GET" and (page := self._pages.get(request.path)):
            return await self._page(request.path, page)
        for prefix, route in self._routes.items():
            if request.path.startswith(prefix):
                below = request.path.removeprefix(prefix)
                return await _routed(route, replace(request, path=below))
        return plain(HTTPStatus.NOT_FOUND)

    async def _page(self, path: str, page: Page) -> HttpAnswer:
        making = self._making.get(path)
        if making is None:
            answer = _shown(page)
            if answer.build is None:
                return answer
            making = self._making[path] = asyncio.create_task(_built(answer))
            making.add_done_callback(lambda _: self._making.pop(path))
        # The others still wait for it when this caller hangs up.
        return await asyncio.shield(making)


def probe(fine: bool, text: str) -> HttpAnswer:
    status = HTTPStatus.OK if fine else HTTPStatus.SERVICE_UNAVAILABLE
    return HttpAnswer(f"{text}\n".encode(), "text/plain; charset=utf-8", status)


def plain(status: HTTPStatus) -> HttpAnswer:
    return HttpAnswer(f"{status.phrase}\n".encode(), "text/plain; charset=utf-8", status)


def _shown(page: Page) -> HttpAnswer:
    try:
        return page()
    except Exception:  # noqa: BLE001 - a fault of one page answers one request
        return plain(HTTPStatus.INTERNAL_SERVER_ERROR)


async def _routed(route: Route, request: HttpRequest) -> HttpAnswer:
    try:
        return await _built(await route(request))
    except Exception:  # noqa: BLE001 - a fault of one route answers one request
        return plain(HTTPStatus.INTERNAL_SERVER_ERROR)


async def _built(answer: HttpAnswer) -> HttpAnswer:
    if answer.build is None:
        return answer
    try:
        return replace(answer, body=await asyncio.to_thread(answer.build), build=None)
    except Exception:  # noqa: BLE001 - a fault of one page answers one request
        return plain(HTTPStatus.INTERNAL_SERVER_ERROR)


async def _written(writer: asyncio.StreamWriter, answer: HttpAnswer) -> None:
    """TimeoutError where the reader takes nothing for long."""
    writer.write(_head_of(answer))
    for start in range(0, len(answer.body), _PIECE):
        writer.write(answer.body[start : start + _PIECE])
        async with asyncio.timeout(PATIENCE_SECONDS):
            await writer.drain()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> HttpRequest:
    line = (await reader.readline()).decode("latin-1")
    method, target, _ = line.split(" ", 2)
    length, authorization = 0, ""
    while header := (await reader.readline()).decode("latin-1").strip():
        name, _, value = header.partition(":")
        if name.lower() == "content-length":
            length = int(value)
        elif name.lower() == "authorization":
            authorization = value.strip()
    if not 0 <= length <= LARGEST_BODY:
        raise ValueError("the body is too large")
    body = await reader.readexactly(length)
    path, _, query = target.partition("?")
    return HttpRequest(method, path, query, body, authorization)


def _head_of(answer: HttpAnswer) -> bytes:
    status = HTTPStatus(answer.status)
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode()
