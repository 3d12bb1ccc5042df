"""As much HTTP/1.1 as a Kubernetes client speaks: whole answers, and streams of chunks."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class HttpCall:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """A chunk for each line; ends cleanly when the lines do."""

    lines: AsyncGenerator[bytes, None]
    #: Called when the client has gone; the lines must end then.
    gone: Callable[[], None]


class Cut(Exception):
    """The line breaks here, in the middle of an answer."""


Answer = Callable[[HttpCall], Awaitable[WholeAnswer | Stream]]


class Connections:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, certificate: ssl.SSLContext | None = None, port: int = 0) -> int:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", port, ssl=certificate, limit=2**20
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        self.cut_all()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def cut_all(self) -> None:
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            while (call := await _call_of(reader)) is not None:
                await self._one(call, reader, writer)
        except (Cut, ConnectionError, asyncio.IncompleteReadError):
            writer.transport.abort()
        except asyncio.CancelledError:
            # Only `stop` cancels: the task may end in peace.
            writer.transport.abort()
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.close()

    async def _one(
        self, call: HttpCall, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        answer = await self._answer(call)
        if isinstance(answer, WholeAnswer):
            headers = {
                "content-type": "application/json",
                **answer.headers,
                "content-length": str(len(answer.body)),
            }
            writer.write(_head(answer.status, headers) + answer.body)
            await writer.drain()
            return
        writer.write(
            _head(200, {"content-type": "application/json", "transfer-encoding": "chunked"})
        )
        await writer.drain()
        listening = asyncio.ensure_future(reader.read(1))
        listening.add_done_callback(lambda _: answer.gone())
        try:
            async with aclosing(answer.lines) as lines:
                async for line in lines:
                    writer.write(b"%x\r\n%s\r\n" % (len(line), line))
                    await writer.drain()
            if not listening.done():
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        finally:
            listening.cancel()
        # What the client may have said meanwhile is lost with `listening`: start a new line.
        raise Cut


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{word}: {text}" for word, text in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


async def _call_of(reader: asyncio.StreamReader) -> HttpCall | None:
    """None once the client has hung up."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.decode().split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.split(":", 1) for line in rest if line)
    headers = {word.lower(): text.strip() for word, text in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    url = urlsplit(target)
    return HttpCall(method, unquote(url.path), dict(parse_qsl(url.query)), headers, body)
