"""Whatever the engine decides on generated fleets, the verifier has nothing against it.

But for what the policies hold back: V6, V7 and V8.
"""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet
from bigfleet.plan.cycle import cycle_input
from bigfleet.plan.cycles import next_fleet, planned_cycles
from bigfleet.plan.verifier_facts import batch_of, spend_of
from bigfleet.verifier.facts import POLICIES, Veto
from bigfleet.verifier.limits import RecentReclaims
from bigfleet.verifier.policy import Policy, policy_of
from bigfleet.verifier.verify import verify
from tests.generated.fleets import fleet_of_seed

#: Tight enough that each of them holds something back now and then.
TIGHT = policy_of(["*/13 * * * * for 2m kind=Delete"], 12.0, 0.5, 0.05)


def _verified(fleet: Fleet, policy: Policy) -> tuple[Fleet, list[tuple[ActionKind, Veto]]]:
    """The fleet one cycle later, and what the verifier has against the cycle."""
    decision = cycle_input(fleet).decide()
    batch = batch_of(
        decision,
        decision.actions,
        fleet.memory.reservations,
        reported=fleet.options.clusters_ready,
        at=fleet.now,
        spend_per_hour=spend_of(decision.outcome.scene.snapshot),
    )
    found = verify(batch, policy, RecentReclaims())
    after = next_fleet(fleet, decision.actions, decision.memory)
    return after, [(decision.actions[place].kind, veto) for place, veto in found.items()]


def _broken(seed: int, cycles: int, counts: Counter[str]) -> list[str]:
    """What of a seed's cycles is vetoed beside the policies; every veto is counted."""
    fleet, said = fleet_of_seed(seed), []
    for cycle in range(cycles):
        fleet, found = _verified(fleet, TIGHT)
        for kind, veto in found:
            counts[veto.invariant.name] += 1
            if veto.invariant not in POLICIES:
                said.append(f"seed {seed}, cycle {cycle}: {kind.label}: {veto}")
    return said


def test_only_policies_hold_back_what_the_engine_decides() -> None:
    counts = Counter[str]()
    broken = [line for seed in range(120) for line in _broken(seed, 3, counts)]
    assert broken == []
    assert set(counts) == {each.name for each in POLICIES}


@pytest.mark.nightly("10,000 cycles take minutes")
def test_only_policies_hold_back_what_the_engine_decides_in_ten_thousand_cycles() -> None:
    first, counts = Random().randrange(2**40), Counter[str]()
    broken = [line for seed in range(first, first + 2500) for line in _broken(seed, 4, counts)]
    assert broken == []
    assert set(counts) == {each.name for each in POLICIES}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_planned_is_the_same_with_the_verifier_and_without(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    fleet = replace(fleet, plan=replace(fleet.plan, cycles=3))
    bare = planned_cycles(fleet, workers=1, clock=lambda: 0.0)
    watched = planned_cycles(fleet, workers=1, clock=lambda: 0.0, verify=True)
    for one, other in zip(bare, watched, strict=True):
        assert repr(one.kept.actions) == repr(other.kept.actions)
        assert repr(one.kept.memory) == repr(other.kept.memory)
