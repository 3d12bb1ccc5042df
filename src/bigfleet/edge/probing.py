"""The HTTP pages of a process in a cluster: whether it lives, whether it is ready, what it counts.

Ready means that its caches are full, or, for the replica that waits, that it has seen the lease.
Whether a shard can be reached is no part of it: restarting the process would not help.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from bigfleet.edge.loop_lag import LoopLag
from bigfleet.edge.pages import HttpAnswer, Page, probe

LONGEST_LAG_SECONDS = 10.0


def pages_of(
    lag: LoopLag,
    why_not_ready: Callable[[], str],
    metrics: Page,
    *,
    debug: bool,
) -> Mapping[str, Page]:
    def live() -> HttpAnswer:
        late = lag.seconds
        if late >= LONGEST_LAG_SECONDS:
            return probe(False, f"the event loop is {late:.1f} s behind")
        return probe(True, "alive")

    def ready() -> HttpAnswer:
        why = why_not_ready()
        return probe(not why, why or "ready")

    pages: dict[str, Page] = {"/healthz": live, "/readyz": ready, "/metrics": metrics}
    if debug:
        pages["/debug/tasks"] = tasks_page
    return pages


def tasks_page() -> HttpAnswer:
    """What the process is at: its tasks and where each of them stands."""
    lines = [line for task in asyncio.all_tasks() for line in (repr(task), *_stack(task))]
    return HttpAnswer("\n".join(lines).encode(), "text/plain; charset=utf-8")


def _stack(task: "asyncio.Task[Any]") -> list[str]:
    """Without source lines: frames of compiled code have no line numbers to look them up by."""
    frames = task.get_stack(limit=8)
    return [f"  {f.f_code.co_filename}:{f.f_lineno} {f.f_code.co_name}" for f in frames]
