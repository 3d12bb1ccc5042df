"""Names and reasons that look like markup, are very long, or turn the line round: text everywhere.

Ids of a real fleet are printable ASCII without spaces, and the simulated provider makes DNS names
of what it is given: none of these comes in by that door. But a page must not rely on it, so answers
are changed on their way. What does come in is what people write: reasons, addresses, searches.
"""

from urllib.parse import quote

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.page.answers import Answers
from tests.e2e.page.hostile import LONG, MARKUP, QUOTES, hostile
from tests.e2e.page.live_page import LivePage
from tests.e2e.page.watched import Watched, watching

#: With what shows that the page is full, not empty.
PLACES = (
    ("/", ".feed li"),
    ("/map", ".map-box canvas"),
    ("/needs", "main tbody tr.opens"),
    ("/decisions", ".decisions-row"),
    ("/machines", "main tbody tr.opens"),
    ("/clusters", "main tbody tr.opens"),
    ("/clusters/shop", ".clusters-list"),
    ("/machines/bm-0001", ".facts"),
    ("/costs", ".costs-table tbody tr"),
    ("/topology", ".topology-shards li"),
    ("/scenario", ".scenario-beats li"),
)
IMAGE = "<img/src=x/onerror=window.wasRun=1>"


async def expect_text(page: Watched) -> None:
    """Nothing has run, and nothing but text has come of it."""
    assert await page.tab.evaluate("window.wasRun") is None
    assert await page.tab.locator("main :is(img, script, b > svg)").count() == 0
    assert await page.overflow() <= 0
    # The server knows nothing of names that were changed on their way.
    page.expect_no_more_than_failures()


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize(("path", "content"), PLACES, ids=[path for path, _ in PLACES])
async def test_hostile_answers_are_shown_as_text(
    live: LivePage, browser: Browser, path: str, content: str, width: int
) -> None:
    async with watching(browser, live.address, width=width) as page:
        answers = Answers(page.tab)
        await answers.streamed(("hello", {}))
        await answers.changed(hostile)
        await page.open(path)
        await expect(page.tab.locator(content).first).to_be_visible()
        if path != "/map":
            told = await page.tab.locator("main").inner_text()
            assert any(name in told for name in (MARKUP, QUOTES, LONG))
        await expect_text(page)


async def test_hostile_events_are_shown_as_text(live: LivePage, browser: Browser) -> None:
    async with watching(browser, live.address) as page:
        answers = Answers(page.tab)
        row = {"id": "action/1.0", "cycle": 1, "atUnixNanos": 1, "kind": "Bootstrap"}
        finding = {"code": "quarantine", "text": MARKUP, "advice": LONG, "command": MARKUP}
        await answers.streamed(
            ("hello", {}),
            ("decisions", {"rows": [{**row, "machine": MARKUP, "sentence": LONG}]}),
            ("alerts", {"raised": [finding], "cleared": []}),
        )
        await page.open("/")
        await expect(page.tab.locator(".findings")).to_contain_text(MARKUP)
        await expect_text(page)


async def test_a_reason_that_a_person_wrote_is_shown_as_text(
    live: LivePage, browser: Browser
) -> None:
    audit = {"owner": "someone", "reason": MARKUP + LONG}
    scope = {"clusterIds": ["batch"], "kinds": ["Delete"], "ttlSeconds": 600}
    made = live.post("/pause", {**audit, **scope})
    try:
        for path in ("/", "/topology", "/clusters/batch"):
            async with watching(browser, live.address, width=360) as page:
                await page.open(path)
                await expect(page.tab.get_by_text(MARKUP).first).to_be_visible()
                await expect_text(page)
    finally:
        live.post("/resume", {**audit, "pauseId": made["pause"]["pauseId"]})


@pytest.mark.parametrize("folder", ["machines", "clusters", "shards", "needs/shop"])
async def test_an_address_that_names_nothing_is_shown_as_text(
    live: LivePage, browser: Browser, folder: str
) -> None:
    async with watching(browser, live.address, width=360) as page:
        await page.open(f"/{folder}/{quote(IMAGE + LONG, safe='')}")
        await expect(page.tab.locator("body")).to_contain_text("onerror=window.wasRun=1")
        await expect(page.tab.locator(".notice").first).to_be_visible()
        await expect_text(page)


async def test_a_search_for_markup_finds_nothing_and_says_so(
    live: LivePage, browser: Browser
) -> None:
    async with watching(browser, live.address, width=360) as page:
        await page.open("/")
        await page.tab.keyboard.press("/")
        await expect(page.tab.locator("input:focus")).to_be_visible()
        await page.tab.keyboard.type(IMAGE)
        said = page.tab.get_by_text(f"Nothing in the fleet is called {IMAGE}.")
        await expect(said).to_be_visible()
        await expect_text(page)
