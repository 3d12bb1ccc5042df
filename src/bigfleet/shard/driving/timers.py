"""The small watches of the process: the second, the pause file."""

import asyncio
from pathlib import Path

from bigfleet.edge.clock import next_turn
from bigfleet.model.machines import Instant
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.state import ShardState

TICK_SECONDS = 1.0
SETTLE_SECONDS = 0.2


async def every_second(state: ShardState, outlet: Outlet, pause_file: Path) -> None:
    """Deadlines, rests and expiries; and whether there is a pause file."""
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
