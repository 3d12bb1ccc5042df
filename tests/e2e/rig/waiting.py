"""Waiting for what real processes will do: until it is so, and never for a time."""

import asyncio
from collections.abc import Awaitable, Callable

from bigfleet.edge.driver import RealClock
from bigfleet.model.provider_calls import Rejected
from tests.e2e.rig.api import ApiUnreachable, Refused

#: A test that waits longer than this waits for what will not come.
PATIENCE = 120.0
#: A question may be a List of a thousand pods: not asked more often than it can be answered.
_POLL_SECONDS = 0.1


async def until_so(
    holds: Callable[[], Awaitable[object]],
    seen: Callable[[], object] = lambda: "",
    patience: float = PATIENCE,
) -> None:
    """Returns as soon as the answer is yes; a server that is away or refuses says no."""
    clock = RealClock()
    last: object = ""
    try:
        async with asyncio.timeout(patience):
            while True:
                try:
                    if await holds():
                        return
                except (Refused, ApiUnreachable, Rejected) as problem:
                    last = problem
                await clock.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise AssertionError(f"waited {patience:.0f} s in vain: {seen()} {last}") from None
