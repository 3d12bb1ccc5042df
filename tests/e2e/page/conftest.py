from collections.abc import Iterator

import pytest

from tests.e2e.assets import require_browser
from tests.e2e.page.live_page import LivePage, served


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    """A small fleet that lives, shared by tests that only look at it."""
    require_browser()
    with served(tmp_path_factory.mktemp("up"), "--seed", "1") as page:
        yield page
