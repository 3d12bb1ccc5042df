"""Leaders change, commits get lost, a deposed one goes on talking, a snapshot is restored."""

import pytest

from tests.coordination_laws.searching import BLOCKS, seeds_of, seen_in


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_laws_hold_when_leaders_and_their_store_fail(block: int) -> None:
    assert seen_in("leaders fail", seeds_of(block))["restored"] > 0
