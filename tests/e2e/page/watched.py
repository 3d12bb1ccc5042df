"""A tab of the browser that writes down what no page may do: messages on the console, errors,
requests to other hosts, and content that moves after it was shown.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Error,
    Page,
    Request,
    Response,
    async_playwright,
)

from tests.e2e.assets import require_browser
from tests.e2e.browser import FLAGS

#: What a test waits for has come by then on the busiest machine, or does not come at all.
PATIENCE_MS = 120_000
#: Adds up what the browser says has moved without a person's doing; 0.1 is what Google calls good.
_OBSERVE_SHIFTS = """
window.__shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (!entry.hadRecentInput) {
      const moved = entry.sources.map((s) => s.node && (s.node.outerHTML || s.node.nodeValue));
      window.__shifts.push([entry.value, String(moved).slice(0, 300)]);
    }
  }
}).observe({type: "layout-shift", buffered: true});
"""


# Without slots: Playwright keeps a mark on the owner of a handler.
@dataclass
class Watched:
    tab: Page
    origin: str
    #: `error: text`, of the console and of scripts that failed.
    messages: list[str] = field(default_factory=list)
    foreign_requests: list[str] = field(default_factory=list)
    #: What `alert`, `confirm` or `prompt` said.
    dialogs: list[str] = field(default_factory=list)
    #: Responses of 400 and above, as `status path`.
    refusals: list[str] = field(default_factory=list)

    async def open(self, path: str) -> None:
        await self.tab.goto(self.origin + path)
        await self.ready()

    async def ready(self) -> None:
        """The main part shows something else than that it loads."""
        await self.tab.locator("main").wait_for()
        await self.tab.wait_for_function(
            "() => { const m = document.querySelector('main');"
            " return m && m.innerText.trim() && !m.querySelector('[aria-busy=true]'); }"
        )

    async def shifts(self) -> list[tuple[float, str]]:
        return [tuple(each) for each in await self.tab.evaluate("window.__shifts")]

    async def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        return int(
            await self.tab.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    async def axe(self) -> list[str]:
        """What breaks a rule of accessibility, a line each."""
        found = await Axe().run(self.tab)
        return [
            f"{rule['id']} ({rule['impact']}): {rule['help']}: {node['html'][:200]}"
            for rule in found.response["violations"]
            for node in rule["nodes"]
        ]

    def expect_quiet(self) -> None:
        assert self.messages == []
        self.expect_no_more_than_failures()

    def expect_no_more_than_failures(self) -> None:
        """Of a page whose requests are made to fail: the browser itself notes each of them."""
        assert [each for each in self.messages if "Failed to load resource" not in each] == []
        assert self.foreign_requests == []
        assert self.dialogs == []

    # -- what the browser tells --------------------------------------------------------------------

    def on_console(self, message: ConsoleMessage) -> None:
        self.messages.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    async def on_dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        await dialog.dismiss()

    def on_error(self, error: Error) -> None:
        self.messages.append(f"error: {error}")

    def on_request(self, request: Request) -> None:
        if not request.url.startswith((self.origin + "/", "data:", "blob:")):
            self.foreign_requests.append(request.url)

    def on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.refusals.append(f"{response.status} {urlsplit(response.url).path}")


@asynccontextmanager
async def launched(*flags: str) -> AsyncIterator[Browser]:
    """One process; every tab that is watched has a context of its own in it."""
    program = require_browser()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=[*FLAGS, *flags])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def watching(
    browser: Browser, origin: str, *, width: int = 1280, height: int = 900, scheme: str = "light"
) -> AsyncIterator[Watched]:
    """A tab that has nothing of an earlier one: no cache, no settings."""
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    try:
        await context.add_init_script(_OBSERVE_SHIFTS)
        tab = await context.new_page()
        watched = Watched(tab, origin)
        tab.on("console", watched.on_console)
        tab.on("dialog", watched.on_dialog)
        tab.on("pageerror", watched.on_error)
        tab.on("request", watched.on_request)
        tab.on("response", watched.on_response)
        yield watched
    finally:
        # Answers that a test changes may still be on their way.
        for tab in context.pages:
            await tab.unroute_all(behavior="ignoreErrors")
        await context.close()
