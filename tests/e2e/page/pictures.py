"""The pictures of the documentation, taken of live fleets: `python -m tests.e2e.page.pictures`.

Every fleet is started, brought into the state a picture is about, and looked at in both schemes.
Names of scenes as arguments take only those; pictures go to docs/img, or to the folder of `--to`.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import click
from playwright.async_api import Browser

from bigfleet.edge.driver import RealClock
from tests.architecture.tree import ROOT
from tests.e2e.page.live_page import LivePage, served
from tests.e2e.page.watched import Watched, launched, watching

SCHEMES = ("light", "dark")
#: A fleet that does not come into the state of a scene within this time is shown as it is.
PATIENCE_SECONDS = 120.0
#: After a page is ready: charts are drawn, and a few cycles have come in.
SETTLING_MS = 2500

Step = Callable[[Watched], Awaitable[None]]


async def _nothing(_page: Watched) -> None:
    """The page as it opens."""


@dataclass(frozen=True, slots=True)
class Scene:
    name: str
    #: Words of `bigfleet up`; scenes with the same words share a fleet.
    fleet: tuple[str, ...]
    path: str
    #: Asked of the fleet once, before the picture: route and body.
    asked: tuple[tuple[str, dict[str, object]], ...] = ()
    #: Part of /fleet/overview that must be true: a field, and the least it must be.
    waits_for: tuple[str, int] | None = None
    step: Step = _nothing
    width: int = 1280
    height: int = 860


SMALL = ("--seed", "1", "--speed", "4")
MEDIUM = ("--seed", "1", "--size", "medium")


async def _first_need(page: Watched) -> None:
    rows = page.tab.locator("main tbody tr[tabindex]")
    waiting = rows.filter(has_text="blocked").or_(rows.filter(has_text="short of"))
    await (waiting if await waiting.count() else rows).first.click()
    await page.tab.get_by_role("dialog").get_by_text("bigfleet why need/").wait_for()


async def _run_what_if(page: Watched) -> None:
    run = page.tab.get_by_role("button", name="Run", exact=True)
    if await run.count():
        await run.first.click()
    await page.ready()


async def _compare_pools(page: Watched) -> None:
    card = page.tab.get_by_role("region", name="One pool, or a pool per cluster", exact=True)
    await card.get_by_role("button", name="Compare", exact=True).click()
    await card.get_by_role("img").wait_for(timeout=90_000)
    await card.evaluate("card => card.scrollIntoView(true)")
    # From under the bar.
    await page.tab.mouse.wheel(0, -70)


def _do(name: str, seconds: int, **arguments: object) -> tuple[str, dict[str, object]]:
    return "/scenario/do", {"do": name, "seconds": seconds, **arguments}


def _demand(cluster: str, kind: str, factor: float) -> tuple[str, dict[str, object]]:
    return "/demand", {"cluster": cluster, "class": kind, "factor": factor}


SURGE = (_demand("shop", "critical", 3), _demand("batch", "batch", 2))
STOCK_OUT = tuple(_do("stock", 600, select=f"capacity={each}") for each in ("Spot", "OnDemand"))
SCENES = (
    Scene("overview", SMALL, "/", waits_for=("cycle", 220)),
    Scene("map", SMALL, "/map", waits_for=("needs.met", 6)),
    Scene("decisions", SMALL, "/decisions"),
    Scene("machines", SMALL, "/machines"),
    Scene("clusters", SMALL, "/clusters"),
    Scene("scenario", SMALL, "/scenario"),
    Scene(
        "people-finance",
        SMALL,
        "/costs?range=15m",
        asked=(_demand("shop", "critical", 3),),
        waits_for=("cycle", 300),
        height=1700,
    ),
    Scene("costs-isolated", SMALL, "/costs", waits_for=("cycle", 220), step=_compare_pools),
    Scene("people-planner", SMALL, "/whatif?overlay=zone-loss%20b", step=_run_what_if),
    Scene("surge", SMALL, "/", asked=SURGE, waits_for=("needs.arriving", 1)),
    Scene("people-provider", SMALL, "/topology", (*SURGE, *STOCK_OUT), ("findings", 1)),
    Scene("people-on-call", SMALL, "/", (_do("outage", 600),), ("findings", 1)),
    Scene(
        "people-cluster-owner", SMALL, "/needs", waits_for=("needs.blocked", 1), step=_first_need
    ),
    Scene("narrow", SMALL, "/", width=360, height=780),
    Scene("medium-overview", MEDIUM, "/", waits_for=("needs.met", 4)),
    Scene("medium-map", MEDIUM, "/map"),
    Scene("medium-needs", MEDIUM, "/needs"),
)


def _asked(origin: str, route: str, body: dict[str, object] | None = None) -> object:
    headers = {"X-BigFleet": "1", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{origin}/api/v1{route}", data, headers), timeout=30) as answer:
        return json.loads(answer.read())


def _amount(document: object, name: str) -> int:
    for part in name.split("."):
        assert isinstance(document, dict), name
        document = document[part]
    return len(document) if isinstance(document, list) else int(str(document))


async def _until(origin: str, scene: Scene) -> None:
    if scene.waits_for is None:
        return
    name, least = scene.waits_for
    clock = RealClock()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while _amount(await asyncio.to_thread(_asked, origin, "/fleet/overview"), name) < least:
                await clock.sleep(0.5)
    except TimeoutError:
        click.echo(f"{scene.name}: {name} stayed below {least}", err=True)


async def _take(browser: Browser, origin: str, scene: Scene, folder: Path) -> None:
    for route, body in scene.asked:
        await asyncio.to_thread(_asked, origin, route, body)
    await _until(origin, scene)
    for scheme in SCHEMES:
        async with watching(
            browser, origin, width=scene.width, height=scene.height, scheme=scheme
        ) as page:
            await page.open(scene.path)
            await scene.step(page)
            await page.tab.wait_for_timeout(SETTLING_MS)
            await page.tab.screenshot(path=folder / f"{scene.name}-{scheme}.png")
    click.echo(scene.name)


async def _all(live: LivePage, scenes: list[Scene], folder: Path) -> None:
    async with launched() as browser:
        for scene in scenes:
            await _take(browser, live.address, scene, folder)


def main(words: list[str]) -> None:
    asked = argparse.ArgumentParser(prog="python -m tests.e2e.page.pictures", description=__doc__)
    asked.add_argument("scenes", nargs="*", help="names of scenes; default: all")
    asked.add_argument("--to", type=Path, default=ROOT / "docs" / "img")
    chosen = asked.parse_args(words)
    wanted = [each for each in SCENES if not chosen.scenes or each.name in chosen.scenes]
    chosen.to.mkdir(parents=True, exist_ok=True)
    for fleet in dict.fromkeys(each.fleet for each in wanted):
        with tempfile.TemporaryDirectory() as folder, served(Path(folder), *fleet) as live:
            asyncio.run(_all(live, [each for each in wanted if each.fleet == fleet], chosen.to))


if __name__ == "__main__":
    main(sys.argv[1:])
