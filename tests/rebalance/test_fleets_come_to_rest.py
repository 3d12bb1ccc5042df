"""Closed loop: three shards, demand that goes up and down, thousands of cycles.

With any demand, no machine is moved twice within its minimum stay, and none is ever owned
by two shards (looked at after every step by the fleet itself). Where there is enough for everybody,
nothing moves any more within a minute of the last change of the demand.
"""

from collections import defaultdict
from itertools import pairwise
from random import Random

import pytest

from bigfleet.coordinator.settings import RebalanceSettings
from bigfleet.model.options import SECOND
from tests.rebalance.fleets import Fleet, rules_of

#: Small shards: with the usual rate an hour is over before anything has happened.
RULES = rules_of(donor_rate=1.0)
HASTY = rules_of(
    RULES, min_stay=200.0, direction_lock=60.0, cooldown=15.0, cooldown_cycles=4, return_after=60.0
)


def stays(fleet: Fleet) -> list[float]:
    """Seconds between two moves of one machine."""
    at: dict[str, list[int]] = defaultdict(list)
    for move in fleet.moves:
        at[move.machine].append(move.at)
    return [
        (later - earlier) / SECOND
        for moments in at.values()
        for earlier, later in pairwise(moments)
    ]


@pytest.mark.parametrize("period", [37, 100, 250])
def test_alternating_demand_comes_to_rest(period: int) -> None:
    fleet = Fleet(RULES, a=10, b=10, c=40)
    fleet.demand("a", 4)
    fleet.demand("b", 4)
    fleet.demand("c", 10)
    fleet.settle()
    high, changed = "a", fleet.at
    for cycle in range(2000):
        if cycle % period == 0 and cycle < 1000:
            fleet.demand(high, 4)
            high = "b" if high == "a" else "a"
            fleet.demand(high, 14)
            changed = fleet.at
        fleet.run(1)
    assert 0 < len(fleet.moves) <= 8
    assert fleet.moves[-1].at - changed < 60 * SECOND
    assert min(stays(fleet), default=9e9) >= RULES.min_stay
    assert fleet.shards[high].short("web") == 0


def test_constant_demand_is_quiet_within_a_minute() -> None:
    fleet = Fleet(RULES, a=10, b=10, c=40)
    fleet.settle()
    fleet.run(100)
    fleet.demand("a", 14)
    fleet.demand("b", 16)
    fleet.demand("c", 20)
    began = fleet.at
    fleet.run(1000)
    assert len(fleet.moves) == 10
    assert fleet.moves[-1].at - began < 60 * SECOND


@pytest.mark.parametrize("rules", [RULES, HASTY], ids=["usual", "hasty"])
@pytest.mark.parametrize("seed", range(4))
def test_no_machine_moves_twice_within_its_stay_under_any_demand(
    rules: RebalanceSettings, seed: int
) -> None:
    random = Random(seed)
    fleet = Fleet(rules, a=12, b=12, c=12)
    fleet.add("b", 6, speculative=True)
    fleet.settle()
    for _ in range(2000):
        if random.random() < 0.02:
            shard, fingerprint = random.choice("abc"), random.choice(["web", "batch"])
            priority = {"web": 1000, "batch": 10}[fingerprint]
            fleet.demand(shard, random.randrange(16), fingerprint, priority=priority)
        fleet.run(1)
    assert fleet.moves != []
    assert min(stays(fleet), default=9e9) >= rules.min_stay


def test_machines_wander_when_nothing_keeps_them() -> None:
    """What the stay is for: without it the same demand moves the same machines again and again."""
    fleet = Fleet(rules_of(HASTY, min_stay=0.0), a=12, b=12, c=12)
    fleet.settle()
    random = Random(1)
    for _ in range(2000):
        if random.random() < 0.02:
            fleet.demand(random.choice("abc"), random.randrange(16))
        fleet.run(1)
    assert min(stays(fleet)) < HASTY.min_stay
