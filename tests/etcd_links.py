"""A link that breaks when it is told to: a TCP proxy on the loopback, in the loop of the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_CHUNK = 65_536


class Link:
    """127.0.0.1:port to one address, in one of four states: open, cut, silent, or deaf."""

    def __init__(self, upstream: str) -> None:
        self._host, _, port = upstream.rpartition(":")
        self._port = int(port)
        #: Where to call instead of the upstream.
        self.address = ""
        self._server: asyncio.Server | None = None
        self._is_cut = False
        #: Something was asked that has not passed.
        self.holds_requests = False
        #: Times anything was passed back.
        self.answers = 0
        #: Set while bytes pass, to and fro.
        self._requests, self._answers = asyncio.Event(), asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self.mend()

    def mend(self) -> None:
        """Bytes pass, also those that were held."""
        self._is_cut = self.holds_requests = False
        self._requests.set()
        self._answers.set()

    def cut(self) -> None:
        """Connections are reset, new ones too, and what was held is lost."""
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def silence(self) -> None:
        """Connections stand and nothing passes: neither end is told."""
        self._requests.clear()
        self._answers.clear()

    def hold_answers(self) -> None:
        """What is asked arrives, what is answered does not."""
        self._answers.clear()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in tuple(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        try:
            if not self._is_cut:
                await self._carry(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            """The far end is dead, or the link is."""
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        self._writers.add(far_writer)
        there = asyncio.create_task(self._pump(reader, far_writer, self._requests))
        back = asyncio.create_task(self._pump(far_reader, writer, self._answers))
        try:
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in (there, back):
                pump.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
            self._writers.discard(far_writer)
            far_writer.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passing: asyncio.Event
    ) -> None:
        while chunk := await reader.read(_CHUNK):
            if passing is self._requests and not passing.is_set():
                self.holds_requests = True
            await passing.wait()
            self.answers += passing is self._answers
            writer.write(chunk)
            await writer.drain()


@asynccontextmanager
async def link_to(upstream: str) -> AsyncIterator[Link]:
    link = Link(upstream)
    await link.start()
    try:
        yield link
    finally:
        await link.close()
