"""The HTTP pages of a process in a cluster: whether it lives, whether it is ready, what it counts.

Ready means that its caches are full, or, for the replica that waits, that it has seen the lease.
Whether a shard can be reached is no part of it: restarting the process would not help.
"""

import asyncio
from collections.abc import Callable, Mapping

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.pages import HttpAnswer, Page, probe
from bigfleet.model.machines import Instant

LAG_LIMIT_SECONDS = 10.0
BEAT_SECONDS = 0.5


class Heart:
    """Beats in the event loop; a loop that is held up is late."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._beat_at: Instant = clock.now()

    async def run(self) -> None:
        while True:
            self._beat_at = self._clock.now()
            await self._clock.sleep(BEAT_SECONDS)

    def late_seconds(self) -> float:
        return max(0.0, (self._clock.now() - self._beat_at) / SECOND - BEAT_SECONDS)


def pages_of(
    heart: Heart,
    why_not_ready: Callable[[], str],
    metrics: Page,
    *,
    debug: bool,
) -> Mapping[str, Page]:
    def live() -> HttpAnswer:
        late = heart.late_seconds()
        return probe(late < LAG_LIMIT_SECONDS, f"the event loop is {late:.1f} s late")

    def ready() -> HttpAnswer:
        why = why_not_ready()
        return probe(not why, why or "ready")

    pages: dict[str, Page] = {"/healthz": live, "/readyz": ready, "/metrics": metrics}
    if debug:
        pages["/debug/tasks"] = _tasks
    return pages


def _tasks() -> HttpAnswer:
    lines = [repr(task) for task in asyncio.all_tasks()]
    return HttpAnswer("\n".join(lines).encode(), "text/plain; charset=utf-8")
