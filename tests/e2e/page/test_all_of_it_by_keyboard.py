"""Nothing needs a pointer: navigation, search, tables, the drawer, the map, what-ifs."""

from playwright.async_api import Browser, Page, expect

from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching

#: More stops than this between two controls, and a person gives up.
_MOST_STOPS = 80


async def tab_to(tab: Page, selector: str) -> None:
    for _ in range(_MOST_STOPS):
        await tab.keyboard.press("Tab")
        if await tab.evaluate("(s) => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"Tab does not reach {selector}")


async def go(tab: Page, key: str, heading: str) -> None:
    await tab.keyboard.press("g")
    await tab.keyboard.press(key)
    await expect(tab.locator("main h1")).to_have_text(heading)


async def test_the_first_stop_skips_to_the_content(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        await page.open("/machines")
        await tab_to(page.tab, ".skip")
        await page.tab.keyboard.press("Enter")
        await expect(page.tab.locator("main")).to_be_focused()


async def test_search_finds_a_machine_and_opens_it(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/")
        await tab.keyboard.press("/")
        await expect(tab.locator("input:focus")).to_be_visible()
        await tab.keyboard.type("bm-0031")
        await expect(tab.get_by_role("option", selected=True)).to_contain_text("bm-0031")
        await tab.keyboard.press("Enter")
        await expect(tab.locator("main h1")).to_have_text("bm-0031")
        page.expect_quiet()


async def test_keys_walk_through_a_table_and_open_a_row(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/")
        await go(tab, "a", "Machines")
        await expect(tab.locator("main tbody tr.opens").first).to_be_visible()
        await tab_to(tab, "tr.opens")
        row = tab.locator("tr.opens:focus")
        first = await row.locator("a").first.inner_text()
        await tab.keyboard.press("ArrowDown")
        await expect(row.locator("a").first).not_to_have_text(first)
        wanted = await row.locator("a").first.inner_text()
        await tab.keyboard.press("Enter")
        await expect(tab.locator("main h1")).to_have_text(wanted)
        page.expect_quiet()


async def test_the_drawer_keeps_the_focus_and_gives_it_back(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/needs")
        await expect(tab.locator("tr.opens").first).to_be_visible()
        await tab_to(tab, "tr.opens")
        row = tab.locator("tr.opens:focus .needs-name")
        # Others may come above it and go meanwhile.
        opened = await row.inner_text()
        await tab.keyboard.press("Enter")
        await expect(tab.get_by_role("dialog")).to_be_visible()
        await expect(tab.locator("dialog :focus")).to_have_count(1)
        for _ in range(30):
            await tab.keyboard.press("Tab")
            # The browser's own controls are a stop too: then nothing of the page has it.
            assert await tab.evaluate("document.activeElement.matches('body, dialog, dialog *')")
        await tab.keyboard.press("Escape")
        await expect(tab.get_by_role("dialog")).to_have_count(0)
        await expect(row).to_have_text(opened, use_inner_text=True)
        page.expect_quiet()


async def test_arrow_keys_walk_over_the_map(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/")
        await go(tab, "m", "Fleet map")
        await expect(tab.locator(".map-box canvas")).to_be_visible()
        await tab_to(tab, "[role=application]")
        await tab.keyboard.press("ArrowRight")
        await tab.keyboard.press("ArrowDown")
        machine = await tab.locator(".machine-card .name").first.inner_text()
        await expect(tab.locator(".sr-only[role=status]")).to_contain_text(machine)
        await tab.keyboard.press("Space")
        await expect(tab.locator(".selection")).to_be_visible()
        await tab.keyboard.press("Escape")
        await expect(tab.locator(".selection")).to_have_count(0)
        await tab.keyboard.press("Enter")
        await expect(tab.locator("main h1")).to_have_text(machine)
        page.expect_quiet()


async def test_a_what_if_is_asked(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/")
        await go(tab, "w", "What if")
        await expect(tab.locator(".whatif-examples button").first).to_be_visible()
        await tab_to(tab, ".whatif-examples button")
        await tab.keyboard.press("Enter")
        await expect(tab.get_by_role("heading", name="Both sides")).to_be_visible()
        page.expect_quiet()


async def test_demand_is_set_with_arrow_keys(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/")
        await go(tab, "s", "Scenario")
        await expect(tab.locator(".scenario-slider").first).to_be_visible()
        await tab_to(tab, ".scenario-slider input")
        slider = tab.locator(".scenario-slider:focus-within output")
        before = await slider.inner_text()
        await tab.keyboard.press("ArrowRight")
        await expect(slider).not_to_have_text(before)
        await tab.keyboard.press("ArrowLeft")
        await expect(slider).to_have_text(before)
        page.expect_quiet()


async def test_the_question_mark_lists_the_keys_of_the_page(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address) as page:
        tab = page.tab
        await page.open("/needs")
        await tab.keyboard.press("?")
        dialog = tab.get_by_role("dialog", name="Keys")
        for words in ("Search", "Fleet map", "Only what is not met", "Move between rows"):
            await expect(dialog).to_contain_text(words)
        await tab.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        await tab.keyboard.press("u")
        await expect(tab.get_by_role("button", name="short")).to_have_attribute(
            "aria-pressed", "true"
        )
