"""A Need that is short says what would satisfy it, and each change opens as a what-if."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.assets import require_browser
from tests.e2e.page.live_page import LivePage, served
from tests.e2e.page.watched import watching

#: Six machines' worth is asked of zone a, which has four; zone b has as many.
FLEET = """\
version: 1
kind: Fleet
machines:
  - {id: "a-{00}", count: 4, state: Idle, capacityType: BareMetal, instanceType: metal.8, zone: a,
     resources: {cpu: 8, memory: 32Gi}, labels: {topology.kubernetes.io/zone: a}}
  - {id: "b-{00}", count: 4, state: Idle, capacityType: BareMetal, instanceType: metal.8, zone: b,
     resources: {cpu: 8, memory: 32Gi}, labels: {topology.kubernetes.io/zone: b}}
needs:
  - {cluster: shop, priority: 100, aggregateResources: {cpu: 48, memory: 48Gi},
     minUnit: {cpu: 2, memory: 2Gi},
     requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    require_browser()
    folder = tmp_path_factory.mktemp("up")
    (folder / "fleet.yaml").write_text(FLEET)
    with served(folder, "--fleet", str(folder / "fleet.yaml"), "--speed", "10") as page:
        yield page


@pytest.mark.parametrize("width", [1280, 360])
async def test_a_change_that_satisfies_it_opens_as_a_what_if_that_agrees(
    short: LivePage, browser: Browser, width: int
) -> None:
    async with watching(browser, short.address, width=width) as page:
        tab = page.tab
        await page.open("/needs")
        await tab.locator("main tr.needs-row.short").first.click()
        drawer = tab.get_by_role("dialog")
        await expect(drawer).to_contain_text("short")
        await drawer.get_by_role("button", name="Try changes").click()
        changes = drawer.locator(".needs-changes > li")
        helps = changes.filter(has_text="satisfies")
        await expect(helps.first).to_be_visible()
        await expect(drawer).to_contain_text(re.compile(r"in \d+ runs? of the engine on cycle"))
        assert await page.axe() == []
        assert await page.overflow() <= 0
        widened = helps.filter(has_text="topology.kubernetes.io/zone").first
        await widened.get_by_role("link", name="Open in What-if").click()
        await expect(tab.get_by_role("heading", name="Both sides")).to_be_visible()
        await expect(tab.locator("main")).to_contain_text("newly met")
        page.expect_quiet()


async def test_pairs_of_changes_are_tried_when_they_are_asked_for(
    short: LivePage, browser: Browser
) -> None:
    async with watching(browser, short.address) as page:
        tab = page.tab
        await page.open("/needs")
        await tab.locator("main tr.needs-row.short").first.click()
        drawer = tab.get_by_role("dialog")
        await drawer.get_by_role("button", name="Try changes").click()
        await drawer.get_by_role("button", name="Try pairs of changes").click()
        await expect(drawer).to_contain_text("--counterfactual --depth 2")
        await expect(drawer.locator(".needs-changes > li").first).to_be_visible()
        page.expect_quiet()
