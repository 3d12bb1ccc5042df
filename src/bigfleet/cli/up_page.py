"""The page of `up`: served on the loopback beside the fleet, and opened in a browser."""

import asyncio
import os
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import click

from bigfleet import __version__
from bigfleet.edge.driver import RealClock
from bigfleet.edge.logs import Log
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.ports import free_from, started_on
from bigfleet.up.scenario import Scenario
from bigfleet.web.fleet import Fleet
from bigfleet.web.live.rings import Rings
from bigfleet.web.page import WebPage
from bigfleet.web.safety import WebPolicy
from bigfleet.wire.shard_admin import ShardAdminClient

LOOPBACK = ("127.0.0.1", "localhost", "")
OFF = "off"
_WAYLAND = "WAYLAND_DISPLAY"


def web_port(address: str) -> int | None:
    """The wanted port of --web; None: no page. UsageError where it is not of the loopback."""
    if address == OFF:
        return None
    host, _, port = address.rpartition(":")
    if host not in LOOPBACK or not port.isdecimal() or int(port) > 65535:
        raise click.UsageError(
            f"--web {address}: write 127.0.0.1:PORT, or {OFF}; everyone who reaches the page of "
            "`up` may change its fleet, so only this machine does. A shard or a coordinator serves "
            "others with --web-addr"
        )
    return int(port)


@asynccontextmanager
async def served_page(
    fleet: LocalFleet, port: int | None, log: Log, scenario: Scenario | None = None
) -> AsyncIterator[WebPage | None]:
    """On the wanted port, or the next free one; None: no page is wanted."""
    if port is None:
        yield None
        return
    async with AsyncExitStack() as closing:
        addresses = fleet.addresses
        shards = {name: ShardAdminClient(addresses[name]) for name in fleet.shards}
        for client in shards.values():
            closing.push_async_callback(client.close)
        rings = Rings()
        shown = Fleet(
            shards,
            fleet.admin,
            [addresses["coordinator"]],
            RealClock(),
            face="up",
            version=__version__,
            simulated=fleet.plan.simulated,
            writes=True,
            history=rings,
            scenario=scenario,
        )
        page = WebPage(shown, rings, WebPolicy(writes=True), log)
        if scenario is not None:
            told = scenario
            scenario.listen(lambda: page.live.publish("scenario", told.document()))
        closing.push_async_callback(page.stop)
        if fleet.plan.exact_ports:
            await page.start(f"127.0.0.1:{port}")
        else:
            await started_on(lambda: page.start(f"127.0.0.1:{free_from(port)}"))
        yield page


def address_of(page: WebPage | None) -> str:
    """To be opened; empty: there is no page."""
    return f"http://127.0.0.1:{page.port}/" if page is not None else ""


def open_in_browser(page: WebPage | None) -> None:
    """Only for a person at a terminal with a display: others would get a browser made of text."""
    seen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get(_WAYLAND)
    if page is not None and seen and sys.stdout.isatty():
        asyncio.get_running_loop().run_in_executor(None, webbrowser.open, f"{address_of(page)}map")
