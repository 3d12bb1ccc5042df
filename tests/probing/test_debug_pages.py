"""What a process shows of its insides if the settings ask for it, over HTTP as it is read."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from bigfleet.edge.clock import next_turn
from bigfleet.edge.debug_pages import debug_routes, seconds_of
from bigfleet.edge.pages import HttpAnswer, HttpRequest, Page, Pages
from bigfleet.edge.profiler import Profiler
from tests.shard_system.rig import page

PATIENCE_SECONDS = 60.0
SIZES = {"pods": 3}


class InstantSleep:
    """Time that passes as fast as it is slept away."""

    def __init__(self) -> None:
        self.passed = 0.0

    def stopwatch(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.passed += seconds


@asynccontextmanager
async def shown(
    asked_for: bool = True, more: Mapping[str, Page] | None = None
) -> AsyncIterator[int]:
    virtual = InstantSleep()
    profiler = Profiler(virtual.stopwatch, virtual.sleep)
    pages = Pages({}, debug_routes(asked_for, lambda: SIZES, profiler, more))
    try:
        yield await pages.start("127.0.0.1:0")
    finally:
        await pages.stop()


async def test_the_pages_there_are_are_listed() -> None:
    async with shown(more={"machines": lambda: HttpAnswer(b"m-1")}) as port:
        status, text = await page(port, "/debug/")
        listed = text.splitlines()
        assert (status, [line.partition("?")[0] for line in listed]) == (
            200,
            ["/debug/machines", "/debug/stacks", "/debug/state", "/debug/tasks", "/debug/profile"],
        )
        assert [(await page(port, path))[0] for path in listed] == [200] * 5
        assert await page(port, "/debug/machines") == (200, "m-1")


async def test_an_unknown_page_is_answered_with_the_list_of_pages() -> None:
    async with shown() as port:
        status, text = await page(port, "/debug/heap")
        assert status == 404
        assert "/debug/stacks\n" in text


async def test_without_being_asked_for_there_is_nothing() -> None:
    async with shown(asked_for=False) as port:
        paths = ("/debug/", "/debug/tasks", "/debug/stacks", "/debug/profile", "/debug/state")
        assert [await page(port, path) for path in paths] == [(404, "Not Found\n")] * 5


async def test_tasks_say_where_they_stand() -> None:
    async with shown() as port:
        status, text = await page(port, "/debug/tasks")
        assert status == 200
        assert "test_tasks_say_where_they_stand" in text


async def test_every_thread_is_shown_with_its_name_and_stack() -> None:
    done = threading.Event()

    def lingers() -> None:
        done.wait(PATIENCE_SECONDS)

    thread = threading.Thread(target=lingers, name="lingerer")
    thread.start()
    try:
        async with shown() as port:
            status, text = await page(port, "/debug/stacks")
    finally:
        done.set()
        thread.join(PATIENCE_SECONDS)
    assert status == 200
    paragraphs = dict(each.split(" (", 1) for each in text.split("\n\n"))
    assert " lingers\n" in paragraphs["thread lingerer"]
    assert paragraphs["thread lingerer"].index(" lingers\n") < paragraphs["thread lingerer"].index(
        " wait"
    )
    assert "thread MainThread" in paragraphs


async def test_sizes_are_json() -> None:
    async with shown() as port:
        status, text = await page(port, "/debug/state")
        assert (status, json.loads(text)) == (200, SIZES)


async def test_a_profile_has_a_count_on_every_line() -> None:
    async with shown() as port:
        status, text = await page(port, "/debug/profile?seconds=2")
        assert status == 200
        counts = [int(line.rpartition(" ")[2]) for line in text.splitlines()]
        assert counts == sorted(counts, reverse=True)
        assert sum(counts) >= 2 / 0.005


async def test_a_second_asker_is_told_to_come_back() -> None:
    may_end, begun = threading.Event(), threading.Event()
    virtual = InstantSleep()

    def sleep(seconds: float) -> None:
        begun.set()
        assert may_end.wait(PATIENCE_SECONDS)
        virtual.sleep(seconds)

    route = debug_routes(True, lambda: SIZES, Profiler(virtual.stopwatch, sleep))["/debug/"]
    first = asyncio.ensure_future(route(HttpRequest("GET", "profile", "", b"")))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not begun.is_set():
            await next_turn()
    second = await route(HttpRequest("GET", "profile", "", b""))
    assert second.status == 429
    assert b"another profile is being taken" in second.body
    may_end.set()
    assert (await first).status == 200


async def test_a_stop_ends_a_profile_that_is_being_taken() -> None:
    begun, virtual = threading.Event(), InstantSleep()
    threads: list[threading.Thread] = []

    def sleep(seconds: float) -> None:
        threads.append(threading.current_thread())
        begun.set()

    profiler = Profiler(virtual.stopwatch, sleep)
    pages = Pages({}, debug_routes(True, lambda: SIZES, profiler))
    port = await pages.start("127.0.0.1:0")
    asking = asyncio.ensure_future(page(port, "/debug/profile"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not begun.is_set():
            await next_turn()
        await pages.stop()
        with pytest.raises((ConnectionError, IndexError)):
            await asking
        while threads[0].is_alive():
            await next_turn()


MALFORMED = {
    "no number": "seconds=soon",
    "nothing": "seconds=",
    "none": "seconds=0",
    "too long": "seconds=31",
    "below nothing": "seconds=-1",
    "a fraction": "seconds=1.5",
    "thousands of digits": f"seconds={'1' * 5000}",
    "other digits": "seconds=%D9%A5",
    "two of them": "seconds=1&seconds=2",
}


@pytest.mark.parametrize("query", MALFORMED.values(), ids=MALFORMED)
async def test_bad_seconds_are_named_with_what_would_do(query: str) -> None:
    async with shown() as port:
        status, text = await page(port, f"/debug/profile?{query}")
        assert status == 400
        assert text.startswith("seconds: ")
        assert "one whole number from 1 to 30; ask for ?seconds=5" in text


async def test_an_unknown_field_is_named() -> None:
    async with shown() as port:
        status, text = await page(port, "/debug/profile?second=1")
        assert (status, text) == (400, "'second' is not known here; the only field is seconds\n")


def test_seconds_are_five_unless_given() -> None:
    assert [seconds_of(query) for query in ("", "seconds=1", "seconds=30")] == [5, 1, 30]


async def test_nothing_is_posted_there() -> None:
    virtual = InstantSleep()
    route = debug_routes(True, lambda: SIZES, Profiler(virtual.stopwatch, virtual.sleep))["/debug/"]
    assert (await route(HttpRequest("POST", "state", "", b""))).status == 405
