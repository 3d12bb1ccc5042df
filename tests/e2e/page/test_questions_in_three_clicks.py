"""From the Overview a person reaches an answer in three clicks or fewer."""

from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import watching


async def test_why_a_machine_was_taken(live: LivePage) -> None:
    async with watching(live.address) as page:
        await page.open("/")
        await page.tab.get_by_role("navigation").get_by_role("link", name="Machines").click()
        await page.ready()
        await page.tab.locator("main a[href^='/machines/']").first.click()
        await page.tab.get_by_text("bigfleet why machine/").first.wait_for()
        page.expect_quiet()


async def test_why_a_need_is_as_it_is(live: LivePage) -> None:
    async with watching(live.address) as page:
        await page.open("/")
        await page.tab.get_by_role("navigation").get_by_role("link", name="Needs").click()
        await page.ready()
        await page.tab.locator("main tbody tr[tabindex]").first.click()
        await page.tab.get_by_role("dialog").get_by_text("bigfleet why need/").wait_for()
        page.expect_quiet()


async def test_the_back_button_leads_back(live: LivePage) -> None:
    async with watching(live.address) as page:
        await page.open("/")
        await page.tab.get_by_role("navigation").get_by_role("link", name="Fleet map").click()
        await page.ready()
        assert page.tab.url.endswith("/map")
        await page.tab.go_back()
        await page.ready()
        assert page.tab.url == live.address + "/"
