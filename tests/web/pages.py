"""A page on the loopback, and requests to it as a browser sends them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from bigfleet.edge.clock import Clock
from bigfleet.edge.driver import RealClock
from bigfleet.web.app import STATIC, application
from bigfleet.web.fleet import Fleet
from bigfleet.web.live.live import Live
from bigfleet.web.live.rings import Rings
from bigfleet.web.safety import WebPolicy
from bigfleet.web.server import WebServer

READS = WebPolicy()


@dataclass
class LinesKept:
    """A log that can be read."""

    said: list[str] = field(default_factory=list)

    def error(self, event: str, **facts: Any) -> None:
        self.said.append(f"{event}: {facts.get('msg', '')}")

    debug = info = warning = error


def no_fleet(clock: Clock | None = None) -> Fleet:
    return Fleet({}, None, (), clock or RealClock(), face="shard", version="1.2.3")


@dataclass
class Served:
    port: int
    log: LinesKept
    live: Live
    client: httpx2.AsyncClient


@asynccontextmanager
async def served(
    fleet: Fleet | None = None, policy: WebPolicy = READS, static: Path = STATIC
) -> AsyncIterator[Served]:
    log = LinesKept()
    live = Live(fleet or no_fleet(), Rings(), log)
    server = WebServer(application(live, policy, log, static), live.end_streams)
    port = await server.start("127.0.0.1:0")
    live.start()
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            yield Served(port, log, live, client)
    finally:
        await server.stop()
        await live.stop()
