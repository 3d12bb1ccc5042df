"""The nine laws of the decision engine, each held against generated fleets.

Law 3 has a file of its own: `test_the_engine_agrees_with_the_oracle.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bigfleet.model.fleet import Fleet
from bigfleet.plan.cycle import decide_fleet
from tests.closedloop.laws import (
    becomes_quiet_and_stays_quiet,
    never_preempts_twice_for_one_deficit,
)
from tests.generated import laws
from tests.generated.agreement import SomeDecision
from tests.generated.fleets import fleet_of_seed, fleets
from tests.generated.monotonicity_law import an_idle_machine_never_raises_the_first_deficit
from tests.generated.precedence_law import no_need_is_short_of_what_a_lower_need_acquired
from tests.generated.smaller import smallest
from tests.generated.whole_domain_law import a_gang_takes_a_whole_domain_or_nothing

WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
SEEDS = st.integers(0, 2**40)
#: A loop is two hundred cycles, so it gets a twentieth of the examples.
LOOPS = settings().max_examples // 20

Law = Callable[[Fleet, SomeDecision], list[str]]
CYCLE_LAWS: dict[str, Law] = {
    "law 1, one claim and one action a machine": laws.one_claim_and_one_action_a_machine,
    "law 2, conservation": laws.deficits_are_what_claims_leave,
    "law 2, a Need stops when covered": laws.needs_stop_at_the_machine_that_covers_them,
    "law 6, priority": no_need_is_short_of_what_a_lower_need_acquired,
    "law 7, Phase 3 takes only the free": laws.phase_three_takes_only_what_is_free_and_reported,
    "law 8, victims are strictly lower": laws.victims_are_strictly_lower,
    "law 8, no more victims than asked": laws.no_more_victims_than_the_deficit_asks,
    "U26, a whole domain or nothing": a_gang_takes_a_whole_domain_or_nothing,
}


@settings(phases=WITHOUT_SHRINKING)
@given(fleet=fleets())
def test_every_cycle_keeps_every_law(fleet: Fleet) -> None:
    decision = decide_fleet(fleet)
    for name, law in CYCLE_LAWS.items():
        if law(fleet, decision):
            least, broken = _smallest_that_breaks(law, fleet)
            raise AssertionError("\n".join([name, repr(least), *broken]))


def _smallest_that_breaks(law: Law, fleet: Fleet) -> tuple[Fleet, list[str]]:
    least = smallest(fleet, lambda smaller: bool(law(smaller, decide_fleet(smaller))))
    return least, law(least, decide_fleet(least))


@settings(phases=WITHOUT_SHRINKING)
@given(fleet=fleets())
def test_law_4_the_same_fleet_gives_the_same_decision(fleet: Fleet) -> None:
    first, again = decide_fleet(fleet), decide_fleet(fleet)
    assert repr(first.actions) == repr(again.actions)
    assert first == again


@settings(phases=WITHOUT_SHRINKING)
@given(fleet=fleets(), chance=st.randoms(use_true_random=True))
def test_law_4_the_order_of_machines_in_the_file_never_matters(
    fleet: Fleet, chance: Random
) -> None:
    shuffled = replace(fleet, machines=tuple(chance.sample(fleet.machines, len(fleet.machines))))
    first, again = decide_fleet(fleet), decide_fleet(shuffled)
    assert first.actions == again.actions
    assert first.verdicts == again.verdicts
    assert first.memory == again.memory


@pytest.mark.parametrize("workers", [2, 8])
@settings(phases=WITHOUT_SHRINKING)
@given(fleet=fleets())
def test_law_4_any_number_of_workers_decides_the_same(workers: int, fleet: Fleet) -> None:
    fleet = replace(fleet, options=replace(fleet.options, smallest_share=1, most_conflicts=1.0))
    alone, together = decide_fleet(fleet, workers=1), decide_fleet(fleet, workers=workers)
    assert repr(alone.actions) == repr(together.actions)
    assert alone.verdicts == together.verdicts
    assert alone.memory == together.memory


@settings(phases=WITHOUT_SHRINKING, max_examples=LOOPS)
@given(seed=SEEDS)
def test_law_5_a_slow_loop_becomes_quiet_and_stays_quiet(seed: int) -> None:
    assert becomes_quiet_and_stays_quiet(decide_fleet, fleet_of_seed(seed), seed) == []


@settings(phases=WITHOUT_SHRINKING, max_examples=LOOPS)
@given(seed=SEEDS)
def test_law_8_a_slow_drain_is_never_asked_for_twice(seed: int) -> None:
    assert never_preempts_twice_for_one_deficit(decide_fleet, fleet_of_seed(seed), seed) == []


@settings(phases=WITHOUT_SHRINKING)
@given(seed=SEEDS)
def test_law_9_an_idle_machine_more_never_hurts_the_first_plain_need(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    assert an_idle_machine_never_raises_the_first_deficit(decide_fleet, fleet, seed) == []
