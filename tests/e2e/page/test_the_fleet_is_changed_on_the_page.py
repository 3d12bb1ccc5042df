"""What the page may change: pauses, offerings that rest, machines that failed, faults of `up`. Each
asks who and why, is kept with both, and is not offered where the page only reads."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.assets import require_browser
from tests.e2e.page.answers import Answers
from tests.e2e.page.live_page import LivePage, served
from tests.e2e.page.watched import Watched, watching
from tests.shard_system.waiting import until

OWNER = "maria@example.com"
REASON = "we count the racks"


@pytest.fixture(autouse=True)
def nothing_is_paused(own: LivePage) -> Iterator[None]:
    """However a test ends, the next one finds the fleet without its pauses."""
    yield
    for pause in own.get("/pauses")["pauses"]:
        audit = {"owner": OWNER, "reason": "its test is over"}
        own.post("/resume", {"pauseId": pause["pauseId"], **audit})


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    """A fleet of its own: what is tried here would disturb others."""
    require_browser()
    with served(tmp_path_factory.mktemp("up"), "--seed", "3", "--speed", "2") as page:
        yield page


async def sign(dialog: Locator, reason: str = REASON) -> None:
    await dialog.get_by_role("textbox", name="Your name").fill(OWNER)
    await dialog.get_by_role("textbox", name="Reason").fill(reason)


async def looked_at(page: Watched) -> None:
    assert await page.axe() == []
    assert await page.overflow() <= 0
    page.expect_quiet()


@pytest.mark.parametrize("width", [1280, 360])
async def test_a_cluster_is_paused_and_goes_on(own: LivePage, browser: Browser, width: int) -> None:
    # Of its own: a shard may hold the one before for a moment longer.
    reason = f"{REASON} at {width}"
    async with watching(browser, own.address, width=width) as page:
        tab = page.tab
        await page.open("/clusters/batch")
        await tab.get_by_role("button", name="Pause this cluster").click()
        dialog = tab.get_by_role("dialog", name="Pause cluster batch")
        await expect(dialog.get_by_label("Your name")).to_be_focused()
        await dialog.get_by_role("button", name="Pause for 1 h").click()
        assert own.get("/pauses")["pauses"] == [], "without a name nothing is sent"
        await sign(dialog, reason)
        await expect(dialog).to_contain_text("bigfleet pause")
        await looked_at(page)
        await dialog.get_by_role("button", name="Pause for 1 h").click()
        await expect(dialog).to_have_count(0)
        strip = tab.locator(".clusters-rail", has_text=reason)
        await expect(strip).to_contain_text(OWNER)
        await expect(strip).to_contain_text("cluster batch")
        await expect(strip).to_contain_text("ends in")
        [pause] = own.get("/pauses")["pauses"]
        assert pause["audit"] == {"owner": OWNER, "reason": reason}
        await looked_at(page)
        await strip.get_by_role("button", name="Resume", exact=True).click()
        dialog = tab.get_by_role("dialog", name="Lift the pause")
        await sign(dialog, reason)
        await dialog.get_by_role("button", name="Resume", exact=True).click()
        await expect(strip).to_have_count(0)
        # A shard lifts it with its next report.
        await until(lambda: not own.get("/pauses")["pauses"], lambda: own.get("/pauses"))
        page.expect_quiet()


async def test_a_page_that_only_reads_offers_commands_instead(
    own: LivePage, browser: Browser
) -> None:
    def reading(path: str, body: Any) -> Any:
        return {**body, "writes": False}

    async with watching(browser, own.address) as page:
        answers = Answers(page.tab)
        await answers.streamed(("hello", {"status": reading("", own.get("/status"))}))
        await page.open("/clusters/batch")
        await expect(page.tab.get_by_text("This page only reads.")).to_be_visible()
        await expect(page.tab.get_by_role("button", name="Pause this")).to_have_count(0)
        await expect(page.tab.get_by_text("bigfleet pause")).to_be_visible()


async def test_a_write_that_is_refused_says_why_and_loses_nothing(
    own: LivePage, browser: Browser
) -> None:
    async with watching(browser, own.address) as page:
        tab = page.tab
        await Answers(tab).refused("/pause", 403, "only an administrator may", "ask one of them")
        await page.open("/clusters/batch")
        await tab.get_by_role("button", name="Pause this cluster").click()
        dialog = tab.get_by_role("dialog")
        await sign(dialog)
        await dialog.get_by_role("button", name="Pause for 1 h").click()
        alert = dialog.get_by_role("alert")
        await expect(alert).to_contain_text("only an administrator may. ask one of them")
        await expect(dialog.get_by_role("textbox", name="Reason")).to_have_value(REASON)
        page.expect_no_more_than_failures()


async def test_a_failed_machine_is_cleared_and_the_answer_is_told(
    own: LivePage, browser: Browser
) -> None:
    def failed(path: str, body: Any) -> Any:
        return {**body, "machine": {**body["machine"], "state": "MACHINE_STATE_FAILED"}}

    async with watching(browser, own.address) as page:
        tab = page.tab
        await Answers(tab).changed(failed, "/machines/bm-0001")
        await page.open("/machines/bm-0001")
        await tab.get_by_role("button", name="Clear this failure").click()
        dialog = tab.get_by_role("dialog", name="Clear bm-0001")
        await dialog.get_by_role("button", name="Retry", exact=True).click()
        await expect(dialog).to_contain_text("bigfleet machines clear bm-0001 --mode retry")
        await sign(dialog)
        await dialog.get_by_role("button", name="Retry this machine").click()
        # It has not really failed, and the shard knows.
        await expect(dialog.get_by_role("alert")).to_contain_text("Failed")
        page.expect_no_more_than_failures()


async def begin(tab: Page, fault: str, **arguments: str) -> None:
    row = tab.locator(".scenario-fault", has=tab.locator("summary b", has_text=fault))
    await row.locator("summary").click()
    for label, value in arguments.items():
        field = row.get_by_label(label.replace("_", " "))
        if await field.evaluate("(field) => field.tagName") == "SELECT":
            await field.select_option(value)
        else:
            await field.fill(value)
    await row.get_by_role("button", name=fault).click()


async def test_a_fault_is_tried_and_ended_early(own: LivePage, browser: Browser) -> None:
    async with watching(browser, own.address) as page:
        tab = page.tab
        await page.open("/scenario")
        await begin(tab, "Provider outage", for_seconds="600")
        runs = tab.locator(".scenario-rows li", has=tab.get_by_role("button", name="End now"))
        await expect(runs).to_contain_text("is undone in")
        await tab.get_by_role("navigation").get_by_role("link", name="Topology").click()
        shards = tab.get_by_role("region", name="Shards", exact=True)
        await expect(shards.locator(".topology-providers")).to_contain_text(
            re.compile("not called|last call failed")
        )
        await tab.go_back()
        await runs.get_by_role("button", name="End now").click()
        await expect(runs).to_have_count(0)
        page.expect_quiet()


async def test_an_offering_that_rests_is_reset(own: LivePage, browser: Browser) -> None:
    async with watching(browser, own.address) as page:
        tab = page.tab
        await page.open("/scenario")
        # From here on there is nothing to buy.
        await begin(
            tab,
            "Flaky provider",
            which_call="Create",
            how_it_fails="RESOURCE_EXHAUSTED",
            how_many_of_them="1",
            for_seconds="600",
        )
        own.post("/demand", {"cluster": "shop", "class": "web", "factor": 3.0})
        try:
            await page.open("/topology")
            offerings = tab.get_by_role("region", name="Offerings in back-off", exact=True)
            row = offerings.get_by_role("listitem").first
            await expect(row).to_contain_text("saved")
            name = await row.locator(".name").first.inner_text()
            await looked_at(page)
            row = offerings.get_by_role("listitem").filter(has_text=name)
            await row.get_by_role("button", name=f"Reset {name}").click()
            dialog = tab.get_by_role("dialog", name=f"Let {name} be bought again")
            await sign(dialog)
            await expect(dialog).to_contain_text("bigfleet reports offerings --reset")
            await looked_at(page)
            await dialog.get_by_role("button", name="Reset", exact=True).click()
            await expect(dialog).to_have_count(0)
        finally:
            own.post("/demand", {"cluster": "shop", "class": "web", "factor": 1.0})
        page.expect_quiet()
