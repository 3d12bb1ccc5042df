"""The tour of `bigfleet up` from its first beat to its last, played on the page."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.e2e.assets import require_browser
from tests.e2e.page.live_page import served
from tests.e2e.page.watched import watching

BEATS = 12
#: Of one beat; at this speed most take a few seconds.
_BEAT_MS = 240_000
#: A beat that gets too little of a busy machine gives up and says so; then it is repeated.
_TRIES = 3
_OVER = re.compile("reached|failed")
_LATER_BEAT = re.compile(r"\b([2-9]|1[0-2]) of 12")


@pytest.mark.timeout(1800)
async def test_every_beat_of_the_tour_comes_about(tmp_path: Path, browser: Browser) -> None:
    require_browser()
    with served(tmp_path, "--seed", "1", "--speed", "10", tour=True) as fleet:
        async with watching(browser, fleet.address) as page:
            tab = page.tab
            await page.open("/scenario")
            beats = tab.locator(".scenario-beats li")
            await expect(beats).to_have_count(BEATS)
            await tab.get_by_role("button", name="Start", exact=True).click()
            for number in range(BEATS):
                await _expect_reached(beats.nth(number), tab.get_by_role("button", name="Repeat"))
                await tab.get_by_role("button", name="Next", exact=True).click()
            await expect(tab.get_by_text("beat 12 of 12, ended")).to_be_visible()
            assert await page.overflow() <= 0
            page.expect_no_more_than_failures()


async def test_the_tour_is_offered_on_the_map_and_the_overview(
    tmp_path: Path, browser: Browser
) -> None:
    require_browser()
    with served(tmp_path, "--seed", "1", "--speed", "10", tour=True) as fleet:
        async with watching(browser, fleet.address) as page:
            tab = page.tab
            await page.open("/map")
            card = tab.get_by_role("region", name="Tour")
            await expect(card).to_contain_text("One pool")
            # No input: it begins by itself, after the 20 s that it counts down.
            await expect(card).to_contain_text("Plays by itself in")
            # A busy machine may look only when it is a beat further.
            await expect(card).to_contain_text(_LATER_BEAT, timeout=_BEAT_MS)
            assert await page.axe() == []
            await page.open("/")
            await expect(card).to_contain_text("of 12")
            await card.get_by_role("button", name="Next").click()
            await card.get_by_role("button", name="Leave the tour").click()
            await expect(card).to_have_count(0)
            assert fleet.get("/scenario")["tour"]["status"] == "left"
            page.expect_quiet()


async def _expect_reached(beat: Locator, repeat: Locator) -> None:
    pill = beat.locator(".pill")
    for _ in range(_TRIES - 1):
        await expect(pill).to_have_text(_OVER, timeout=_BEAT_MS)
        if await pill.inner_text() == "reached":
            return
        await repeat.click()
        await expect(pill).to_have_text("playing")
    await expect(pill).to_have_text(_OVER, timeout=_BEAT_MS)
    assert await pill.inner_text() == "reached", await beat.inner_text()
