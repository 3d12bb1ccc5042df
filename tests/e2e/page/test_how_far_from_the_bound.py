"""The regret: a number on Overview, on Costs where it comes from, or how to have it measured."""

from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from bigfleet.model.regret import HOW_TO_ENABLE
from tests.e2e.page.answers import Answers
from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching

CARD = "Regret: what the fleet costs against a lower bound"
FRAGMENTED = {
    "shardId": "shard-0",
    "status": "REGRET_STATUS_OPTIMAL",
    "reason": "",
    "cycle": 7,
    "pinnedMachines": 2,
    "greedyPerHour": 2.0,
    "boundPerHour": 0.4,
    "gapPerHour": 1.6,
    "ratio": 0.8,
    "uncovered": [
        {"priorityClass": "batch", "greedy": {"resources": {"cpu": "32"}}, "boundKnown": True}
    ],
    "byType": [
        {"instanceType": "big", "greedyPerHour": 2.0, "boundPerHour": 0.0, "gapPerHour": 2.0},
        {"instanceType": "small", "greedyPerHour": 0.0, "boundPerHour": 0.4, "gapPerHour": -0.4},
    ],
}
SKIPPED = {"status": "REGRET_STATUS_SKIPPED", "reason": HOW_TO_ENABLE, "byType": []}


async def tell(tab: Page, *rows: Mapping[str, Any]) -> None:
    await Answers(tab).changed(lambda _, answer: {**answer, "regrets": list(rows)}, "/regret")


async def test_how_far_from_optimal_is_one_click_from_the_overview(
    browser: Browser, live: LivePage
) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/")
        # A shard measures a quarter of a minute after its start for the first time.
        await page.tab.get_by_role("link", name="above the bound").click(timeout=120_000)
        card = page.tab.get_by_role("region", name=CARD, exact=True)
        await expect(card.get_by_role("row", name="shard-0")).to_contain_text("$")
        await expect(card.get_by_role("img", name="Effective cost and its")).to_be_visible()
        page.expect_quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_the_card_names_the_types_that_make_the_gap_and_what_could_be_covered(
    browser: Browser, live: LivePage, width: int, scheme: str
) -> None:
    async with watching(browser, live.address, width=width, scheme=scheme) as page:
        await tell(page.tab, FRAGMENTED, {**SKIPPED, "shardId": "shard-1"})
        await page.open("/costs")
        card = page.tab.get_by_role("region", name=CARD, exact=True)
        await expect(card.get_by_role("row", name="shard-0")).to_contain_text(
            "batch: cpu 32; could be nothing"
        )
        await expect(card.get_by_role("row", name="big $2.00")).to_contain_text("$0.00/h")
        await expect(card.get_by_role("row", name="shard-1")).to_contain_text(HOW_TO_ENABLE)
        await expect(card).to_contain_text("2 machines may be interrupted and must not be")
        page.expect_quiet()
        assert await page.overflow() <= 0
        assert await page.axe() == []


async def test_without_the_solver_costs_says_how_to_enable_it(
    browser: Browser, live: LivePage
) -> None:
    async with watching(browser, live.address) as page:
        await tell(page.tab, {**SKIPPED, "shardId": "shard-0"})
        await page.open("/costs")
        card = page.tab.get_by_role("region", name=CARD, exact=True)
        await expect(card).to_contain_text("pip install 'bigfleet[regret]'")
        page.expect_quiet()
