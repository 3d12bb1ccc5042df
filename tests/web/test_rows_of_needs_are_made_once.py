"""JSON of Needs: made once for the bytes a row comes as, whole answers once for a cycle."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

from bigfleet.edge.clock import next_turn
from bigfleet.web.need_rows import NeedRowJson
from bigfleet.web.routes.needs import CycleAnswers
from bigfleet.web.shared_work import SharedWork
from bigfleet.wire.need_documents import NeedDocuments
from bigfleet.wire.need_listings import NeedRowWriter
from tests.wire.admin import BLOCKED, SERVED

ROWS = [NeedRowWriter().row(row) for row in (BLOCKED, SERVED)]


def test_a_row_is_the_document_of_its_need() -> None:
    made, documents = NeedRowJson(), NeedDocuments()
    assert [json.loads(made.of(row)) for row in ROWS] == list(map(documents.read, ROWS))


def test_a_row_that_came_before_is_not_made_again() -> None:
    made = NeedRowJson()
    assert made.of(ROWS[0]) is made.of(bytes(bytearray(ROWS[0])))


def test_rows_that_are_asked_for_again_outlive_the_others() -> None:
    made = NeedRowJson(generation_bytes=2 * len(NeedRowJson().of(ROWS[0])))
    kept = made.of(ROWS[0])
    for number in range(100):
        made.begin_page()
        made.of(ROWS[1] + b"\x38" + bytes([number]))  # other stuck_pods: another row
        assert made.of(ROWS[0]) is kept
    assert made.size <= 6 * len(kept)


def test_a_page_that_is_larger_than_what_is_kept_is_found_again() -> None:
    made = NeedRowJson(generation_bytes=10)
    first = list(map(made.of, ROWS))
    for _ in range(3):
        made.begin_page()
        assert all(again is row for again, row in zip(map(made.of, ROWS), first, strict=True))


def test_answers_are_kept_by_their_size_the_last_one_always() -> None:
    answers = CycleAnswers(most_bytes=100)
    answers.keep("first", {"a": 1}, [b"{}"])
    head = answers.keep("large", {"a": 1}, [b'{"b":"' + b"x" * 200 + b'"}'])
    assert answers.get("first") is None
    assert answers.get("large") == head
    assert json.loads(head + b"}")["needs"][0]["b"] == "x" * 200


def test_an_answer_of_nothing_is_json_too() -> None:
    head = CycleAnswers().keep("none", {"cycle": 3}, [])
    assert json.loads(head + b"}") == {"cycle": 3, "needs": []}


class Work:
    """Counts how often it is done; it waits until it is told to end."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = asyncio.Event()

    async def do(self) -> int:
        self.begun += 1
        await self.may_end.wait()
        return self.begun


async def _begun(*asking: Awaitable[Any]) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.ensure_future(each) for each in asking]
    await next_turn()
    await next_turn()
    return tasks


async def test_those_who_ask_the_same_at_the_same_time_share_one_answer() -> None:
    work, shared = Work(), SharedWork[int]()
    tasks = await _begun(*(shared.do("key", work.do) for _ in range(3)))
    work.may_end.set()
    assert await asyncio.gather(*tasks) == [1, 1, 1]
    assert await shared.do("key", work.do) == 2


async def test_one_that_hangs_up_does_not_end_it_for_the_others() -> None:
    work, shared = Work(), SharedWork[int]()
    first, second = await _begun(*(shared.do("key", work.do) for _ in range(2)))
    first.cancel()
    await next_turn()
    work.may_end.set()
    assert await second == 1


async def test_a_failure_is_told_to_all_and_the_next_one_tries_again() -> None:
    shared, failures = SharedWork[int](), 0

    async def failing() -> int:
        nonlocal failures
        failures += 1
        await next_turn()
        raise ValueError(failures)

    def ask() -> Awaitable[int]:
        return shared.do("key", failing)

    tasks = await _begun(ask(), ask())
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(each) for each in told] == ["1", "1"]
    again = await asyncio.gather(ask(), return_exceptions=True)
    assert str(again[0]) == "2"
