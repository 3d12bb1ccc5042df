"""Lists, cycles and calls to the provider are overtaken by what the coordinator says."""

import pytest

from tests.coordination_laws.searching import BLOCKS, seeds_of, seen_in


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_laws_hold_when_lists_cycles_and_calls_take_their_time(block: int) -> None:
    assert seen_in("pieces", seeds_of(block))["unassign_domain unassign"] > 0
