"""Loading, empty, not wired, partial, error and rebuilding: every page shows each, light and dark,
without breaking a rule of accessibility; an error stays where it is, and trying again helps."""

from dataclasses import dataclass

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.page.answers import Answers, Change, emptied, rebuilding, warned
from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import Watched, watching


@dataclass(frozen=True, slots=True)
class View:
    path: str
    #: What is on the page only when its data is.
    content: str
    #: What it says when there is nothing.
    nothing: str


VIEWS = (
    View("/", ".tiles .tile-value", "Nothing decided yet"),
    View("/map", ".map-box canvas", "No machines"),
    View("/needs", "main tbody tr.opens", "No cluster asks for anything"),
    View("/decisions", ".decisions-row", "Nothing decided yet"),
    View("/machines", "main tbody tr.opens", "No machines"),
    View("/clusters", "main tbody tr.opens", "No cluster is known"),
    View("/costs", ".costs-table tbody tr", "No machine exists yet"),
    View("/topology", ".topology-shards li", "No shard answers"),
    View("/scenario", ".scenario-beats li", "There is no tour here"),
)
EACH = pytest.mark.parametrize("view", VIEWS, ids=[view.path for view in VIEWS])

#: As the server says it when a page has no coordinator, or knows no shard yet.
NOT_WIRED = (503, "no shard is known yet", "start one with --coordinator-addr")
FAULT = (500, "this is a fault of the page itself: KeyError", "see the log of the process")
SILENT = "shard-1 gave no answer"

#: When the first skeleton came and when its first bar, in milliseconds.
_OBSERVE_SKELETONS = """
new MutationObserver(() => {
  const now = performance.now();
  if (window.__bone === undefined && document.querySelector(".bone")) window.__bone = now;
  if (window.__skeleton === undefined && document.querySelector(".skeleton"))
    window.__skeleton = now;
}).observe(document, {childList: true, subtree: true});
"""


async def expect_sound(page: Watched) -> None:
    """Light, then dark."""
    assert await page.overflow() <= 0
    assert await page.axe() == []
    await page.tab.emulate_media(color_scheme="dark", reduced_motion="reduce")
    await page.tab.locator("html[data-theme=dark]").wait_for()
    assert await page.axe() == []
    page.expect_no_more_than_failures()


async def answered(page: Watched, path: str, change: Change) -> None:
    answers = Answers(page.tab)
    await answers.without_stream()
    await answers.changed(change)
    await page.open(path)


@EACH
async def test_a_page_that_waits_shows_bars_after_a_moment(
    live: LivePage, browser: Browser, view: View
) -> None:
    async with watching(browser, live.address) as page:
        await page.tab.add_init_script(_OBSERVE_SKELETONS)
        answers = Answers(page.tab)
        await answers.without_stream()
        may_come = await answers.held()
        await page.tab.goto(live.address + view.path)
        await expect(page.tab.locator("main .bone").first).to_be_visible()
        assert await page.tab.evaluate("window.__bone - window.__skeleton") > 140
        assert await page.tab.locator(view.content).count() == 0
        await expect_sound(page)
        may_come.set()
        await expect(page.tab.locator(view.content).first).to_be_visible()


@EACH
async def test_an_empty_page_says_what_would_make_data_appear(
    live: LivePage, browser: Browser, view: View
) -> None:
    async with watching(browser, live.address) as page:
        await answered(page, view.path, emptied)
        notice = page.tab.locator("main .notice", has_text=view.nothing)
        await expect(notice.locator(".notice-body").first).not_to_be_empty()
        await expect_sound(page)


@EACH
async def test_a_page_without_its_source_names_the_flag(
    live: LivePage, browser: Browser, view: View
) -> None:
    async with watching(browser, live.address) as page:
        answers = Answers(page.tab)
        await answers.without_stream()
        await answers.refused("", *NOT_WIRED)
        await page.open(view.path)
        notice = page.tab.locator("main .notice", has_text="Not available here").first
        await expect(notice).to_contain_text("--coordinator-addr")
        await expect_sound(page)


@EACH
async def test_a_partial_answer_says_what_is_missing_and_shows_the_rest(
    live: LivePage, browser: Browser, view: View
) -> None:
    async with watching(browser, live.address) as page:
        await answered(page, view.path, warned(SILENT))
        await expect(page.tab.locator("main .partial").first).to_contain_text(SILENT)
        await expect(page.tab.locator(view.content).first).to_be_visible()
        await expect_sound(page)


