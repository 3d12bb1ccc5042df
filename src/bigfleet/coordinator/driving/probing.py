"""The HTTP pages of a coordinator: whether it lives, whether it is ready, what it counts."""

from collections.abc import Mapping

from bigfleet.coordinator.driving.leading import Leading
from bigfleet.coordinator.metrics import CoordinatorMetrics
from bigfleet.edge.pages import HttpAnswer, Page, probe
from bigfleet.edge.probing import tasks_page


def pages_of(leading: Leading, metrics: CoordinatorMetrics, *, debug: bool) -> Mapping[str, Page]:
    def live() -> HttpAnswer:
        return probe(True, "alive")

    def ready() -> HttpAnswer:
        why = leading.why_not_ready()
        return probe(not why, why or "ready")

    pages: dict[str, Page] = {"/healthz": live, "/readyz": ready, "/metrics": metrics.page}
    if debug:
        pages |= {"/debug/tasks": tasks_page}
    return pages
