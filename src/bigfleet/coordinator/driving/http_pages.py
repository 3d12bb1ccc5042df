"""The HTTP pages of a coordinator: whether it lives, whether it is ready, what it counts."""

from collections.abc import Mapping
from typing import Any

from bigfleet.coordinator.driving.leading_replica import LeadingReplica
from bigfleet.coordinator.metrics import CoordinatorMetrics
from bigfleet.edge.pages import HttpAnswer, Page, probe


def pages_of(leading: LeadingReplica, metrics: CoordinatorMetrics) -> Mapping[str, Page]:
    def live() -> HttpAnswer:
        return probe(True, "alive")

    def ready() -> HttpAnswer:
        why = leading.why_not_ready()
        return probe(not why, why or "ready")

    return {"/healthz": live, "/readyz": ready, "/metrics": metrics.page}


def sizes_of(leading: LeadingReplica) -> Mapping[str, Any]:
    """For /debug/state; of the fleet only what a leader knows."""
    book = leading.book_or_none()
    return {
        "leads": leading.leads,
        "term": leading.heard().term,
        "revision": leading.revision,
        "series": leading.counts.series,
        **(book.sizes() if book is not None else {}),
    }
