"""Every page, light and dark, wide and narrow: nothing on the console, no request to another host,
nothing wider than the window, every rule of axe kept; and nothing that moves after it was shown."""

import pytest
from playwright.async_api import Browser

from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching

#: Every page that the navigation shows, by its path.
PAGES = (
    *("/", "/map", "/needs", "/decisions", "/machines"),
    *("/clusters", "/costs", "/whatif", "/topology", "/scenario"),
)
#: Cards that say what to do first.
WITHOUT_NUMBERS = {"Answer"}
#: Above this a person notices.
MOST_SHIFT = 0.1
#: Until the Needs of the fleet are the same before and after.
TRIES = 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_sound(
    live: LivePage, browser: Browser, path: str, width: int, scheme: str
) -> None:
    async with watching(browser, live.address, width=width, scheme=scheme) as page:
        await page.open(path)
        page.expect_quiet()
        assert page.refusals == []
        assert await page.overflow() <= 0
        assert await page.axe() == []


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("path", PAGES)
async def test_nothing_moves_while_a_fleet_lives(
    live: LivePage, browser: Browser, path: str, width: int
) -> None:
    shifts: list[tuple[float, str]] = []
    for _ in range(TRIES):
        needs = listed_needs(live)
        async with watching(browser, live.address, width=width) as page:
            await page.open(path)
            # A few cycles of a live fleet: what they change must not push anything about.
            await page.tab.wait_for_timeout(3000)
            shifts = await page.shifts()
        if listed_needs(live) == needs:
            break
    assert sum(amount for amount, _ in shifts) < MOST_SHIFT, shifts


def listed_needs(live: LivePage) -> list[str]:
    """Where one comes or goes, as the demand of an earlier test ends, those below it move."""
    return [each["needId"] for each in live.get("/needs?shard=shard-0")["needs"]]


@pytest.mark.parametrize("path", PAGES)
async def test_every_card_names_where_its_numbers_come_from(
    live: LivePage, browser: Browser, path: str
) -> None:
    async with watching(browser, live.address) as page:
        await page.open(path)
        cards = page.tab.locator("main section.card")
        titles = set(await cards.get_by_role("heading", level=2).all_inner_texts())
        named = [f'Where "{title}" comes from' for title in titles - WITHOUT_NUMBERS]
        sources = await cards.locator(".popover > button").evaluate_all(
            "(found) => found.map((each) => each.getAttribute('aria-label'))"
        )
        assert [each for each in named if each not in sources] == []


async def test_the_navigation_leads_to_every_page(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/")
        links = page.tab.get_by_role("navigation").get_by_role("link")
        found = [await link.get_attribute("href") for link in await links.all()]
        assert found == list(PAGES)
