"""One fleet for the schedules of a file: to start one takes as long as to torment it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.coordinator_processes.fleet import real_fleet
from tests.coordinator_processes.laws import Laws


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def laws(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Laws]:
    async with real_fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        yield Laws(fleet)
