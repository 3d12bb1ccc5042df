"""The fake substrate of `bigfleet bench provider`: it watches the event loop it is called from.

A timer is due every other millisecond; how late it comes is how long the loop was not free. The
page `/bench/` of the metrics port tells the longest such stall since it was last asked, and how
much of it the loop's own thread worked: the rest it waited for a processor or another thread.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import replace

from bigfleet.edge.pages import HttpAnswer, HttpRequest, Route
from bigfleet.provider.backend import (
    DescribeNow,
    Host,
    Inventory,
    OpenContext,
    ServerExtension,
)
from bigfleet.provider.testing import FakeSubstrate

EVERY_SECONDS = 0.002


class WatchedSubstrate(FakeSubstrate, ServerExtension):
    def __init__(self) -> None:
        super().__init__(remember=False)  # a list of all operations would be measured too

    async def open(self, ctx: OpenContext) -> None:
        await super().open(ctx)
        self._longest, self._worked = 0.0, 0.0
        self._watch_from(asyncio.get_running_loop().time())

    def extension(self) -> ServerExtension:
        return self

    def routes(self) -> Mapping[str, Route]:
        return {"/bench/": self._answer}

    def describe(self) -> Inventory:  # type: ignore[override]
        """In a thread, as a substrate's client library would build it beside the loop."""
        hosts = self.hosts
        found = [
            replace(instance, host=Host(hosts[name].ref, node_name=f"node-{name}"))
            if name in hosts
            else instance
            for name, instance in self.instances.items()
        ]
        return Inventory(found)

    def _watch_from(self, now: float) -> None:
        due = now + EVERY_SECONDS
        asyncio.get_running_loop().call_at(due, self._look, due, time.thread_time())

    def _look(self, due: float, spent: float) -> None:
        now = asyncio.get_running_loop().time()
        if now - due > self._longest:
            self._longest, self._worked = now - due, time.thread_time() - spent
        self._watch_from(now)

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        """`describe` asks for one; anything is answered with the longest stall."""
        if request.path == "describe":
            self.signals.put_nowait(DescribeNow())
        told = {"longest_stall_seconds": self._longest, "worked_seconds": self._worked}
        self._longest, self._worked = 0.0, 0.0
        return HttpAnswer(json.dumps(told).encode())
