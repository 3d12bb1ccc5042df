"""A fleet of several shards: each counts its own cycles, and no row shows the decision of another
one."""

from collections import defaultdict
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.assets import require_browser
from tests.e2e.page.live_page import LivePage, served
from tests.e2e.page.watched import watching
from tests.shard_system.waiting import until

SHARDS = 3


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    require_browser()
    with served(tmp_path_factory.mktemp("up"), "--seed", "1", "--shards", str(SHARDS)) as page:
        yield page


async def test_a_decision_is_explained_by_the_shard_that_made_it(
    shards: LivePage, browser: Browser
) -> None:
    machines: dict[str, dict[str, str]] = defaultdict(dict)

    def shared() -> list[str]:
        for number in range(SHARDS):
            shard = f"shard-{number}"
            for row in shards.get(f"/decisions?limit=500&shard={shard}")["decisions"]:
                machines[row["id"].removeprefix("action/")][shard] = row["machine"]
        return [name for name, rows in machines.items() if len(rows) > 1]

    await until(shared, lambda: dict(machines))
    name = shared()[0]
    for shard, machine in machines[name].items():
        async with watching(browser, shards.address) as page:
            await page.open(f"/decisions?decision={name}@{shard}")
            why = page.tab.locator(".decisions-why")
            await expect(why).to_have_count(1)
            about = why.get_by_role("link", name="All about this machine")
            await expect(about).to_have_attribute("href", f"/decisions?machine={machine}")
            await expect(why).to_contain_text(f"bigfleet why action/{name} --shard {shard}")
            page.expect_quiet()


async def test_a_link_to_a_what_if_asks_the_same_cycles_again(
    shards: LivePage, browser: Browser
) -> None:
    async with watching(browser, shards.address) as page:
        tab = page.tab
        await page.open("/whatif?overlay=zone-loss%20b")
        link = tab.locator(".whatif-reproduce .command").last.locator("code")
        await expect(link).to_contain_text("shard-0%40")
        sides = await tab.get_by_role("table").first.inner_text()
        again = (await link.inner_text()).removeprefix(shards.address)
        await page.open(again)
        await expect(link).to_contain_text("shard-0%40")
        assert (await link.inner_text()).removeprefix(shards.address) == again
        assert await tab.get_by_role("table").first.inner_text() == sides
        page.expect_quiet()
