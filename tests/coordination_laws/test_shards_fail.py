"""Shards crash, their disks are slow or full, their lines are cut: the laws hold."""

import pytest

from tests.coordination_laws.searching import BLOCKS, seeds_of, seen_in


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_laws_hold_when_shards_and_their_disks_fail(block: int) -> None:
    assert seen_in("shards fail", seeds_of(block))["unassign_domain unassign"] > 0
