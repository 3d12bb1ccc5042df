"""The map under a pointer: a card of the machine, its page, a selection and what if it vanished."""

import re

from playwright.async_api import Browser, FloatRect, Page, expect

from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching


async def surface(tab: Page) -> FloatRect:
    canvas = tab.locator(".map-box canvas")
    await expect(canvas).to_be_visible()
    await canvas.scroll_into_view_if_needed()
    box = await canvas.bounding_box()
    assert box is not None
    return box


async def drag_over(tab: Page, box: FloatRect) -> None:
    """From the lower right corner to the upper left, where a heading is a button."""
    await tab.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] - 2)
    await tab.mouse.down()
    await tab.mouse.move(box["x"] + 1, box["y"] + 1, steps=4)
    await tab.mouse.up()


async def point_at_a_machine(tab: Page) -> str:
    """Squares have gaps and headings between them: until one is met."""
    box = await surface(tab)
    name = tab.locator(".machine-card .name")
    for step in range(200):
        await tab.mouse.move(box["x"] + 20 + step, box["y"] + box["height"] / 2 + step / 7)
        if await name.count() > 0:
            return await name.inner_text()
    raise AssertionError("no machine lies in the middle of the map")


async def test_a_machine_under_the_pointer_has_a_card_and_a_click_opens_its_page(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/map")
        machine = await point_at_a_machine(tab)
        card = tab.locator(".machine-card")
        for fact in ("Type", "Capacity", "zone", "$"):
            await expect(card).to_contain_text(fact)
        await tab.mouse.down()
        await tab.mouse.up()
        await expect(tab.locator("main h1")).to_have_text(machine)
        page.expect_quiet()


async def test_what_if_the_machines_that_were_selected_vanish(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/map")
        await drag_over(tab, await surface(tab))
        selection = tab.get_by_role("region", name="Selection")
        total = len(live.get("/machines?limit=2000")["machines"])
        await expect(selection).to_contain_text(f"{total:,} machines")
        await expect(selection).to_contain_text("/h")
        assert await page.axe() == []
        assert await page.overflow() <= 0
        await selection.get_by_role("link", name="What if these vanish").click()
        # All of them: told by their zones, not by 1,200 names.
        await expect(tab).to_have_url(re.compile(r"machines-remove\+zone"))
        await expect(tab.get_by_role("heading", name="Both sides")).to_be_visible()
        page.expect_quiet()


async def test_entries_of_the_legend_filter_and_stand_in_the_address(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/map")
        legend = tab.get_by_role("group", name="Legend")
        idle = legend.get_by_role("button", name="Speculative")
        await idle.click()
        await expect(idle).to_have_attribute("aria-pressed", "true")
        await expect(tab).to_have_url(re.compile("only=Speculative"))
        await page.open(tab.url.removeprefix(page.origin))
        await expect(idle).to_have_attribute("aria-pressed", "true")
        await tab.get_by_label("Colour by").select_option("capacity")
        await expect(legend.get_by_role("button", name="BareMetal")).to_be_visible()
        await expect(tab).to_have_url(re.compile("colour=capacity"))
        page.expect_quiet()
