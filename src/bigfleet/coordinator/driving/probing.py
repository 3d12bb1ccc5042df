"""The HTTP pages of a coordinator: whether it lives, whether it is ready, what it counts."""

import asyncio
from collections.abc import Mapping

from bigfleet.coordinator.driving.leading import Leading
from bigfleet.coordinator.metrics import CoordinatorMetrics
from bigfleet.edge.pages import HttpAnswer, Page, probe


def pages_of(leading: Leading, metrics: CoordinatorMetrics, *, debug: bool) -> Mapping[str, Page]:
    def live() -> HttpAnswer:
        return probe(True, "alive")

    def ready() -> HttpAnswer:
        why = leading.why_not_ready()
        return probe(not why, why or "ready")

    pages: dict[str, Page] = {"/healthz": live, "/readyz": ready, "/metrics": metrics.page}
    if debug:
        pages |= {"/debug/tasks": _tasks}
    return pages


def _tasks() -> HttpAnswer:
    lines = [repr(task) for task in asyncio.all_tasks()]
    return HttpAnswer("\n".join(lines).encode(), "text/plain; charset=utf-8")
