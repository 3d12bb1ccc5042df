"""The small watches of the process: the second, the loop's lag, the pause file."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from bigfleet.edge.clock import Clock, next_turn
from bigfleet.edge.counts import FAST, Counts
from bigfleet.model.machines import Instant
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.state import ShardState

TICK_SECONDS = 1.0
LAG_SECONDS = 0.1
SETTLE_SECONDS = 0.2


class LoopLag:
    """How late the event loop is: a timer that should have come by now."""

    def __init__(self, clock: Clock, counts: Counts, stopwatch: Callable[[], float]) -> None:
        self._clock = clock
        self._counts = counts
        self._stopwatch = stopwatch
        self._seen_at = stopwatch()

    async def run(self) -> None:
        while True:
            before = self._stopwatch()
            await self._clock.sleep(LAG_SECONDS)
            self._seen_at = self._stopwatch()
            late = max(0.0, self._seen_at - before - LAG_SECONDS)
            self._counts.observe("loop_lag_seconds", late, FAST)

    @property
    def seconds(self) -> float:
        """0 while the loop is in time."""
        return max(0.0, self._stopwatch() - self._seen_at - LAG_SECONDS)


async def every_second(state: ShardState, outlet: Outlet, pause_file: Path) -> None:
    """Deadlines, rests and expiries; and whether somebody has put a pause file down."""
    while True:
        await outlet.clock.sleep(TICK_SECONDS)
        text, written = await asyncio.to_thread(read_pause_file, pause_file)
        outlet.obey(state.pause_file_read(text, written, outlet.now()))
        outlet.obey(state.tick(outlet.now()))


async def settle_ownership(state: ShardState, outlet: Outlet) -> None:
    """Machines that became another shard's leave a few at a time, soon after the view came."""
    while True:
        await outlet.clock.sleep(SETTLE_SECONDS)
        while state.continue_sweep():
            outlet.obey(state.taken())
            await next_turn()
        outlet.obey(state.taken())


def read_pause_file(path: Path) -> tuple[str | None, Instant | None]:
    """Its text and when it was written; None: there is none. One that cannot be read pauses."""
    try:
        return path.read_text(), path.stat().st_mtime_ns
    except FileNotFoundError:
        return None, None
    except (OSError, UnicodeDecodeError) as problem:
        return f"unreadable: {problem}", None
