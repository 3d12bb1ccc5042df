"""Generated schedules of faults: the laws hold after every step, and each kind of fault happens."""

import pytest

from tests.coordination_laws.searching import BLOCKS, seeds_of, seen_in


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(
    ("weights", "event"),
    [
        # Shards crash, their disks are slow or full, their lines are cut.
        ("shards fail", "unassign_domain unassign"),
        # Leaders change, commits get lost, a deposed one goes on talking, a snapshot is restored.
        ("leaders fail", "restored"),
        # Machines go from shard to shard, of every tier, while what carries them fails.
        ("transfers", "idle granted"),
        # Lists, cycles and calls to the provider are overtaken by what the coordinator says.
        ("pieces", "unassign_domain unassign"),
        # All of it at once, and some shards die for good.
        ("everything", "alone"),
    ],
    ids=lambda text: text.replace(" ", "-"),
)
def test_the_laws_hold(weights: str, event: str, block: int) -> None:
    assert seen_in(weights, seeds_of(block))[event] > 0
