"""Several shards and their coordinator: who owns what, over crashes, cuts and hand-overs."""

import pytest

from tests.simulation.planted import CHAOS, HANDED_OVER, UNHEARD
from tests.simulation.scenarios import lines_of, run


@pytest.mark.parametrize("seed", range(1, 4))
def test_no_law_is_broken_by_drawn_faults(seed: int) -> None:
    assert run(CHAOS, seed, HANDED_OVER).violations == ()


def test_a_zone_changes_hands_once_its_holder_has_let_go() -> None:
    outcome = run(UNHEARD + "assertions: [{final: machines_owned_twice == 0}]\n", 1, HANDED_OVER)
    assert outcome.ok, outcome


def test_each_shard_serves_its_cluster_with_machines_of_its_zones() -> None:
    lines = lines_of("duration: 25s\n", 1, HANDED_OVER.replace("duration: 120s\n", ""))
    begun = [line.split() for line in lines if "Bootstrap" in line and "enqueued" in line]
    assert {(line[1], line[7]) for line in begun} == {("shard-0", "shop"), ("shard-1", "batch")}
