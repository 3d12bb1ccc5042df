"""What a test leaves when it ends in the middle of something: nothing that fails another one."""

import asyncio
import inspect

from bigfleet.edge.clock import next_turn
from tests.e2e.rig.node_actor import MOST_AT_ONCE, together


async def test_work_that_never_had_its_turn_is_closed() -> None:
    """A test of a hundred Nodes ends while their leases are renewed."""
    never = asyncio.Event()

    async def wait() -> None:
        await never.wait()

    work = [wait() for _ in range(2 * MOST_AT_ONCE)]
    task = asyncio.create_task(together(work))
    await next_turn()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert {inspect.getcoroutinestate(each) for each in work} == {inspect.CORO_CLOSED}
