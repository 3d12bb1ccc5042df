"""Waiting for what a real shard will do: until it is so, and never for a time."""

import asyncio
from collections.abc import Awaitable, Callable

from bigfleet.edge.driver import RealClock

#: A test that waits longer than this waits for what will not come.
PATIENCE = 60.0
_POLL_SECONDS = 0.01


async def until(holds: Callable[[], object], seen: Callable[[], object] = lambda: "") -> None:
    """Returns as soon as it holds; `seen` says what was there instead."""

    async def asked() -> object:
        return holds()

    await until_told(asked, seen)


async def until_told(
    holds: Callable[[], Awaitable[object]], seen: Callable[[], object] = lambda: ""
) -> None:
    """The same for what must be asked for over a line."""
    clock = RealClock()
    try:
        async with asyncio.timeout(PATIENCE):
            while not await holds():
                await clock.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise AssertionError(f"waited in vain: {seen()}") from None
