"""One fleet for all tests of a process: it takes seconds to be served."""

from collections.abc import Iterator

import pytest

from tests.rest.living_fleet import LivingFleet, living_fleet


@pytest.fixture(scope="session")
def fleet() -> Iterator[LivingFleet]:
    with living_fleet() as found:
        yield found
