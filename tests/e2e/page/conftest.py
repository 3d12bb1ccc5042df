from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.assets import require_browser
from tests.e2e.page.live_page import LivePage, served
from tests.e2e.page.watched import PATIENCE_MS, launched

HERE = Path(__file__).parent

expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One loop for all tests of the page, as they share a browser."""
    shared = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if item.path.is_relative_to(HERE) and pytest_asyncio.is_async_test(item):
            item.add_marker(shared, append=False)


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    """A small fleet that lives, shared by tests that change nothing of it that others look at."""
    require_browser()
    with served(tmp_path_factory.mktemp("up"), "--seed", "1") as page:
        yield page


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One process; every test has a context of its own in it, without a cache of another."""
    async with launched() as found:
        yield found
