"""Work with a deadline: what is not done by then is abandoned, also when it will not stop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.model.machines import Instant

T = TypeVar("T")


class DeadlinePassed(Exception):
    """The work was not done in time."""


class StoppedItself(Exception):
    """The work ended as cancelled although it was not cancelled from here."""


async def done_by(
    clock: Clock,
    deadline: Instant,
    work: Coroutine[Any, Any, T],
    abandoned: Callable[[], None] = lambda: None,
) -> T:
    """The result of `work`; DeadlinePassed at the deadline, without waiting for it to give in."""
    task = asyncio.ensure_future(work)
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(*_: object) -> None:
        if not woken.done():
            woken.set_result(None)

    timer = clock.call_later((deadline - clock.now()) / SECOND, wake)
    task.add_done_callback(wake)
    task.add_done_callback(_look_away)
    try:
        await woken
        if task.done():
            if task.cancelled():
                raise StoppedItself
            return task.result()
        raise DeadlinePassed
    finally:
        timer.cancel()
        if not task.done():
            abandoned()
            task.cancel()


def _look_away(task: asyncio.Future[Any]) -> None:
    """A late end is dropped, also one that comes while the waiter is cancelled; asking for the
    exception keeps asyncio from complaining.
    """
    if not task.cancelled():
        task.exception()
