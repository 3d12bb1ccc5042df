"""The HTTP pages of the pod controller: whether it lives, whether it is ready, what it counts."""

import asyncio
from collections.abc import Callable, Mapping

from bigfleet.edge.loop_lag import LoopLag
from bigfleet.edge.pages import HttpAnswer, Page, probe
from bigfleet.podwatch.metrics import PodwatchMetrics

LONGEST_LAG_SECONDS = 10.0


def pages_of(
    metrics: PodwatchMetrics, lag: LoopLag, why_not_ready: Callable[[], str], *, debug: bool
) -> Mapping[str, Page]:
    def live() -> HttpAnswer:
        late = lag.seconds
        if late >= LONGEST_LAG_SECONDS:
            return probe(False, f"the event loop is {late:.1f} s behind")
        return probe(True, "alive")

    def ready() -> HttpAnswer:
        why = why_not_ready()
        return probe(not why, why or "ready")

    pages: dict[str, Page] = {"/healthz": live, "/readyz": ready, "/metrics": metrics.page}
    if debug:
        pages |= {"/debug/tasks": _tasks}
    return pages


def _tasks() -> HttpAnswer:
    lines = [repr(task) for task in asyncio.all_tasks()]
    return HttpAnswer("\n".join(lines).encode(), "text/plain; charset=utf-8")
