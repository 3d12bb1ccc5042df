"""The bound is at most what the cycle costs, and at most what any assignment of whole machines with
the same coverage costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.regret import Regret, RegretStatus
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import decide_fleet, engine_input_of
from bigfleet.regret.classes import classes_of
from bigfleet.regret.meter import regret_of
from bigfleet.regret.programs import Programs
from bigfleet.regret.solver import solved
from tests.generated.fleets import fleet_of_seed

WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
#: Floating point, of sums of at most a hundred prices.
TOLERANCE = 1e-7


def measured(fleet: Fleet) -> Regret:
    return regret_of(engine_input_of(fleet).decide(workers=1))


def assert_below_greedy(seed: int, *, merge: bool = False) -> None:
    decision = engine_input_of(fleet_of_seed(seed)).decide(workers=1)
    programs = Programs(classes_of(decision.outcome, merge=merge))
    least = solved(programs.cost(), 10.0)
    found = regret_of(decision)
    assert least.is_optimal
    assert least.lower_bound <= found.greedy_per_hour + TOLERANCE
    assert found.status is RegretStatus.OPTIMAL
    assert 0.0 <= found.bound_per_hour <= found.greedy_per_hour


@settings(phases=WITHOUT_SHRINKING, max_examples=200)
@given(seed=st.integers(0, 2**40))
def test_the_bound_of_a_random_fleet_is_at_most_what_the_cycle_costs(seed: int) -> None:
    assert_below_greedy(seed)


def test_what_one_program_leaves_uncovered_can_be_kept_by_the_next() -> None:
    """Its dual bound is below that by the solver's tolerance, which no solution attains."""
    assert_below_greedy(3957)


@settings(phases=WITHOUT_SHRINKING, max_examples=50)
@given(seed=st.integers(0, 2**40))
def test_needs_made_one_group_give_a_bound_too_and_no_higher_one(seed: int) -> None:
    assert_below_greedy(seed, merge=True)
    decision = engine_input_of(fleet_of_seed(seed)).decide(workers=1)
    apart, merged = (
        solved(Programs(classes_of(decision.outcome, merge=merge)).cost(), 10.0).lower_bound
        for merge in (False, True)
    )
    assert merged <= apart + TOLERANCE


@pytest.mark.nightly("ten thousand fleets")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("share", range(20))
def test_the_bounds_of_ten_thousand_fleets_are_at_most_what_the_cycles_cost(share: int) -> None:
    for seed in range(share * 500, share * 500 + 500):
        assert_below_greedy(seed)


@settings(phases=WITHOUT_SHRINKING, max_examples=60)
@given(seed=st.integers(0, 2**40))
def test_no_assignment_of_whole_machines_costs_less_than_the_bound(seed: int) -> None:
    small = SmallFleet.of_seed(seed)
    found = measured(small.fleet)
    assert found.bound_per_hour <= small.cheapest() + TOLERANCE


@settings(phases=WITHOUT_SHRINKING, max_examples=60)
@given(seed=st.integers(0, 2**40))
def test_no_assignment_leaves_less_uncovered_than_the_bound_with_the_highest_first(
    seed: int,
) -> None:
    small = SmallFleet.of_seed(seed)
    lacking = measured(small.fleet).uncovered
    could_be = {each.priority_class: each.bound["cpu"] / 1000 for each in lacking}
    bound = [could_be.get("service", 0), could_be.get("batch", 0)]
    best, greedy = small.least_uncovered(), small.uncovered_by_greedy()
    assert bound[0] <= best[0] <= greedy[0]
    assert bound[0] < best[0] or bound[1] <= best[1]


@dataclass(frozen=True, slots=True)
class SmallFleet:
    """So small that every assignment can be tried: in cpu alone, two priorities."""

    fleet: Fleet
    sizes: tuple[int, ...]
    prices: tuple[float, ...]
    #: Of each Need: what it asks for, its unit, and whether it is of the higher priority.
    needs: tuple[tuple[int, int, bool], ...]

    @classmethod
    def of_seed(cls, seed: int) -> "SmallFleet":
        chance = Random(seed)
        sizes = tuple(chance.choice((2, 4, 8)) for _ in range(chance.randint(2, 5)))
        prices = tuple(chance.choice((0.0, 0.1, 0.25, 1.0)) for _ in sizes)
        asked = range(chance.randint(1, 3))
        needs = tuple(
            (chance.randint(1, 14), chance.choice((1, 2, 4)), chance.random() < 0.5) for _ in asked
        )
        machines = tuple(
            machine(f"m{place}", size, price, chance)
            for place, (size, price) in enumerate(zip(sizes, prices, strict=True))
        )
        rows = tuple(FleetNeed(need(f"c{place}", *each)) for place, each in enumerate(needs))
        return cls(Fleet(machines=machines, needs=rows), sizes, prices, needs)

    def assignments(self) -> Iterator[tuple[int, ...]]:
        """Of each machine the place of its Need; -1: nothing has it."""
        for owners in product(range(-1, len(self.needs)), repeat=len(self.sizes)):
            if all(
                owner < 0 or size >= self.needs[owner][1]
                for size, owner in zip(self.sizes, owners, strict=True)
            ):
                yield owners

    def uncovered(self, owners: Sequence[int]) -> tuple[int, int]:
        lacks = [0, 0]
        for place, (asked, _, is_high) in enumerate(self.needs):
            given = sum(
                size for size, owner in zip(self.sizes, owners, strict=True) if owner == place
            )
            lacks[0 if is_high else 1] += max(0, asked - given)
        return lacks[0], lacks[1]

    def uncovered_by_greedy(self) -> tuple[int, int]:
        lacks = [0, 0]
        for verdict in decide_fleet(self.fleet).verdicts:
            lacks[0 if verdict.need.profile.priority == 1000 else 1] += verdict.deficit["cpu"]
        return lacks[0] // 1000, lacks[1] // 1000

    def cheapest(self) -> float:
        most = self.uncovered_by_greedy()
        return min(
            sum(price for price, owner in zip(self.prices, owners, strict=True) if owner >= 0)
            for owners in self.assignments()
            if all(mine <= limit for mine, limit in zip(self.uncovered(owners), most, strict=True))
        )

    def least_uncovered(self) -> tuple[int, int]:
        return min(self.uncovered(owners) for owners in self.assignments())


def machine(name: str, cpu: int, price: float, chance: Random) -> FleetMachine:
    state = chance.choice((MachineState.IDLE, MachineState.SPECULATIVE, MachineState.CONFIGURED))
    return FleetMachine(
        Machine(
            name,
            state,
            host=Host() if state is MachineState.SPECULATIVE else Host("sim", name),
            cluster="c0" if state is MachineState.CONFIGURED else "",
            capacity_type=CapacityType.ON_DEMAND,
            resources=Resources.of({"cpu": cpu * 1000}),
            price_per_hour=price,
        )
    )


def need(cluster: str, cpu: int, unit: int, is_high: bool) -> Need:
    return Need(
        cluster,
        Profile.of(priority=1000 if is_high else 100),
        Resources.of({"cpu": cpu * 1000}),
        Resources.of({"cpu": unit * 1000}),
    )
