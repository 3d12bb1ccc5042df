"""What if: a sweep with its chart and table, machines on the map, the fleet file, and the diff of
an upgrade from a file."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.async_api import Browser, Locator, expect

from bigfleet.cli.replay_diff import document_of
from bigfleet.fleetfile import load_fleet
from bigfleet.journal.answers import Answer, AnsweredAction
from bigfleet.journal.comparison import Comparison, limits_of
from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import Watched, watching

HOSTILE = '<img src=x onerror="window.__hit=1">'


def address(**query: str) -> str:
    return f"/whatif?{urlencode(query)}"


def card(page: Watched, title: str) -> Locator:
    return page.tab.get_by_role("region", name=title, exact=True)


async def looked_at(page: Watched) -> None:
    page.expect_quiet()
    assert page.refusals == []
    assert await page.overflow() <= 0
    assert await page.axe() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_sweep_is_a_chart_and_a_table(
    browser: Browser, live: LivePage, width: int, scheme: str
) -> None:
    async with watching(browser, live.address, width=width, scheme=scheme) as page:
        await page.open(address(overlay="price capacity=Spot x2", sweep="demand.shop=1:2:0.5"))
        sweep = card(page, "Sweep")
        points = sweep.get_by_role("region", name="Every point")
        await points.wait_for()
        await expect(points.locator("tbody tr")).to_have_count(3)
        await sweep.get_by_role("button", name="Billed").click()
        label = await sweep.get_by_role("img").get_attribute("aria-label")
        assert label is not None
        assert label.startswith("Billed by demand.shop: $")
        await looked_at(page)


async def test_two_axes_are_a_square_and_may_settle(browser: Browser, live: LivePage) -> None:
    async with watching(browser, live.address) as page:
        axes = "demand.shop=1:1.5:0.5\nprice.Spot=1:2:1"
        await page.open(address(sweep=axes, settle="1"))
        sweep = card(page, "Sweep")
        await sweep.get_by_role("button", name="Billed").click()
        square = sweep.get_by_role("region", name="Billed by demand.shop and price.Spot")
        await square.wait_for()
        await expect(square.locator("tbody td")).to_have_count(4)
        await sweep.get_by_role("button", name="Last Need covered after").click()
        await looked_at(page)


async def test_an_axis_is_written_in_a_form_and_stands_in_the_link(
    browser: Browser, live: LivePage
) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/whatif")
        await page.tab.get_by_text("ask once for each value").click()
        await page.tab.get_by_label("step").fill("0")
        await page.tab.get_by_role("button", name="Add axis").click()
        await page.tab.get_by_role("alert").get_by_text("The step is above 0.").wait_for()
        await page.tab.get_by_label("step").fill("0.5")
        await page.tab.get_by_role("button", name="Add axis").click()
        await page.tab.get_by_text(
            "Demand of every cluster, times 1 to 2 in steps of 0.5"
        ).wait_for()
        await page.tab.get_by_role("button", name="Run", exact=True).click()
        await card(page, "Sweep").wait_for()
        link = card(page, "Again, elsewhere").get_by_text("sweep=demand")
        await link.wait_for()
        await card(page, "Again, elsewhere").get_by_text("--sweep demand=1:2:0.5").wait_for()
        page.expect_quiet()


async def test_an_axis_that_cannot_be_read_says_what_to_write(
    browser: Browser, live: LivePage
) -> None:
    async with watching(browser, live.address) as page:
        await page.open(address(sweep="moon=1:2:1"))
        await page.tab.get_by_text("moon cannot be swept").first.wait_for()


async def test_machines_that_go_are_shown_on_the_map(browser: Browser, live: LivePage) -> None:
    async with watching(browser, live.address) as page:
        await page.open(address(overlay="zone-loss b"))
        machines = card(page, "What becomes of machines")
        await machines.get_by_role("button", name="Show on the map").click()
        legend = machines.get_by_role("list", name="Legend")
        await legend.get_by_text("taken away").wait_for()
        await machines.get_by_role("application").wait_for()
        await looked_at(page)


async def test_a_run_that_is_cancelled_says_so(browser: Browser, live: LivePage) -> None:
    async with watching(browser, live.address) as page:
        # Not `open`, which waits until nothing is asked any more.
        await page.tab.goto(page.origin + address(sweep="demand.shop=1:1.39:0.001", settle="1"))
        await page.tab.get_by_role("button", name="Cancel").click()
        await page.tab.get_by_text("Cancelled").wait_for()
        page.expect_quiet()


async def test_the_fleet_file_is_downloaded(
    browser: Browser, live: LivePage, tmp_path: Path
) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/whatif")
        async with page.tab.expect_download() as coming:
            await page.tab.get_by_role("link", name="shard-0").click()
        download = await coming.value
        assert download.suggested_filename == "shard-0.jsonl"
        await download.save_as(tmp_path / "shard-0.jsonl")
        assert load_fleet((tmp_path / "shard-0.jsonl").read_bytes(), "shard-0.jsonl").machines


# -- upgrade ---------------------------------------------------------------------------------------


def diff_document(machine: str = "od-3") -> dict[str, Any]:
    """As the command line writes it."""

    def answer(kind: str, shortfalls: dict[str, int]) -> Answer:
        action = AnsweredAction(kind, machine, "shop", "need/shop/n1", 0, 0.38, 0.0, "cheapest")
        return Answer(1, 42, (action,), shortfalls, "")

    found = Comparison()
    found.take_same("1:41")
    found.take(answer("Bootstrap", {}), answer("Provision", {"need/ml/n2": 1000}))
    return document_of(found, limits_of("shortfalls>0"))


async def opened_with(page: Watched, name: str, content: str) -> None:
    await page.open("/whatif?tab=upgrade")
    file: Any = {"name": name, "mimeType": "application/json", "buffer": content.encode()}
    await page.tab.locator("input[type=file]").set_input_files(file)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_diff_is_opened_from_a_file(
    browser: Browser, live: LivePage, width: int, scheme: str
) -> None:
    async with watching(browser, live.address, width=width, scheme=scheme) as page:
        await opened_with(page, "diff.json", json.dumps(diff_document()))
        await page.tab.get_by_text("BEYOND", exact=True).wait_for()
        await page.tab.get_by_text("1 at priority 1,000").wait_for()
        await card(page, "Actions that differ").get_by_text("Provision").wait_for()
        await card(page, "Largest changes").get_by_text("od-3").first.wait_for()
        await looked_at(page)


async def test_a_diff_is_dropped_on_the_page(browser: Browser, live: LivePage) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/whatif?tab=upgrade")
        dropped = await page.tab.evaluate_handle(
            "(text) => { const moved = new DataTransfer();"
            " moved.items.add(new File([text], 'mine.json')); return moved; }",
            json.dumps(diff_document(HOSTILE)),
        )
        await page.tab.locator(".whatif-drop").dispatch_event("drop", {"dataTransfer": dropped})
        await page.tab.get_by_text("mine.json", exact=True).wait_for()
        await page.tab.get_by_text(HOSTILE).first.wait_for()
        assert await page.tab.evaluate("window.__hit") is None
        page.expect_quiet()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("not JSON", "is not JSON"),
        ("{}", "verdict is missing"),
        (json.dumps({**diff_document(), "cycles": "many"}), "cycles is not a number"),
    ],
    ids=["not JSON", "another document", "a broken field"],
)
async def test_a_foreign_file_is_refused_by_what_is_wrong(
    browser: Browser, live: LivePage, content: str, told: str
) -> None:
    async with watching(browser, live.address) as page:
        await opened_with(page, "odd.json", content)
        alert = page.tab.get_by_role("alert")
        await alert.wait_for()
        assert told in " ".join((await alert.inner_text()).split())
        await looked_at(page)
