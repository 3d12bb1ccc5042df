"""Long pure work leaves the event loop; short work stays, where its order is certain."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: Records: some ten milliseconds of comparing.
IN_LOOP = 5_000


async def off_loop(size: int, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    if size <= IN_LOOP:
        return work(*arguments, **named)
    return await asyncio.to_thread(work, *arguments, **named)
