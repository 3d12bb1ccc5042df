"""Law 3: the engine's outcome is that of the naive pass, on generated fleets."""

from random import Random

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bigfleet.model.fleet import Fleet
from bigfleet.plan.cycle import decide_fleet
from tests.closedloop.simulator import Simulator
from tests.generated.agreement import differences
from tests.generated.fleets import fleet_of_seed, fleets
from tests.generated.smaller import smallest
from tests.oracle import decide as oracle

#: A fleet comes from a seed, and there is no smaller seed; `smallest` shrinks the fleet itself.
WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)


def disagreement(fleet: Fleet) -> list[str]:
    return differences(decide_fleet(fleet), oracle.decide(fleet))


@settings(phases=WITHOUT_SHRINKING)
@given(fleets())
def test_the_engine_decides_what_the_naive_pass_decides(fleet: Fleet) -> None:
    if disagreement(fleet):
        least = smallest(fleet, lambda smaller: bool(disagreement(smaller)))
        raise AssertionError("\n".join([repr(least), *disagreement(least)]))


@settings(phases=WITHOUT_SHRINKING, max_examples=settings().max_examples // 6)
@given(st.integers(0, 2**40))
def test_the_engine_and_the_naive_pass_agree_in_every_cycle_of_a_slow_loop(seed: int) -> None:
    simulator = Simulator(fleet_of_seed(seed), Random(seed), slowest=3, cycle_seconds=20)
    for cycle in range(20):
        found = disagreement(simulator.fleet)
        assert not found, f"seed {seed}, cycle {cycle}: " + "\n".join(found)
        simulator.run_cycle(oracle.decide)
