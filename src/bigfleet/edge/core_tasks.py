"""Tasks without which a process is none: it lives as long as all of them, or until a stop."""

import asyncio
from collections.abc import Iterable


class CoreTaskDied(RuntimeError):
    """A task has ended that never should; the text names it, or says what it said."""


async def until_one_dies(
    tasks: "Iterable[asyncio.Task[None]]",
    stopped: asyncio.Event,
    speaking: tuple[type[Exception], ...] = (),
) -> None:
    """Returns at a stop; raises CoreTaskDied. `speaking` problems say themselves what to do."""
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        done, _ = await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
    for task in done - {stopping}:
        problem = None if task.cancelled() else task.exception()
        said = str(problem) if isinstance(problem, speaking) else ""
        text = said or f"the task {task.get_name()!r} has ended: {problem!r}"
        raise CoreTaskDied(text) from problem
