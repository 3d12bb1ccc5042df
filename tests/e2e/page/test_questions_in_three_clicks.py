"""From the Overview a person reaches an answer in three clicks or fewer."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from playwright.async_api import Browser, Page, expect

from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching
from tests.shard_system.waiting import until


@asynccontextmanager
async def paused(live: LivePage, cluster: str, *kinds: str) -> AsyncIterator[None]:
    """It is lifted everywhere at the end: a shard does so with its next report."""
    audit = {"owner": "maria@example.com", "reason": "we count the racks"}
    scope = {"clusterIds": [cluster], "kinds": list(kinds)}
    made = live.post("/pause", {**audit, **scope, "ttlSeconds": 600})["pause"]["pauseId"]
    try:
        yield
    finally:
        live.post("/resume", {**audit, "pauseId": made})
        await until(
            lambda: made not in [each["pauseId"] for each in live.get("/pauses")["pauses"]],
            lambda: live.get("/pauses"),
        )


@contextmanager
def wanted(live: LivePage, factor: float) -> Iterator[None]:
    """Of the web of shop, times what it is in the script; as it was, however the test ends."""
    demand = {"cluster": "shop", "class": "web"}
    live.post("/demand", {**demand, "factor": factor})
    try:
        yield
    finally:
        live.post("/demand", {**demand, "factor": 1.0})


async def click_navigation(tab: Page, name: str) -> None:
    await tab.get_by_role("navigation").get_by_role("link", name=name).click()


async def test_why_a_machine_is_here(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/")
        await click_navigation(page.tab, "Machines")
        await page.tab.locator("main a[href^='/machines/']").first.click()
        await page.tab.get_by_text("bigfleet why machine/").first.wait_for()
        page.expect_quiet()


async def test_why_a_machine_was_taken_and_by_whom(live: LivePage, browser: Browser) -> None:
    with wanted(live, 0.2):
        async with watching(browser, live.address) as page:
            tab = page.tab
            await page.open("/")
            await tab.get_by_role("link", name="All decisions").click()
            await tab.get_by_role("button", name="Reclaim", exact=True).click()
            taken = tab.locator(".decisions-row", has_text="Reclaim").first
            await taken.locator(".decisions-sentence").click()
            why = tab.locator(".decisions-why")
            await expect(why.get_by_text("bigfleet why action/")).to_be_visible()
            await expect(why.locator(".decisions-steps dd").first).not_to_be_empty()
            page.expect_quiet()


async def test_why_a_need_is_as_it_is(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/")
        await click_navigation(page.tab, "Needs")
        await page.tab.locator("main tbody tr[tabindex]").first.click()
        await page.tab.get_by_role("dialog").get_by_text("bigfleet why need/").wait_for()
        page.expect_quiet()


async def test_why_a_need_is_blocked(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        # More than the cluster ever had: what it holds from an earlier wave must not be enough.
        async with paused(live, "shop", "Bootstrap", "Provision"):
            # Then the demand is taken back before the pause is lifted: nothing is bought for it.
            with wanted(live, 3.0):
                await page.open("/")
                await click_navigation(tab, "Needs")
                await tab.locator(".needs-state.blocked").click()
                await tab.locator("main tr.needs-row.blocked").first.click()
                drawer = tab.get_by_role("dialog")
                await expect(drawer.locator(".needs-why li").first).to_contain_text("rail.paused")
                await expect(drawer.get_by_text("bigfleet resume")).to_be_visible()
        page.expect_quiet()


async def test_what_happens_if_a_zone_is_lost(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/")
        await tab.get_by_role("link", name="What if a zone is lost").click()
        await tab.locator(".whatif-examples").get_by_role("button", name="is lost").click()
        await expect(tab.get_by_role("heading", name="Both sides")).to_be_visible()
        assert "zone-loss" in tab.url
        page.expect_quiet()


async def test_who_paused_what(live: LivePage, browser: Browser) -> None:
    """Without any click: it stands on the Overview until when, too."""
    async with watching(browser, live.address) as page:
        async with paused(live, "batch", "Reclaim"):
            await page.open("/")
            rail = page.tab.locator(".rail", has_text="we count the racks")
            await expect(rail).to_contain_text("Reclaim for cluster batch")
            await expect(rail).to_contain_text("maria@example.com")
            await expect(rail).to_contain_text(re.compile(r"ends in \d min"))
        await expect(rail).to_have_count(0)
        page.expect_quiet()


async def test_the_back_button_leads_back(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/")
        await click_navigation(page.tab, "Fleet map")
        await page.ready()
        assert page.tab.url.endswith("/map")
        await page.tab.go_back()
        await page.ready()
        assert page.tab.url == live.address + "/"
