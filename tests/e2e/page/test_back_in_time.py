"""Any cycle that a journal keeps, on every page with a bar of time; one key returns to now."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.assets import require_browser
from tests.e2e.page.live_page import LivePage, served
from tests.e2e.page.watched import watching
from tests.shard_system.waiting import until

#: Of each page with a bar of time: what is there only when its data is.
PAGES = {
    "/map": ".map-box canvas",
    "/needs": "main tbody tr.opens",
    "/decisions": ".decisions-row",
    "/costs": ".costs-table tbody tr",
}
SHARDS = ("shard-0", "shard-1")
EACH = pytest.mark.parametrize("path", PAGES)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    require_browser()
    words = ("--seed", "1", "--shards", str(len(SHARDS)))
    with served(tmp_path_factory.mktemp("up"), *words) as page:
        yield page


async def past_of(live: LivePage, shard: str) -> str:
    """A cycle of the shard in which something was decided, with its epoch."""
    rows: list[dict[str, int]] = []

    def decided() -> bool:
        rows[:] = live.get(f"/decisions?shard={shard}&limit=500")["decisions"]
        kept = live.get("/status")["journal"][shard]
        return bool(rows) and kept["firstCycle"] is not None and kept["lastCycle"] > 12

    await until(decided)
    kept = live.get("/status")["journal"][shard]
    return f"{kept['epoch']}:{rows[-1]['cycle']}"


def query_of(tab: Page) -> str:
    return tab.url.partition("?")[2]


@EACH
async def test_a_past_cycle_is_shown_and_a_key_returns_to_now(
    live: LivePage, browser: Browser, path: str
) -> None:
    past = await past_of(live, "shard-0")
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open(f"{path}?at={past}")
        bar = tab.get_by_role("group", name="Time")
        await expect(bar).to_contain_text(f"As the journal has cycle {past}.")
        await expect(tab.locator(PAGES[path]).first).to_be_visible()
        assert await page.axe() == []
        assert await page.overflow() <= 0
        await tab.keyboard.press("l")
        await expect(bar.locator("output")).to_contain_text("live")
        await expect(tab.locator(PAGES[path]).first).to_be_visible()
        assert query_of(tab) == ""
        page.expect_quiet()


@EACH
async def test_the_bar_of_time_goes_to_a_cycle_that_the_address_keeps(
    live: LivePage, browser: Browser, path: str
) -> None:
    await past_of(live, "shard-0")
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open(path)
        slider = tab.get_by_role("slider", name="Cycle")
        await slider.focus()
        await tab.keyboard.press("PageDown")
        await expect(tab).to_have_url(re.compile(r"\?at=\d+%3A\d+$"))
        there = tab.url
        await page.ready()
        await expect(tab.locator(PAGES[path]).first).to_be_visible()
        await tab.get_by_role("button", name="Back to live", exact=True).click()
        assert query_of(tab) == ""
        await tab.go_back()
        assert tab.url == there
        await expect(tab.get_by_role("group", name="Time")).to_contain_text("As the journal has")
        page.expect_quiet()


@EACH
async def test_of_several_shards_the_past_is_that_of_the_one_that_is_named(
    shards: LivePage, browser: Browser, path: str
) -> None:
    past = await past_of(shards, "shard-1")
    async with watching(browser, shards.address) as page:
        tab = page.tab
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        await page.open(f"{path}?at=shard-1@{past}")
        bar = tab.get_by_role("group", name="Time")
        await expect(bar).to_contain_text(f"Cycle {past} of shard-1 alone")
        await expect(bar).to_contain_text("the other one is not shown")
        await expect(tab.locator(PAGES[path]).first).to_be_visible()
        meant = [url for url in asked if "at=" in url and "/api/" in url]
        assert meant
        wanted = f"at={past.replace(':', '%3A')}"
        assert all(wanted in url and "shard=shard-1" in url for url in meant)
        await bar.get_by_label("Time of shard").select_option("shard-0")
        await expect(bar).to_contain_text("of shard-0 alone")
        assert "shard-0%401%3A" in tab.url
        await page.ready()
        page.expect_quiet()


async def test_a_number_alone_is_told_to_be_of_the_shard_that_is_shown(
    shards: LivePage, browser: Browser
) -> None:
    past = await past_of(shards, "shard-0")
    async with watching(browser, shards.address) as page:
        await page.open(f"/costs?at={past}")
        bar = page.tab.get_by_role("group", name="Time")
        await expect(bar).to_contain_text(f"Cycle {past} of shard-0 alone")


async def test_playing_goes_on_to_the_next_cycles(live: LivePage, browser: Browser) -> None:
    past = await past_of(live, "shard-0")
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open(f"/costs?at={past}")
        bar = tab.get_by_role("group", name="Time")
        await bar.get_by_role("button", name="Play", exact=True).click()
        await expect(bar).not_to_contain_text(f"cycle {past}.")
        await bar.get_by_role("button", name="Pause", exact=True).click()
        page.expect_quiet()
