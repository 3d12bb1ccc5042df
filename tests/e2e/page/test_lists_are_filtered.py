"""Filters, order and columns of lists: they hold, they stand in the address, and back undoes."""

import json
import re
from pathlib import Path

from playwright.async_api import Browser, expect

from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching


async def test_decisions_are_of_the_kind_and_cluster_that_are_asked_for(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/decisions")
        await tab.get_by_role("button", name="Bootstrap", exact=True).click()
        await tab.get_by_label("Cluster").select_option("shop")
        await expect(tab).to_have_url(re.compile(r"cluster=shop.*kind=Bootstrap|kind=.*cluster="))
        kinds = tab.locator(".decisions-row .decisions-kind")
        await expect(kinds.first).to_be_visible()
        await expect(kinds.filter(has_not_text="Bootstrap")).to_have_count(0)
        sentences = tab.locator(".decisions-row .decisions-sentence")
        await expect(sentences.filter(has_not_text="shop")).to_have_count(0)
        await tab.get_by_role("button", name="Clear filters").click()
        await expect(tab).to_have_url(f"{live.address}/decisions")
        page.expect_quiet()


async def test_decisions_stand_still_while_following_is_paused_and_are_saved(
    live: LivePage, browser: Browser, tmp_path: Path
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/decisions")
        first = tab.locator(".decisions-sentence").first
        await expect(first).to_be_visible()
        await tab.get_by_role("button", name="Pause following").click()
        still = await first.inner_text()
        newest = live.get("/status")["shards"][0]["cycle"]
        async with tab.expect_download() as coming:
            await tab.get_by_role("button", name="JSON", exact=True).click()
        await (await coming.value).save_as(tmp_path / "rows.json")
        saved = json.loads((tmp_path / "rows.json").read_text())
        assert all(row["cycle"] <= newest for row in saved["decisions"])
        await expect(tab.locator(".decisions-new")).to_be_visible()
        assert await first.inner_text() == still
        await tab.locator(".decisions-new").click()
        await expect(tab.locator(".decisions-new")).to_have_count(0)
        page.expect_quiet()


async def test_machines_are_those_of_the_terms_and_a_wrong_term_says_what_to_write(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/machines")
        field = tab.get_by_role("textbox", name="Filter")
        await field.fill("zone=a capacity=reserved")
        await field.press("Enter")
        await expect(tab).to_have_url(re.compile(r"filter=zone"))
        rows = tab.locator("main tbody tr.opens")
        await expect(rows.first).to_contain_text("Reserved")
        assert all("Reserved" in row for row in await rows.all_inner_texts())
        await field.fill("colour=red")
        await field.press("Enter")
        alert = tab.get_by_role("alert")
        await expect(alert).to_contain_text("colour")
        await tab.go_back()
        await expect(field).to_have_value("zone=a capacity=reserved")
        await expect(alert).to_have_count(0)
        # The browser itself notes the refusal.
        page.expect_no_more_than_failures()


async def test_columns_are_chosen_and_rows_ordered_by_the_server(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/machines")
        await expect(tab.locator("main tbody tr.opens").first).to_be_visible()
        await tab.get_by_role("button", name="Columns").click()
        await tab.get_by_role("group", name="Columns").get_by_label("Rack").check()
        await tab.keyboard.press("Escape")
        await expect(tab.get_by_role("columnheader", name="Rack")).to_be_visible()
        await tab.get_by_role("columnheader", name="Price").get_by_role("button").click()
        await expect(tab).to_have_url(re.compile("sort="))
        page.expect_quiet()


async def test_all_machines_can_be_scrolled_to(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/machines")
        total = live.get("/machines?limit=1")["total"]
        loaded = tab.get_by_role("heading", name=f"of {total:,} machines")
        await expect(loaded).to_have_text(f"200 of {total:,} machines")
        box = tab.locator(".table-box")
        while (
            await tab.get_by_role("heading", name=f"{total:,} of {total:,} machines").count() == 0
        ):
            await box.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
            await tab.wait_for_timeout(50)
        page.expect_quiet()


async def test_needs_are_of_the_state_and_the_first_reason_that_are_chosen(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/needs")
        shown = tab.get_by_role("status").filter(has_text="shown")
        await expect(shown).to_contain_text(re.compile(r"^\d+ of \d+ needs? shown"))
        reasons = tab.get_by_role("group", name="First reasons").get_by_role("button")
        code = (await reasons.first.locator("bdi").inner_text()).strip()
        await reasons.filter(has_text=code).first.click()
        await expect(tab).to_have_url(re.compile(f"reason={re.escape(code)}"))
        await expect(shown).to_contain_text("with these filters")
        said = tab.locator("main tr.needs-row .needs-two:first-child .needs-sub")
        await expect(said.first).to_have_text(code)
        await tab.get_by_label("Order").get_by_role("button", name="In order").click()
        await expect(tab.locator("main .needs-shape")).to_have_count(0)
        await tab.keyboard.press("x")
        await expect(tab).to_have_url(f"{live.address}/needs?view=order")
        page.expect_quiet()
