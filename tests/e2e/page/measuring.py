"""What the page costs a browser, beside every budget: `make web-bench`.

    python -m tests.e2e.page.measuring --machines 500000 --minutes 10

A live `up` serves the page to Debian's Chromium. The table of 20,000 Needs and the map get answers
made beforehand, so that their rows are the browser's time alone. Times are printed and never
asserted; the exit code is 0 with every verdict.
"""

import argparse
import asyncio
import base64
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from playwright.async_api import Browser, Page

from bigfleet.bench.measures import Measure, percentile
from bigfleet.engine.inventory import Inventory
from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.requirements import RACK_KEY
from bigfleet.shard.watching.map_columns import MapInput, MapMaker
from bigfleet.web.live.maps import FleetMaps
from tests.e2e.browser import REMEDY, chromium
from tests.e2e.page.live_page import served
from tests.e2e.page.watched import launched

SCRIPT = Path(__file__).with_name("measuring.js")
#: Loads of a page in a browser without a cache.
LOADS = 7
NEEDS = 20_000
CHANGED = 5_000
REPAINTS = 20
PAGES = ("/map", "/needs", "/decisions", "/machines", "/clusters", "/costs", "/topology", "/")
SCROLL_MS = 4_000
_BOX = ".table-box"
_KB, _MB = 1000, 2**20
#: The budget of memory is stated for eight hours.
_MINUTES = 480


@dataclass(frozen=True, slots=True)
class Bench:
    browser: Browser
    address: str

    @asynccontextmanager
    async def tab(self, path: str = "/") -> AsyncIterator[Page]:
        """A browser without a cache, at a page that is ready."""
        context = await self.browser.new_context(viewport={"width": 1280, "height": 900})
        try:
            await context.add_init_script(path=SCRIPT)
            tab = await context.new_page()
            await tab.goto(self.address + path)
            await tab.evaluate("window.__bench.usableAt")
            yield tab
        finally:
            await context.close()


async def load_rows(bench: Bench) -> list[Measure]:
    first, usable, size = [], [], {"all": 0, "scripts": 0}
    for _ in range(LOADS):
        async with bench.tab() as tab:
            usable.append(float(await tab.evaluate("window.__bench.usableAt")))
            paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
            first.append(float(await tab.evaluate(paint)))
            # Other pages are fetched once this one is there.
            await tab.wait_for_timeout(1_500)
            size = await tab.evaluate("window.__bench.transfer()")
    return [
        *_rows("first content of the Overview, cold", first, 800),
        *_rows("usable Overview, cold", usable, 1_500),
        Measure("files of the page on their way", size["all"] / _KB, "KB", 300),
        Measure("scripts on their way", size["scripts"] / _KB, "KB", 200),
    ]


async def route_rows(bench: Bench) -> list[Measure]:
    shown, ready = [], []
    async with bench.tab() as tab:
        await tab.wait_for_timeout(1_500)
        for _ in range(2):
            for path in PAGES:
                took = await tab.evaluate("(path) => window.__bench.go(path)", path)
                shown.append(float(took["shown"]))
                ready.append(float(took["ready"]))
    return [*_rows("route change, page shown", shown, 150), *_rows("  its data too", ready)]


async def needs_rows(bench: Bench) -> list[Measure]:
    paint: list[float] = []
    cpu: list[float] = []
    async with bench.tab() as tab:
        spent = await _main_thread(tab)
        await tab.wait_for_timeout(1_500)
        size = await tab.evaluate("(count) => window.__bench.makeNeeds(count)", NEEDS)
        for _ in range(LOADS):
            before = await spent()
            paint.append(float(await tab.evaluate(_NEEDS_PAINTED)))
            cpu.append(await spent() - before)
            await tab.evaluate("window.__bench.go('/')")
        await tab.evaluate(_NEEDS_PAINTED)
        begun = await spent()
        slow = await tab.evaluate(_SCROLL, [_BOX, 120, SCROLL_MS])
        between = await spent()
        fast = await tab.evaluate(_SCROLL, [_BOX, 6_000, SCROLL_MS])
        ended = await spent()
    table = f"table of {NEEDS:,} Needs"
    return [
        Measure(f"answer of {NEEDS:,} Needs", size / _MB, "MB"),
        *_rows(f"{table}, answer to first paint", paint, 300),
        Measure("  CPU of the page's thread, median", median(cpu), "ms"),
        *_frames(f"{table}, scrolled by the wheel", slow, between - begun),
        *_frames(f"{table}, scrolled by its bar", fast, ended - between),
    ]


_SCROLL = "([box, step, ms]) => window.__bench.scroll(box, step, ms)"
_NEEDS_PAINTED = """async () => {
  const bench = window.__bench;
  bench.answeredAt = 0;
  document.querySelector("nav a[href^='/needs']").click();
  const rows = () => bench.answeredAt > 0 && document.querySelector("main tbody tr.needs-row");
  return await bench.when(rows) - bench.answeredAt;
}"""


