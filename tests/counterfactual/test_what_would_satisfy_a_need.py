"""What would satisfy an unmet Need: every answer holds, and nothing smaller does."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.engine.encoding import machine_at
from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Held, HeldBy, Marks
from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import engine_input_of
from bigfleet.whatif.counterfactual import (
    ChangeKind,
    Counterfactual,
    Counterfactuals,
    UnknownNeed,
    counterfactuals,
    is_met,
    losers_of,
    row_of,
)
from tests.generated.fleets import fleet_of_seed

CPU = Resources.of({"cpu": 8000})


def at_once() -> float:
    return 0.0


def need(priority: int = 100, units: int = 1, *requirements: Requirement) -> Need:
    return Need("shop", Profile.of(requirements, priority=priority), CPU.times(units), CPU)


def slot(name: str, zone: str = "a", price: float = 1.0) -> FleetMachine:
    return FleetMachine(
        Machine(
            name,
            MachineState.SPECULATIVE,
            CapacityType.ON_DEMAND,
            zone=zone,
            labels={RACK_KEY: name},
            resources=CPU,
            price_per_hour=price,
        )
    )


def asked(wanted: Need, *machines: FleetMachine, others: tuple[Need, ...] = ()) -> Counterfactuals:
    rows = (FleetNeed(wanted), *map(FleetNeed, others))
    fleet = Fleet(machines, rows, now=10**18)
    return counterfactuals(engine_input_of(fleet), wanted.key, clock=at_once)


def by_kind(answer: Counterfactuals) -> dict[ChangeKind, Counterfactual]:
    return {each.kind: each for each in answer.found}


def test_a_requirement_that_nothing_meets_is_the_one_to_drop() -> None:
    wanted = need(100, 1, Requirement.of(ZONE_KEY, Operator.IN, ["b"]))
    found = by_kind(asked(wanted, slot("m-1", "a")))
    assert {*found} == {ChangeKind.REQUIREMENT}
    assert found[ChangeKind.REQUIREMENT].text == f"without the requirement {ZONE_KEY} in b"
    assert found[ChangeKind.REQUIREMENT].dollars_per_hour == 1.0


def test_the_fewest_machines_and_the_fewest_units_are_named() -> None:
    found = by_kind(asked(need(100, 5), slot("m-1"), slot("m-2")))
    assert found[ChangeKind.MACHINES].amount == 3
    assert found[ChangeKind.SMALLER].amount == 3


def test_a_higher_priority_takes_it_from_a_need_that_is_told_as_the_loser() -> None:
    other = Need("bank", Profile.of(priority=500), CPU, CPU)
    found = by_kind(asked(need(100), slot("m-1"), others=(other,)))
    assert found[ChangeKind.PRIORITY].amount == 501
    assert [loser.need for loser in found[ChangeKind.PRIORITY].losers] == [other.key]


def test_a_hold_that_is_in_the_way_is_told() -> None:
    held = replace(slot("m-1"), marks=Marks(held=Held(HeldBy.BACKOFF)))
    found = by_kind(asked(need(), held))
    assert found[ChangeKind.HOLD].text == "1 machine not held by backoff any more"


def test_a_gang_may_be_helped_by_machines_of_different_racks() -> None:
    wanted = need(100, 2, Requirement.of(RACK_KEY, Operator.SAME))
    found = by_kind(asked(wanted, slot("m-1"), slot("m-2")))
    assert found[ChangeKind.SAME].text == f"machines with different {RACK_KEY}"


def test_a_need_that_is_met_has_nothing_to_change() -> None:
    answer = asked(need(), slot("m-1"))
    assert answer.is_met
    assert answer.found == ()


def test_an_unknown_need_is_refused() -> None:
    given = engine_input_of(Fleet((slot("m-1"),), (FleetNeed(need()),)))
    with pytest.raises(UnknownNeed, match="of cluster nowhere"):
        counterfactuals(given, NeedKey("nowhere", "", ""), clock=at_once)


def test_the_time_box_is_kept_and_told() -> None:
    ticks = iter(range(1000))

    def clock() -> float:
        return next(ticks) / 10

    fleet = Fleet((slot("m-1"), slot("m-2")), (FleetNeed(need(100, 50)),), now=10**18)
    wanted = fleet.needs[0].need.key
    answer = counterfactuals(engine_input_of(fleet), wanted, clock=clock, budget_seconds=1.0)
    assert not answer.exhaustive
    last_read = next(ticks) - 1
    assert last_read / 10 <= 1.1


def test_runs_are_limited_too() -> None:
    fleet = Fleet((slot("m-1"), slot("m-2")), (FleetNeed(need(100, 50)),), now=10**18)
    wanted = fleet.needs[0].need.key
    answer = counterfactuals(engine_input_of(fleet), wanted, clock=at_once, most_runs=3)
    assert answer.runs == 3
    assert not answer.exhaustive


def unmet(fleet: Fleet) -> Iterator[tuple[EngineInput, NeedKey]]:
    given = engine_input_of(fleet)
    base = given.decide()
    for row in fleet.needs:
        if not is_met(base, row_of(base, row.need.key)):
            yield given, row.need.key


def as_file(given: EngineInput) -> Fleet:
    return Fleet(
        tuple(machine_at(given.snapshot, row) for row in range(len(given.snapshot))),
        tuple(FleetNeed(each) for each in given.needs.demand),
        given.now,
        given.options,
        memory=given.memory,
    )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_every_change_satisfies_the_need_on_the_dumped_fleet(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    for each_given, key in list(unmet(fleet))[:2]:
        base = each_given.decide()
        for each in counterfactuals(each_given, key, clock=at_once).found:
            decision = engine_input_of(as_file(each.given)).decide()
            assert is_met(decision, row_of(decision, each.need)), each.text
            again = tuple(losers_of(base, decision, {key, each.need}))
            assert again == each.losers


def one_less(fleet: Fleet, key: NeedKey, each: Counterfactual) -> tuple[Fleet, NeedKey] | None:
    """The fleet with the next smaller change; None: there is none."""
    place, row = next((p, row) for p, row in enumerate(fleet.needs) if row.need.key == key)
    wanted = row.need
    match each.kind:
        case ChangeKind.MACHINES if each.amount > 1:
            file = as_file(each.given)
            last = f"~{each.amount - 1:04d}"
            left = tuple(m for m in file.machines if m.machine.id != last)
            return replace(file, machines=left), key
        case ChangeKind.SMALLER if each.amount > 1:
            less = wanted.min_unit.times(each.amount - 1)
            wanted = replace(wanted, aggregate=wanted.aggregate.less(less))
        case ChangeKind.PRIORITY if each.amount - 1 > wanted.profile.priority:
            profile = replace(wanted.profile, priority=each.amount - 1)
            wanted = replace(wanted, profile=profile)
        case _:
            return None
    needs = list(fleet.needs)
    needs[place] = replace(row, need=wanted)
    is_unique = sum(row.need.key == wanted.key for row in needs) == 1
    return (replace(fleet, needs=tuple(needs)), wanted.key) if is_unique else None


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_the_next_smaller_change_does_not_help(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    for each_given, key in list(unmet(fleet))[:2]:
        for each in counterfactuals(each_given, key, clock=at_once).found:
            if (smaller := one_less(fleet, key, each)) is not None:
                edited, wanted = smaller
                decision = engine_input_of(edited).decide()
                assert not is_met(decision, row_of(decision, wanted)), each.text


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_no_change_touches_another_need(seed: int) -> None:
    for each_given, key in list(unmet(fleet_of_seed(seed)))[:1]:
        others = {need.key: need for need in each_given.needs.demand if need.key != key}
        for each in counterfactuals(each_given, key, clock=at_once).found:
            after = {need.key: need for need in each.given.needs.demand if need.key != each.need}
            others_left = {k: v for k, v in others.items() if k != each.need}
            assert {k: v for k, v in after.items() if k != key} == others_left
