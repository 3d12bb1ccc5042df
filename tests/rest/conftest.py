"""One fleet for all tests of this folder in a process: it takes seconds to be served."""

from collections.abc import Iterator

import pytest

from tests.rest.living_fleet import LivingFleet, living_fleet


@pytest.fixture(scope="package")
def fleet() -> Iterator[LivingFleet]:
    with living_fleet() as found:
        yield found
