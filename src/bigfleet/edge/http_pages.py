"""The HTTP pages of a process in a cluster: whether it lives, whether it is ready, what it counts.

Ready means that its caches are full, or, for the replica that waits, that it has seen the lease.
Whether a shard can be reached is no part of it: restarting the process would not help.
"""

from collections.abc import Callable, Mapping

from bigfleet.edge.loop_lag import LoopLag
from bigfleet.edge.pages import HttpAnswer, Page, probe

LONGEST_LAG_SECONDS = 10.0


def pages_of(
    lag: LoopLag,
    why_not_ready: Callable[[], str],
    metrics: Page,
) -> Mapping[str, Page]:
    def live() -> HttpAnswer:
        late = lag.seconds
        if late >= LONGEST_LAG_SECONDS:
            return probe(False, f"the event loop is {late:.1f} s behind")
        return probe(True, "alive")

    def ready() -> HttpAnswer:
        why = why_not_ready()
        return probe(not why, why or "ready")

    return {"/healthz": live, "/readyz": ready, "/metrics": metrics}