@EACH
async def test_an_error_tells_its_cause_and_can_be_tried_again(
    live: LivePage, browser: Browser, view: View
) -> None:
    async with watching(browser, live.address) as page:
        answers = Answers(page.tab)
        await answers.without_stream()
        await answers.refused("", *FAULT)
        await page.open(view.path)
        notice = page.tab.locator("main .notice.danger").first
        await expect(notice).to_contain_text(FAULT[1])
        await expect(notice).to_contain_text(FAULT[2])
        await expect(notice.get_by_role("button", name="Copy detail")).to_be_visible()
        await expect_sound(page)
        again = await notice.get_by_role("button", name="Try again").element_handle()
        await answers.as_they_are()
        # Sent to it wherever it is: a page that asks again by itself may have taken it away.
        await again.dispatch_event("click")
        await expect(page.tab.locator(view.content).first).to_be_visible()


@EACH
async def test_a_server_that_is_gone_is_said_to_be_gone(
    live: LivePage, browser: Browser, view: View
) -> None:
    async with watching(browser, live.address) as page:
        answers = Answers(page.tab)
        await answers.without_stream()
        await answers.unreachable()
        await page.open(view.path)
        notice = page.tab.locator("main .notice.danger").first
        await expect(notice).to_contain_text("The server cannot be reached")
        again = notice.get_by_role("button", name="Try again")
        await expect(again).to_be_visible()
        await answers.as_they_are()
        # At once, if it is still there: some pages have tried by themselves meanwhile.
        await again.evaluate_all("found => found.forEach((each) => each.click())")
        await expect(page.tab.locator(view.content).first).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/needs"])
async def test_a_shard_that_has_just_started_is_not_one_without_demand(
    live: LivePage, browser: Browser, path: str
) -> None:
    async with watching(browser, live.address) as page:
        await answered(page, path, rebuilding)
        await expect(page.tab.get_by_text("Rebuilding after a restart")).to_be_visible()
        await expect(page.tab.get_by_text("No cluster asks for anything")).to_have_count(0)
        await expect_sound(page)


#: One question of a page, and what must still be there when it fails.
CARDS = (
    ("/", "/fleet/overview", ".feed li"),
    ("/", "/fleet/history", ".tiles .tile-value"),
    ("/", "/fleet/actions", ".feed li"),
    ("/", "/decisions", ".tiles .tile-value"),
    ("/costs", "/finops/snapshot", ".costs-table tbody tr"),
    ("/costs", "/costs", ".chart"),
    ("/costs", "/regret", ".chart"),
    ("/clusters", "/quarantines", "main tbody tr.opens"),
    ("/clusters/shop", "/needs", ".clusters-list"),
    ("/clusters/shop", "/decisions", ".clusters-list"),
    ("/topology", "/quarantines", ".topology-shards li"),
    ("/topology", "/shards", ".topology-facts"),
    ("/shards/shard-0", "/shards/shard-0/trends", ".topology-facts"),
)


@pytest.mark.parametrize(("path", "failing", "content"), CARDS)
async def test_an_error_in_one_card_leaves_the_others(
    live: LivePage, browser: Browser, path: str, failing: str, content: str
) -> None:
    async with watching(browser, live.address) as page:
        answers = Answers(page.tab)
        await answers.without_stream()
        await answers.refused(failing, *FAULT)
        await page.open(path)
        await expect(page.tab.locator(content).first).to_be_visible()
        told = page.tab.locator("main :is(.notice.danger, .partial)", has_text=FAULT[1])
        await expect(told.first).to_be_visible()
        page.expect_no_more_than_failures()


async def test_an_answer_nobody_expected_spoils_one_card(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        answers = Answers(page.tab)
        await answers.without_stream()
        await answers.fixed("/decisions", {})
        await page.open("/")
        failed = page.tab.get_by_text("Last decisions failed to draw")
        await expect(failed).to_be_visible()
        await expect(page.tab.locator(".tiles .tile-value").first).to_be_visible()
        await answers.as_they_are()
        await page.tab.reload()
        await expect(page.tab.locator(".feed li").first).to_be_visible()
