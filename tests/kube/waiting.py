"""Waits that end on what they wait for, on a clock that moves by hand beside real I/O."""

import asyncio
from collections.abc import Callable
from typing import Any

from bigfleet.edge.clock import SECOND, ManualClock, next_turn


async def until(holds: Callable[[], object], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await next_turn()


async def driven(clock: ManualClock, task: asyncio.Future[Any], seconds: float = 60) -> None:
    """Moves the clock from timer to timer until `task` is done; I/O in between takes its time."""
    async with asyncio.timeout(seconds):
        while not task.done():
            await next_turn()
            if (due := clock.next_due()) is not None:
                await clock.advance((due - clock.now()) / SECOND)
