"""Everything fails at once, and some shards die for good: the laws hold."""

import pytest

from tests.coordination_laws.searching import BLOCKS, seeds_of, seen_in


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_laws_hold_when_everything_fails(block: int) -> None:
    assert seen_in("everything", seeds_of(block))["alone"] > 0
