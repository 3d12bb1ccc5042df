"""Whether the provider is ready, and the pages that say so."""

import orjson

from bigfleet.edge.pages import HttpAnswer
from bigfleet.provider.committer import Committer
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.parts import Parts

#: On the debug page of machines; `bigfleet provider machines` lists all of them.
MOST_MACHINES = 10_000


def why_not_ready(parts: Parts, *, stopping: bool) -> str:
    """Empty: ready."""
    if stopping:
        return "stopping"
    if not parts.committer.writable:
        return f"the state cannot be written: {parts.committer.trouble}"
    if not parts.reconciler.healthy:
        return "the substrate cannot be described"
    return ""


def machines_page(committer: Committer) -> HttpAnswer:
    """The first machines by id; `leftOff` says how many there are beside them."""
    entries = committer.published.entries()

    def build() -> bytes:
        shown = sorted(entries, key=lambda entry: entry.id)[:MOST_MACHINES]
        items = [
            {
                "id": entry.id,
                "state": entry.state.label,
                "revision": entry.revision,
                "operations": entry.standing.operations,
                "lastError": entry.record.last_error,
            }
            for entry in shown
        ]
        return orjson.dumps({"items": items, "leftOff": len(entries) - len(shown)})

    return HttpAnswer(b"", build=build)


def refresh_gauges(metrics: ProviderMetrics, committer: Committer) -> None:
    counts = metrics.counts
    counts.set("revision", committer.published.head)
    for (state, capacity_type), count in committer.published.counts.items():
        counts.set("machines", count, state=state.label, capacity_type=capacity_type.label)