async def map_rows(bench: Bench, machines: int) -> list[Measure]:
    """Of an answer and a change made by the page's own server code."""
    body, changes = _map_of(machines)
    async with bench.tab() as tab:
        await tab.wait_for_timeout(1_500)
        await tab.evaluate(_KEEP_MAP, base64.b64encode(body).decode())
        await tab.evaluate("window.__bench.go('/map')")
        shown = "() => performance.getEntriesByName('map.repaint', 'measure').length > 0"
        await tab.wait_for_function(shown)
        [load] = [max(await tab.evaluate("window.__bench.measures('map.load')"))]
        for number in range(REPAINTS):
            await tab.evaluate(_CHANGE_MAP, {**changes[number % 2], "cycle": 10 + number})
            await tab.wait_for_timeout(50)
        deltas = await tab.evaluate("window.__bench.measures('map.delta')")
        for _ in range(REPAINTS // 2):
            for scheme in ("dark", "light"):
                await tab.emulate_media(color_scheme=scheme)
                await tab.wait_for_timeout(100)
        repaints = await tab.evaluate("window.__bench.measures('map.repaint')")
    name = f"map of {machines:,}"
    return [
        Measure(f"{name}, answer to columns", load, "ms"),
        Measure(f"{name}, first drawing", repaints[0], "ms"),
        Measure(f"{name}, load", load + repaints[0], "ms", 1_500),
        *_rows(f"{name}, full repaint", repaints[1:], 33),
        *_rows(f"{name}, {CHANGED:,} changed", deltas, 8),
    ]


_KEEP_MAP = """async (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  window.__bench.map = bytes;
}"""
_CHANGE_MAP = "(change) => window.__bench.emit?.('map', change)"


def _map_of(machines: int) -> tuple[bytes, list[dict[str, Any]]]:
    """The body of /fleet/map, and two events that change the same machines."""
    inventory = Inventory()
    for number in range(machines):
        zone = "abc"[number % 3]
        machine = Machine(
            f"m-{number:06}",
            MachineState.SPECULATIVE,
            CapacityType.SPOT,
            instance_type=f"type-{number % 40}",
            zone=zone,
            labels={RACK_KEY: f"{zone}-r{number % 97}"},
            price_per_hour=0.1 + number % 7 / 10,
        )
        inventory.insert(machine, source="bench")
    maps = FleetMaps()
    shown = MapMaker().make(MapInput(inventory.snapshot(), {}, lambda _: 1, 1, 1, 1))
    maps.put("shard-0", shown)
    body = maps.body("zone", 1)
    layout = maps.layout("zone").number
    step = max(1, machines // CHANGED)
    places = range(0, step * CHANGED, step)
    return body, [
        {
            "by": "zone",
            "layout": layout,
            "reset": False,
            "changes": [[place, 0, int(state)] for place in places],
        }
        for state in (MachineState.CREATING, MachineState.IDLE)
    ]


async def memory_rows(bench: Bench, minutes: float) -> list[Measure]:
    """The heap of a page that is looked at, after a collection."""
    async with bench.tab() as tab:
        session = await tab.context.new_cdp_session(tab)

        async def heap() -> float:
            await session.send("HeapProfiler.collectGarbage")
            return float(await tab.evaluate("performance.memory.usedJSHeapSize")) / _MB

        pause = minutes * 60_000 / 4
        seen = []
        for _ in range(4):
            await tab.wait_for_timeout(pause)
            seen.append(await heap())
    # What is kept for charts fills up within a quarter of an hour: only a long look tells.
    budget = 50 if minutes >= _MINUTES else None
    return [
        Measure(f"heap of a live Overview after {minutes:g} min", seen[-1], "MB"),
        Measure("  what it grew in the last three quarters", seen[-1] - seen[0], "MB", budget),
    ]


def _rows(name: str, took: list[float], at_most: float | None = None) -> list[Measure]:
    return [
        Measure(f"{name}, median", median(took), "ms", at_most),
        Measure("  slowest", max(took), "ms"),
    ]


def _frames(name: str, frames: list[float], cpu: float) -> list[Measure]:
    return [
        Measure(f"{name}, longest frame", max(frames), "ms", 50),
        Measure("  frame p95", percentile(frames, 0.95), "ms"),
        Measure("  CPU of the page's thread a frame", cpu / len(frames), "ms"),
    ]


async def _main_thread(tab: Page) -> Callable[[], Awaitable[float]]:
    """Milliseconds of CPU that the page's own thread has spent: waits are not in them."""
    session = await tab.context.new_cdp_session(tab)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})

    async def spent() -> float:
        told = (await session.send("Performance.getMetrics"))["metrics"]
        [seconds] = [float(each["value"]) for each in told if each["name"] == "TaskDuration"]
        return 1e3 * seconds

    return spent


async def measured(address: str, machines: int, minutes: float) -> AsyncIterator[list[Measure]]:
    async with launched("--enable-precise-memory-info") as browser:
        bench = Bench(browser, address)
        yield await load_rows(bench)
        yield await route_rows(bench)
        yield await needs_rows(bench)
        if machines:
            yield await map_rows(bench, machines)
        if minutes:
            yield await memory_rows(bench, minutes)


async def _print_all(address: str, machines: int, minutes: float) -> None:
    async for rows in measured(address, machines, minutes):
        for row in rows:
            text = f"{row.name:<58} {row.value:>10,.1f} {row.unit:<3} {row.budget:>9} {row.verdict}"
            sys.stdout.write(text.rstrip() + "\n")
            sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=500_000, help="on the map; 0: no map")
    parser.add_argument("--minutes", type=float, default=4.0, help="of a live page; 0: none")
    asked = parser.parse_args()
    if chromium() is None:
        raise SystemExit(f"there is no browser: {REMEDY}")
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), "--seed", "1") as page:
        asyncio.run(_print_all(page.address, asked.machines, asked.minutes))


if __name__ == "__main__":
    main()
