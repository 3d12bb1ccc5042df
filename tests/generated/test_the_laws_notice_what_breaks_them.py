"""A law that cannot be broken proves nothing: each is shown a decision that breaks it."""

from dataclasses import replace

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import RACK_KEY
from bigfleet.model.resources import Resources
from tests.closedloop.laws import (
    becomes_quiet_and_stays_quiet,
    never_preempts_twice_for_one_deficit,
)
from tests.generated import laws
from tests.generated.monotonicity_law import an_idle_machine_never_raises_the_first_deficit
from tests.generated.parts import NOW, SAMES, UNIT
from tests.generated.precedence_law import no_need_is_short_of_what_a_lower_need_acquired
from tests.generated.whole_domain_law import a_gang_takes_a_whole_domain_or_nothing
from tests.oracle.decide import OracleDecision, decide


def machine(name: str, state: MachineState, cluster: str = "", priority: int = 0) -> FleetMachine:
    return FleetMachine(
        Machine(
            name,
            state,
            CapacityType.BARE_METAL,
            Host("sim", name),
            cluster,
            resources=UNIT,
            assigned=Assigned(priority=priority),
        )
    )


def need(cluster: str, priority: int, units: int) -> FleetNeed:
    return FleetNeed(Need(cluster, Profile.of(priority=priority), UNIT.times(units), UNIT))


IDLE = tuple(machine(f"m{number}", MachineState.IDLE) for number in range(3))
TWO_NEEDS = Fleet(IDLE, (need("alpha", 100, 1), need("beta", 200, 1)), now=NOW)
BOUND = Fleet(
    (machine("m0", MachineState.CONFIGURED, "beta", 100),),
    (need("alpha", 200, 1), need("beta", 100, 1)),
    now=NOW,
)


def test_law_1_notices_a_machine_with_two_owners() -> None:
    decision = decide(TWO_NEEDS)
    first, second = decision.verdicts
    decision.verdicts[1] = replace(second, claimed=first.claimed)
    assert laws.one_claim_and_one_action_a_machine(TWO_NEEDS, decision)


def test_law_2_notices_a_deficit_without_an_explanation() -> None:
    decision = decide(TWO_NEEDS)
    decision.verdicts[0] = replace(decision.verdicts[0], deficit=UNIT)
    assert laws.deficits_are_what_claims_leave(TWO_NEEDS, decision)


def test_law_2_notices_a_need_that_takes_too_much() -> None:
    decision = decide(TWO_NEEDS)
    decision.verdicts[0] = replace(decision.verdicts[0], claimed=("m0", "m2"))
    assert laws.needs_stop_at_the_machine_that_covers_them(TWO_NEEDS, decision)


def test_law_5_notices_a_loop_that_swings() -> None:
    fleet = replace(TWO_NEEDS, machines=IDLE[:1])

    def swings(seen: Fleet) -> OracleDecision:
        """Forgets the demand whenever the machine is bound."""
        state = seen.machines[0].machine.state
        forgetful = replace(seen, needs=()) if state is MachineState.CONFIGURED else seen
        return decide(forgetful)

    assert becomes_quiet_and_stays_quiet(swings, fleet, seed=1)


def test_law_6_notices_a_machine_that_went_to_the_lower_need() -> None:
    fleet = replace(TWO_NEEDS, machines=IDLE[:1])
    decision = decide(fleet)
    high, low = decision.verdicts
    swapped = OracleDecision(
        [replace(decision.actions[0], need=1, cluster="alpha")],
        [
            replace(high, satisfied=False, deficit=UNIT, claimed=(), bootstraps=0),
            replace(low, satisfied=True, deficit=Resources(), claimed=("m0",), bootstraps=1),
        ],
        decision.memory,
    )
    assert not no_need_is_short_of_what_a_lower_need_acquired(fleet, decision)
    assert no_need_is_short_of_what_a_lower_need_acquired(fleet, swapped)


def test_law_7_notices_a_reclaim_before_the_first_report() -> None:
    fleet = replace(BOUND, needs=(), options=EngineOptions(clusters_ready=frozenset()))
    reclaim = Action(ActionKind.RECLAIM, "m0", "beta", Rule.EXCESS, 600)
    decision = OracleDecision([reclaim], [], EngineMemory())
    assert laws.phase_three_takes_only_what_is_free_and_reported(fleet, decision)


def test_law_7_notices_bare_metal_given_back() -> None:
    delete = Action(ActionKind.DELETE, "m2", "", Rule.RELEASE)
    decision = replace(decide(TWO_NEEDS), actions=[delete])
    assert laws.phase_three_takes_only_what_is_free_and_reported(TWO_NEEDS, decision)


def test_law_8_notices_a_victim_of_equal_priority() -> None:
    decision = decide(BOUND)
    assert [action.kind for action in decision.actions] == [ActionKind.PREEMPT]
    as_equal = replace(decision, actions=[replace(decision.actions[0], need=1)])
    assert not laws.victims_are_strictly_lower(BOUND, decision)
    assert laws.victims_are_strictly_lower(BOUND, as_equal)


def test_law_8_notices_a_second_victim_while_the_first_one_drains() -> None:
    others = tuple(machine(f"m{n}", MachineState.CONFIGURED, "beta", 100) for n in range(9))
    fleet = replace(BOUND, machines=others, needs=(need("alpha", 200, 1), need("beta", 100, 9)))

    def forgets(seen: Fleet) -> OracleDecision:
        return decide(replace(seen, memory=EngineMemory()))

    slow_seed = 5  # the first whose drains outlast a cycle
    assert not never_preempts_twice_for_one_deficit(decide, fleet, slow_seed)
    assert never_preempts_twice_for_one_deficit(forgets, fleet, slow_seed)


FULL_RACK = replace(
    BOUND,
    machines=tuple(
        FleetMachine(replace(m.machine, labels={RACK_KEY: "r1"}, assigned=Assigned(priority=100)))
        for m in (machine(f"m{n}", MachineState.CONFIGURED, "beta", 100) for n in range(3))
    ),
    needs=(
        FleetNeed(
            Need("alpha", Profile.of(SAMES[0], priority=200), UNIT.times(2), UNIT, group="g")
        ),
    ),
)


def test_the_law_of_whole_domains_notices_half_a_domain_and_a_chance_not_taken() -> None:
    decision = decide(FULL_RACK)
    assert [a.machine for a in decision.actions if a.whole_domain] == ["m0", "m1"]
    assert not a_gang_takes_a_whole_domain_or_nothing(FULL_RACK, decision)
    half = replace(decision, actions=decision.actions[:1])
    assert a_gang_takes_a_whole_domain_or_nothing(FULL_RACK, half)
    never = replace(decision.verdicts[0], domain=None)
    missed = OracleDecision([], [never], decision.memory)
    missed.verdicts[0] = replace(never, unresolved=never.deficit)
    assert a_gang_takes_a_whole_domain_or_nothing(FULL_RACK, missed)


def test_law_9_notices_a_need_that_loses_by_a_gift() -> None:
    fleet = replace(TWO_NEEDS, needs=TWO_NEEDS.needs[:1])

    def scared_of_gifts(seen: Fleet) -> OracleDecision:
        return decide(replace(seen, machines=()) if len(seen.machines) > len(IDLE) else seen)

    assert an_idle_machine_never_raises_the_first_deficit(scared_of_gifts, fleet, seed=1)
