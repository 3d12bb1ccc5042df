"""A loop that hangs is noticed by a probe, although its own timers do not run."""

import asyncio

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.loop_lag import LoopLag


async def test_lag_is_the_time_since_the_loop_should_have_been_heard_of() -> None:
    clock, passed = ManualClock(), [0.0]
    observed: list[float] = []
    lag = LoopLag(clock, lambda: passed[0], observed.append)
    task = asyncio.create_task(lag.run())
    assert lag.seconds == 0
    await clock.advance(0)
    passed[0] = 12.1
    assert round(lag.seconds) == 12
    await clock.advance(0.1)
    assert lag.seconds == 0
    assert [round(late) for late in observed] == [12]
    task.cancel()
