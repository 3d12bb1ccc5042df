"""An operation's end without a waiter is dropped, and asyncio does not complain."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from bigfleet.edge.clock import SECOND
from bigfleet.provider import ManualClock
from bigfleet.provider.operations.attempts import DeadlinePassed, done_by
from bigfleet.provider.testing import settle


async def _cancelled_as_it_fails() -> None:
    """The work fails in the very turn in which its waiter is cancelled."""
    go = asyncio.Event()

    async def work() -> None:
        await go.wait()
        raise ConnectionError("too late to matter")

    clock = ManualClock()
    waiting = asyncio.create_task(done_by(clock, clock.now() + SECOND, work()))
    await settle()
    go.set()
    await settle(1)
    waiting.cancel()
    await settle()
    assert waiting.cancelled()


async def _failing_after_the_deadline() -> None:
    async def work() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise ConnectionError("will not be stopped quietly")

    clock = ManualClock()
    waiting = asyncio.create_task(done_by(clock, clock.now() + SECOND, work()))
    await clock.advance(2)
    with pytest.raises(DeadlinePassed):
        await waiting
    await settle()


@pytest.mark.parametrize("story", [_cancelled_as_it_fails, _failing_after_the_deadline])
async def test_an_end_without_a_waiter_is_not_reported(
    story: Callable[[], Awaitable[None]],
) -> None:
    heard: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: heard.append(str(context["message"])))
    await story()
    gc.collect()
    assert heard == []
