"""One fleet for all tests of this folder in a process, and one of three shards: each takes seconds
to be served."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.rest.living_fleet import LivingFleet, living_fleet
from tests.up.fleets import FAST


@pytest.fixture(scope="package")
def fleet() -> Iterator[LivingFleet]:
    with living_fleet() as found:
        yield found


@pytest.fixture(scope="package")
def three_shards() -> Iterator[LivingFleet]:
    with living_fleet(replace(FAST, shards=3)) as found:
        yield found
