"""Machines go from shard to shard, of every tier, while what carries them fails."""

import pytest

from tests.coordination_laws.searching import BLOCKS, seeds_of, seen_in


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_laws_hold_while_machines_move(block: int) -> None:
    assert seen_in("transfers", seeds_of(block))["idle granted"] > 0
