"""Light and dark follow the system until a person chooses; what was chosen stays."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching

_SWATCH = """() => getComputedStyle(document.documentElement).getPropertyValue("--state-failed")"""


async def theme(tab: Page, wanted: str) -> None:
    await expect(tab.locator(f"html[data-theme={wanted}]")).to_have_count(1)


async def choose(tab: Page, words: str) -> None:
    looks = tab.get_by_role("button", name="Looks")
    await looks.click()
    await tab.get_by_role("button", name=words, exact=True).click()
    await tab.keyboard.press("Escape")
    await expect(looks).to_be_focused()


async def test_a_theme_follows_the_system_until_one_is_chosen_and_then_stays(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/")
        await theme(tab, "light")
        await tab.emulate_media(color_scheme="dark")
        await theme(tab, "dark")
        await choose(tab, "Light")
        await theme(tab, "light")
        await page.open("/needs")
        await theme(tab, "light")
        await choose(tab, "System")
        await theme(tab, "dark")
        page.expect_quiet()


@pytest.mark.parametrize("path", ["/", "/map", "/machines"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_colours_for_the_colour_blind_keep_every_rule(
    live: LivePage, browser: Browser, scheme: str, path: str
) -> None:
    async with watching(browser, live.address, scheme=scheme) as page:
        tab = page.tab
        await page.open(path)
        before = await tab.evaluate(_SWATCH)
        await choose(tab, "Colour-blind")
        assert await tab.evaluate(_SWATCH) != before
        await page.open(path)
        assert await tab.evaluate(_SWATCH) != before
        assert await page.axe() == []
        page.expect_quiet()


async def test_patterns_on_the_map_are_chosen_and_stay(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/map")
        await tab.get_by_role("button", name="Looks").click()
        await tab.get_by_label("Patterns on the map").check()
        await page.open("/map")
        await tab.get_by_role("button", name="Looks").click()
        await expect(tab.get_by_label("Patterns on the map")).to_be_checked()
        page.expect_quiet()
