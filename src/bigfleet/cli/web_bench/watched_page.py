"""A watched shard that serves its page: what each answer took, and pages that are forgotten.

The shard's process of `bigfleet bench web`. An answer's time begins with the request and ends with
the last byte handed on; the CPU time beside it is that of the whole process.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from bigfleet import __version__
from bigfleet.bench.shard import watched_shard
from bigfleet.edge.logs import NullLog
from bigfleet.process import Process
from bigfleet.web.daemon_page import DaemonPage
from bigfleet.web.safety import WebPolicy


class TimedAnswers:
    def __init__(self, app: Any) -> None:
        """`app`: an ASGI application."""
        self._app = app
        #: (path, seconds, CPU seconds) of every answer since it was last asked.
        self.answers: list[tuple[str, float, float]] = []

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        began, spent = time.perf_counter(), time.process_time()
        await self._app(scope, receive, send)
        took, cpu = time.perf_counter() - began, time.process_time() - spent
        self.answers.append((str(scope.get("path", "")), took, cpu))

    def taken(self) -> list[tuple[str, float, float]]:
        taken, self.answers = self.answers, []
        return taken


class WatchedPage:
    def __init__(self) -> None:
        self._forget: Callable[[], None] = lambda: None
        self._timed: TimedAnswers | None = None

    def make(self, process: Process) -> DaemonPage:
        page = DaemonPage(
            process, "127.0.0.1:0", WebPolicy(), None, None, NullLog(), __version__, self._around
        )
        self._forget = page.forget_who_left
        return page

    def told(self) -> dict[str, Any]:
        return {"answers": [] if self._timed is None else self._timed.taken()}

    def hear(self, line: str) -> None:
        if line == "pages forget":
            self._forget()

    def _around(self, app: Any) -> Any:
        self._timed = TimedAnswers(app)
        return self._timed


def main() -> None:
    """The arguments are those of any watched shard."""
    page = WatchedPage()
    watched_shard.main(page.make, page.told, page.hear)
