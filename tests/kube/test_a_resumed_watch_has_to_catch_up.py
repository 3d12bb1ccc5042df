"""That a watch is open again does not mean that what was missed has been told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.logs import NullLog
from bigfleet.kube.api import Api
from bigfleet.kube.kinds import NODES
from bigfleet.kube.objects import Node
from bigfleet.kube.reflector import CATCH_UP_SECONDS, Cache, Reflector
from tests.kube.waiting import until

GONE = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n'


class Stream(httpx2.AsyncByteStream):
    """Says what is put into it, until it is closed."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while line := await self.lines.get():
            yield line


class Server:
    """Lists nothing; its watches are the test's to speak on, while it is up."""

    def __init__(self) -> None:
        self.is_up = True
        self.lists = 0
        self.streams: list[Stream] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        if not self.is_up:
            return httpx2.Response(503)
        if "watch" in request.url.params:
            self.streams.append(Stream())
            return httpx2.Response(200, stream=self.streams[-1])
        self.lists += 1
        return httpx2.Response(200, json={"metadata": {"resourceVersion": "7"}, "items": []})


def _name(node: Node) -> str:
    return node.metadata.name


@asynccontextmanager
async def reflected(server: Server, clock: ManualClock) -> AsyncIterator[Cache[str]]:
    transport = httpx2.MockTransport(server.answer)
    async with Api(
        httpx2.AsyncClient(base_url="http://api", transport=transport), clock, lambda: 0.5
    ) as api:
        reflector = Reflector(api, NODES, _name, clock, lambda: 0.5, NullLog())
        task = asyncio.ensure_future(reflector.run())
        try:
            yield reflector.cache
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _interrupted(server: Server, clock: ManualClock) -> None:
    """For about two minutes; the watch is open again, and silent."""
    await until(lambda: server.streams)
    await clock.advance(10)
    server.is_up = False
    server.streams[0].lines.put_nowait(b"")
    await clock.advance(120)
    server.is_up = True
    async with asyncio.timeout(60):
        while len(server.streams) < 2:
            await clock.advance(0.5)


async def test_after_an_interruption_an_open_watch_is_believed_only_after_a_while() -> None:
    server, clock = Server(), ManualClock()
    async with reflected(server, clock) as cache:
        await _interrupted(server, clock)
        assert cache.stale_seconds(clock.now()) > 100
        server.streams[1].lines.put_nowait(
            b'{"type":"ADDED","object":{"metadata":{"name":"n-1","resourceVersion":"8"}}}\n'
        )
        await until(lambda: cache.objects)
        assert cache.stale_seconds(clock.now()) > 100
        await clock.advance(CATCH_UP_SECONDS)
        assert cache.stale_seconds(clock.now()) == 0


async def test_a_server_that_opens_and_then_says_it_forgot_was_never_believed() -> None:
    server, clock = Server(), ManualClock()
    async with reflected(server, clock) as cache:
        await _interrupted(server, clock)
        server.streams[1].lines.put_nowait(GONE)
        await clock.advance(CATCH_UP_SECONDS)
        assert cache.stale_seconds(clock.now()) > 100
        await clock.advance(30)
        await until(lambda: len(server.streams) == 3)
        assert server.lists == 2
        assert cache.stale_seconds(clock.now()) == 0


async def test_a_watch_that_breaks_while_it_catches_up_leaves_the_copy_as_old_as_it_was() -> None:
    server, clock = Server(), ManualClock()
    async with reflected(server, clock) as cache:
        await _interrupted(server, clock)
        server.is_up = False
        server.streams[1].lines.put_nowait(b"")
        await clock.advance(CATCH_UP_SECONDS)
        assert cache.stale_seconds(clock.now()) > 100


async def test_the_usual_end_of_a_watch_is_not_an_interruption() -> None:
    server, clock = Server(), ManualClock()
    async with reflected(server, clock) as cache:
        await until(lambda: server.streams)
        await clock.advance(300)
        server.streams[0].lines.put_nowait(b"")
        await until(lambda: len(server.streams) == 2)
        assert cache.stale_seconds(clock.now()) == 0
