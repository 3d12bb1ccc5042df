"""What every long-running verb does around its process: signals, settings read again, the end."""

import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from bigfleet.cli.reload import SettingsReload
from bigfleet.edge.logs import Log

if TYPE_CHECKING:
    import asyncio


class Process(Protocol):
    async def start(self) -> object:
        """Raises where it must not start."""

    async def until_dead(self) -> None:
        """Raises why, when something ended without which it is none; returns at a stop."""

    async def stop(self) -> None: ...


async def run_daemon(
    process: Process,
    component: str,
    reload: SettingsReload,
    log: Log,
    beside: Callable[[], "asyncio.Task[None] | None"] = lambda: None,
) -> None:
    """Never returns: it ends the operating system's process, or raises where that must not start.

    `beside` starts what the process lives on without, once it is up.
    """
    import asyncio

    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.garbage_collection import collect_rarely
    from bigfleet.edge.heap import return_freed_memory

    collecting = asyncio.create_task(collect_rarely(RealClock()))
    returning = asyncio.create_task(return_freed_memory(RealClock()))
    # Before the start says that it is up: whoever waits for that may ask for the end at once.
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    loop.add_signal_handler(signal.SIGHUP, reload.reload)
    stopping = asyncio.ensure_future(asked.wait())
    code = 0
    if await _is_started(process, stopping):
        more = beside()
        living = asyncio.ensure_future(process.until_dead())
        await asyncio.wait({stopping, living}, return_when=asyncio.FIRST_COMPLETED)
        if living.done() and (problem := living.exception()) is not None:
            log.error(f"{component}.died", msg=str(problem))
            code = 1
        if more is not None:
            more.cancel()
    collecting.cancel()
    returning.cancel()
    await process.stop()
    # Everything is durable and closed. To return would be to wait for every thread, and one may
    # hang on a disk.
    sys.stderr.flush()
    os._exit(code)


async def _is_started(process: Process, stopping: "asyncio.Future[Any]") -> bool:
    """False: it was asked to stop meanwhile. Raises where it must not start."""
    import asyncio

    starting = asyncio.ensure_future(process.start())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait({starting})
    if starting.cancelled():
        return False
    starting.result()
    return True
