"""Answers that take a while end when the browser that asked goes away."""

import asyncio
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.requests import Request

from bigfleet.web.problems import Problem

T = TypeVar("T")


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """`work` is cancelled, and with it what it asked shards for. The body must have been read."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_gone(request))
    both = (working, leaving)
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            text = "the browser went away before the answer came"
            raise Problem(HTTPStatus.REQUEST_TIMEOUT, text)
        return working.result()
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
