"""Costs over time by an axis, as tables too; and how providers answer."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_costs_are_stacked_by_the_axis_that_is_chosen(
    browser: Browser, live: LivePage, width: int, scheme: str
) -> None:
    async with watching(browser, live.address, width=width, scheme=scheme) as page:
        await page.open("/costs?by=capacity&range=15m")
        course = page.tab.get_by_role(
            "region", name="Dollars per hour over time, by capacity type", exact=True
        )
        await course.get_by_role("img").wait_for()
        await course.get_by_role("button", name="6 h").click()
        await page.tab.wait_for_url("**/costs?by=capacity&range=6h")
        await page.tab.get_by_role("button", name="Zone", exact=True).click()
        await page.tab.wait_for_url("**/costs?by=zone&range=6h")
        await page.ready()
        page.expect_quiet()
        assert page.refusals == []
        assert await page.overflow() <= 0
        assert await page.axe() == []


@pytest.mark.parametrize("width", [1280, 360])
async def test_statements_of_taken_machines_are_shown_by_cluster_and_by_team(
    browser: Browser, live: LivePage, width: int
) -> None:
    async with watching(browser, live.address, width=width) as page:
        await page.open("/costs")
        title = "Statements: what taken machines were declared to cost"
        card = page.tab.get_by_role("region", name=title, exact=True)
        await card.get_by_role("button", name="By team").click()
        await page.tab.wait_for_url("**/costs?statements=team")
        await page.ready()
        await expect(card.get_by_text("never billed")).to_be_visible()
        page.expect_quiet()
        assert page.refusals == []
        assert await page.overflow() <= 0
        assert await page.axe() == []


@pytest.mark.parametrize("width", [1280, 360])
async def test_a_cluster_shows_what_it_caused_and_bore(
    browser: Browser, live: LivePage, width: int
) -> None:
    async with watching(browser, live.address, width=width) as page:
        await page.open("/clusters/shop")
        for name in ("Caused", "Borne"):
            tile = page.tab.get_by_role("group", name=name, exact=True)
            await tile.get_by_text("$").first.wait_for()
            await expect(tile).not_to_contain_text("unknown")
        page.expect_quiet()
        assert await page.overflow() <= 0
        assert await page.axe() == []


async def test_statements_and_their_months_are_downloaded(
    browser: Browser, live: LivePage, tmp_path: Path
) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/costs?statements=team")
        for name, head in (
            ("Months as CSV", "month,team,causedDollars,"),
            ("Statements as CSV", "statement,completed,kind,"),
        ):
            async with page.tab.expect_download() as coming:
                await page.tab.get_by_role("link", name=name).click()
            await (await coming.value).save_as(tmp_path / "table.csv")
            assert (tmp_path / "table.csv").read_text().startswith(head)


async def test_both_tables_are_downloaded(browser: Browser, live: LivePage, tmp_path: Path) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/costs?by=zone")
        for name, head in (
            ("Dollars per hour by zone as CSV", "zone,machines,"),
            ("Dollars per hour over time, by zone as CSV", "time,dollarsPerHour,"),
            ("Dollars of past hours as CSV", "zone,machineHours,"),
            ("Every hour in the columns of FOCUS 1.0", "AvailabilityZone,BilledCost,"),
        ):
            async with page.tab.expect_download() as coming:
                await page.tab.get_by_role("link", name=name).click()
            target = tmp_path / (await coming.value).suggested_filename
            await (await coming.value).save_as(target)
            assert target.read_text().startswith(head)


@pytest.mark.parametrize("axis", ["Team", "Need"])
async def test_the_table_tells_every_part_of_the_bill(
    browser: Browser, live: LivePage, axis: str
) -> None:
    async with watching(browser, live.address) as page:
        await page.open(f"/costs?by={axis.lower()}")
        table = page.tab.get_by_role("region", name=f"Costs by {axis.lower()}", exact=True)
        heads = await table.get_by_role("columnheader").all_inner_texts()
        assert {"Billed", "Of it idle", "Stranded", "Waste", "Imputed", "Interruptions"} <= {*heads}
        flags = page.tab.get_by_role("region", name="Red flags", exact=True)
        await flags.get_by_role("listitem").or_(flags.get_by_text("None:")).first.wait_for()
        assert await page.axe() == []


async def test_past_hours_say_what_was_not_observed(browser: Browser, live: LivePage) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/costs?span=7d")
        hours = page.tab.get_by_role("region", name="Dollars of past hours, by cluster", exact=True)
        await hours.get_by_text("not observed; nothing is added for them").wait_for(timeout=60_000)
        await hours.get_by_role("button", name="30 d").click()
        await page.tab.wait_for_url("**/costs?span=30d")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_one_pool_is_compared_with_isolated_ones_when_asked(
    browser: Browser, live: LivePage, width: int, scheme: str
) -> None:
    async with watching(browser, live.address, width=width, scheme=scheme) as page:
        await page.open("/costs")
        card = page.tab.get_by_role("region", name="One pool, or a pool per cluster", exact=True)
        await card.get_by_role("button", name="No headroom").wait_for()
        assert await card.get_by_role("img").count() == 0
        await card.get_by_role("button", name="10 %").click()
        await page.tab.wait_for_url("**/costs?headroom=0.1")
        await card.get_by_role("button", name="Compare", exact=True).click()
        await card.get_by_role("img").wait_for()
        await card.get_by_text("One pool cost").or_(card.get_by_text("cost the same")).wait_for()
        assumed = card.get_by_role("listitem").filter(has_text="keeps 10% more than its demand")
        await expect(assumed).to_have_count(1)
        await expect(card.get_by_text("No interval: it takes 24 hours")).to_have_count(1)
        page.expect_quiet()
        assert page.refusals == []
        assert await page.overflow() <= 0
        assert await page.axe() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_provider_tells_how_it_answers(
    browser: Browser, live: LivePage, scheme: str
) -> None:
    async with watching(browser, live.address, scheme=scheme) as page:
        await page.open("/topology")
        shards = page.tab.get_by_role("region", name="Shards", exact=True)
        await shards.get_by_text("p95").first.wait_for()
        await shards.get_by_text("failed").first.wait_for()
        page.expect_quiet()
        assert await page.axe() == []
