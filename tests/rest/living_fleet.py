"""A whole fleet with its page, in a thread of its own: tests ask it as any client does."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from bigfleet.edge.driver import RealClock
from bigfleet.up.fleet_watch import FleetWatch
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.plans import FleetPlan
from bigfleet.up.scenario import Scenario
from bigfleet.web.app import application
from bigfleet.web.fleet import Fleet
from bigfleet.web.history import CostSamples, Samples
from bigfleet.web.live.live import Live
from bigfleet.web.live.rings import Rings
from bigfleet.web.safety import WebPolicy
from bigfleet.web.server import WebServer
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.up.fleets import FAST, context, is_served, seen
from tests.web.pages import LinesKept

PATIENCE_SECONDS = 120.0
#: Bound, and closed again: a shard that does not answer.
NOWHERE = "127.0.0.1:1"
OURS = {"X-BigFleet": "1"}


class KeptSamples:
    """A history with one gap, and no overview: shards are asked for it."""

    def overview(self) -> dict[str, Any] | None:
        return None

    def samples(self, shard: str, seconds: int, step: int) -> Samples:
        times = list(range(1_000_000, 1_000_000 + 3 * step, step))
        return Samples(times, {"Reclaim": [0.0, None, 2.5]}, [0.01, None, float(seconds)])

    def costs(self, by: str, seconds: int, step: int, until: int | None) -> CostSamples:
        times = list(range(1_000_000, 1_000_000 + 3 * step, step))
        by_name = {f"=1+1 of {by}": [1.0, None, 2.5], "": [0.5, None, 3.0]}
        return CostSamples(times, step, [1.5, None, 5.5], [0.0, None, float(seconds)], by_name)


@dataclass(frozen=True)
class LivingFleet:
    port: int
    #: In the same thread as the page.
    local: LocalFleet
    shown: Fleet
    #: The same fleet, with a shard that does not answer.
    partial_port: int
    #: The whole fleet on a page that only reads.
    reading_port: int
    #: Of both pages: faults of routes.
    log: LinesKept

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, status: int = 200, port: int = 0) -> dict[str, Any]:
        """Below /api/v1."""
        url = f"http://127.0.0.1:{port or self.port}/api/v1{path}"
        answer = httpx2.get(url, timeout=PATIENCE_SECONDS)
        assert answer.status_code == status, (answer.text, self.log.said)
        assert answer.headers["content-type"] == "application/json"
        return dict(answer.json())

    def answers(self, path: str) -> bool:
        """Below /api/v1; a cycle is in the journal a moment after it ended."""
        return httpx2.get(f"{self.url}/api/v1{path}", timeout=PATIENCE_SECONDS).is_success

    def lasting_need(self) -> str:
        """The name of one that a cluster asks for all the time; others come and go."""
        rows = self.get("/needs?shard=shard-0&cluster=shop")["needs"]
        first = min(rows, key=lambda row: row.get("arrivalUnixNanos", 0))
        return f"need/shop/{first['needId']}"

    def post(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        answer = httpx2.post(
            f"{self.url}/api/v1{path}", json=body, headers=OURS, timeout=PATIENCE_SECONDS
        )
        assert answer.status_code == status, answer.text
        return dict(answer.json())


@contextmanager
def living_fleet(plan: FleetPlan = FAST) -> Iterator[LivingFleet]:
    """Returns when every cluster has what it wants."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="living-fleet", daemon=True)
    thread.start()
    closing = AsyncExitStack()
    ready: Future[LivingFleet] = asyncio.run_coroutine_threadsafe(_start(closing, plan), loop)
    try:
        yield ready.result(PATIENCE_SECONDS)
    finally:
        asyncio.run_coroutine_threadsafe(closing.aclose(), loop).result(PATIENCE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_SECONDS)
        loop.close()


async def _start(closing: AsyncExitStack, plan: FleetPlan) -> LivingFleet:
    local = LocalFleet(plan, context())
    await local.start()
    closing.push_async_callback(local.stop)
    await seen(local, is_served)
    addresses = local.addresses
    shards = {name: ShardAdminClient(addresses[name]) for name in local.shards}
    silent = ShardAdminClient(NOWHERE)
    for client in (*shards.values(), silent):
        closing.push_async_callback(client.close)
    scenario = Scenario(local, RealClock(), LinesKept(), FleetWatch())
    closing.push_async_callback(scenario.close)
    shown = Fleet(
        shards,
        local.admin,
        [addresses["coordinator"]],
        RealClock(),
        face="up",
        version="1.2.3",
        simulated=True,
        writes=True,
        history=KeptSamples(),
        scenario=scenario,
    )
    partial = replace(shown, shards={**shards, "shard-9": silent})
    ports, log = [], LinesKept()
    reading = replace(shown, writes=False)
    for fleet in (shown, partial, reading):
        live = Live(fleet, Rings(), log)
        server = WebServer(application(live, WebPolicy(writes=fleet.writes), log), live.end_streams)
        closing.push_async_callback(server.stop)
        ports.append(await server.start("127.0.0.1:0"))
    return LivingFleet(ports[0], local, shown, ports[1], ports[2], log)
