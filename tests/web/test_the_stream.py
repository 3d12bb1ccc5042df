"""The stream over HTTP: first events, resume, places for so many, and an end without a wait."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from bigfleet.edge.clock import next_turn
from bigfleet.web.live import routes
from bigfleet.web.live.hub import MOST_BEHIND, MOST_CLIENTS
from tests.web.pages import Served, served

PATIENCE_SECONDS = 60.0


class Listener:
    def __init__(self, answer: httpx2.Response) -> None:
        self._lines = answer.aiter_lines()

    async def next(self, name: str = "") -> dict[str, Any]:
        """The next event, or the next of that name: its id and its data."""
        found: dict[str, Any] = {}
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in self._lines:
                if not line and found.get("event") and name in ("", found["event"]):
                    return {**found, "data": json.loads(found["data"])}
                if not line:
                    found = {}
                elif ": " in line and not line.startswith(":"):
                    key, _, value = line.partition(": ")
                    found[key] = value
        raise EOFError


@asynccontextmanager
async def listening(page: Served, path: str, **headers: str) -> AsyncIterator[Listener]:
    async with page.client.stream("GET", path, headers=headers, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Listener(answer)


STREAM = "/api/v1/stream?topics=scenario,overview"


async def test_a_page_hears_hello_first_and_then_what_is_published() -> None:
    async with served() as page, listening(page, STREAM) as listener:
        assert (await listener.next())["event"] == "hello"
        page.live.publish("scenario", {"beat": 1})
        told = await listener.next("scenario")
    assert told["data"] == {"beat": 1}


async def test_one_who_comes_back_with_its_last_id_hears_what_it_missed() -> None:
    async with served() as page:
        async with listening(page, STREAM) as listener:
            await listener.next()
            page.live.publish("scenario", {"beat": 1})
            last = (await listener.next("scenario"))["id"]
        page.live.hub.offer("scenario", {"beat": 2}, page.live.fleet.clock.now() + 10**9)
        async with listening(page, STREAM, **{"Last-Event-ID": last}) as again:
            assert (await again.next())["event"] == "hello"
            told = await again.next()
    assert (told["event"], told["data"]) == ("scenario", {"beat": 2})


async def test_one_who_comes_back_from_another_life_is_told_to_load_anew() -> None:
    async with served() as page, listening(page, STREAM, **{"Last-Event-ID": "1.2.3"}) as listener:
        await listener.next()
        assert (await listener.next())["event"] == "reset"


async def test_a_stream_that_is_silent_says_so_before_a_proxy_closes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert routes.COMMENT_SECONDS == 15
    monkeypatch.setattr(routes, "COMMENT_SECONDS", 0.01)
    async with served() as page, page.client.stream("GET", STREAM) as answer:
        async with asyncio.timeout(PATIENCE_SECONDS):
            comments = [line async for line in take(2, answer.aiter_lines())]
    assert comments == [": still here", ": still here"]


async def take(count: int, lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """The first comments of a stream."""
    async for line in lines:
        if line.startswith(":"):
            yield line
            count -= 1
            if not count:
                return


async def test_a_place_too_many_is_refused_and_may_ask_again() -> None:
    async with served() as page:
        for _ in range(MOST_CLIENTS):
            page.live.join(["overview"], "", lambda: None)
        answer = await page.client.get(STREAM)
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


async def test_a_place_is_free_again_when_its_page_is_closed() -> None:
    async with served() as page:
        async with listening(page, STREAM) as listener:
            await listener.next()
            assert len(page.live.hub.clients) == 1
        async with asyncio.timeout(PATIENCE_SECONDS):
            while page.live.hub.clients:
                await next_turn()


async def test_a_client_that_does_not_read_is_closed() -> None:
    async with served() as page:
        reader, writer = await asyncio.open_connection("127.0.0.1", page.port, limit=1024)
        ask = b"GET /api/v1/stream?topics=scenario HTTP/1.1\r\nHost: localhost\r\n"
        writer.write(ask + b"Connection: close\r\n\r\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not page.live.hub.clients:
                await next_turn()
            [client] = page.live.hub.clients
            now, piece = page.live.fleet.clock.now(), "x" * (MOST_BEHIND // 4)
            while not client.is_closed:
                # Buffers of the system take some megabytes first.
                now += 10**9
                page.live.hub.offer("scenario", piece, now)
                await next_turn()
            while await reader.read(2**16):
                pass
        writer.close()
        assert not page.live.hub.clients


@pytest.mark.parametrize("topics", ["", "nothing", "nothing,else"])
async def test_topics_that_do_not_exist_are_a_bad_request(topics: str) -> None:
    async with served() as page:
        answer = await page.client.get(f"/api/v1/stream?topics={topics}")
    assert (answer.status_code, answer.json()["field"]) == (400, "topics")


async def test_open_streams_do_not_hold_up_the_end() -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        async with served() as page:
            answers = [
                await page.client.send(page.client.build_request("GET", STREAM), stream=True)
                for _ in range(3)
            ]
        for answer in answers:
            await answer.aclose()


@pytest.mark.parametrize(
    ("query", "field"), [("by=colour", "by"), ("by=zone&at=now", "at"), ("at=-3", "at")]
)
async def test_a_map_that_cannot_be_meant_is_a_bad_request(query: str, field: str) -> None:
    async with served() as page:
        answer = await page.client.get(f"/api/v1/fleet/map?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize("query", ["", "duration=nonsense", "duration=900d&step=0s", "step=99h"])
async def test_history_takes_what_it_can_of_its_parameters(query: str) -> None:
    async with served() as page:
        told = (await page.client.get(f"/api/v1/fleet/history?{query}")).json()
    assert len(told["dollarsPerHour"]) == len(told["timestamps"]) > 0
    assert set(told["dollarsPerHour"]) == {None}
