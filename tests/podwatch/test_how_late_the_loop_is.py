"""A loop that hangs is noticed by whoever asks, although its own timers do not run."""

import asyncio

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.loop_lag import LoopLag


async def test_lag_is_the_time_since_the_loop_should_have_been_heard_of() -> None:
    clock, passed = ManualClock(), [0.0]
    lag = LoopLag(clock, lambda: passed[0])
    task = asyncio.create_task(lag.run())
    assert lag.seconds == 0
    passed[0] = 12.1
    assert round(lag.seconds) == 12
    await clock.advance(1)
    assert lag.seconds == 0
    task.cancel()
