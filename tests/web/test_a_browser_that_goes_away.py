"""An answer that takes a while ends with the browser that asked for it.

That a shard then stops working on it: `tests/whatif/test_a_shard_answers_in_another_process.py`.
"""

import asyncio

import httpx2
import pytest
from starlette.requests import Request
from starlette.types import Message

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.web.departures import unless_gone
from bigfleet.web.problems import Problem
from bigfleet.web.server import WebServer


class Browser:
    """Has sent all it wants to send."""

    def __init__(self) -> None:
        self.leaves = asyncio.Event()
        self.request = Request({"type": "http"}, self._receive)

    async def _receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}


class Work:
    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def endless(self) -> str:
        self.begun.set()
        try:
            return str(await asyncio.Event().wait())
        finally:
            self.ended.set()


async def test_an_answer_is_given_up_when_its_browser_goes_away() -> None:
    browser, work = Browser(), Work()
    asking = asyncio.create_task(unless_gone(browser.request, work.endless()))
    await work.begun.wait()
    browser.leaves.set()
    with pytest.raises(Problem, match="went away"):
        await asking
    assert work.ended.is_set()


async def test_what_is_waited_for_is_answered() -> None:
    async def quick() -> str:
        return "done"

    async def refused() -> str:
        raise Rejected(Code.NOT_FOUND, "no cycle 7")

    assert await unless_gone(Browser().request, quick()) == "done"
    with pytest.raises(Rejected, match="no cycle 7"):
        await unless_gone(Browser().request, refused())


async def test_a_request_that_is_ended_ends_what_it_asked_for() -> None:
    work = Work()
    asking = asyncio.create_task(unless_gone(Browser().request, work.endless()))
    await work.begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert work.ended.is_set()


async def test_a_server_notices_that_a_browser_hangs_up() -> None:
    work = Work()

    async def app(scope: object, receive: object, send: object) -> None:
        request = Request(scope, receive)  # type: ignore[arg-type]
        await request.body()
        with pytest.raises(Problem):
            await unless_gone(request, work.endless())

    server = WebServer(app, lambda: None)
    port = await server.start("127.0.0.1:0")
    try:
        async with httpx2.AsyncClient() as client:
            url = f"http://127.0.0.1:{port}/"
            asking = asyncio.create_task(client.post(url, content=b"{}", timeout=60))
            await work.begun.wait()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        await asyncio.wait_for(work.ended.wait(), 60)
    finally:
        await server.stop()
