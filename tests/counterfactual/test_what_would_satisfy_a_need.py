"""What would satisfy an unmet Need: every answer holds, and nothing smaller does."""

from dataclasses import replace

import pytest

from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Held, HeldBy, Marks
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import engine_input_of
from bigfleet.whatif.changes import ChangeKind
from bigfleet.whatif.counterfactual import Counterfactual, Counterfactuals, counterfactuals
from bigfleet.whatif.subjects import UnknownNeed

CPU = Resources.of({"cpu": 8000})
SAME_RACK = Requirement.of(RACK_KEY, Operator.SAME)


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
    assert {*found} == {ChangeKind.REQUIREMENT, ChangeKind.VALUE}
    assert found[ChangeKind.REQUIREMENT].text == f"without the requirement {ZONE_KEY} in [b]"
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
    answer = counterfactuals(engine_input_of(fleet), wanted, clock=clock, budget_seconds=0.4)
    assert not answer.exhaustive
    last_read = next(ticks) - 1
    assert last_read / 10 <= 0.44


def test_runs_are_limited_too() -> None:
    fleet = Fleet((slot("m-1"), slot("m-2")), (FleetNeed(need(100, 50)),), now=10**18)
    wanted = fleet.needs[0].need.key
    answer = counterfactuals(engine_input_of(fleet), wanted, clock=at_once, most_runs=2)
    assert answer.runs == 2
    assert not answer.exhaustive


def test_one_more_value_of_a_list_is_less_than_no_list() -> None:
    """Of the values machines have, one that it would take."""
    wanted = need(100, 2, Requirement.of(ZONE_KEY, Operator.IN, ["d"]))
    machines = (slot("m-1", "a"), slot("m-2", "b", 3.0), slot("m-3", "b", 3.0))
    found = by_kind(asked(wanted, *machines))
    assert found[ChangeKind.VALUE].text == f"{ZONE_KEY} b allowed too"


def test_a_wider_domain_is_less_than_none() -> None:
    wanted = need(100, 2, Requirement.of(RACK_KEY, Operator.SAME))
    machines = (slot("m-1", "a"), slot("m-2", "a"), slot("m-3", "b"))
    found = by_kind(asked(wanted, *machines))
    wider = f"machines with the same {ZONE_KEY} instead of the same {RACK_KEY}"
    assert found[ChangeKind.WIDER_SAME].text == wider
    assert ChangeKind.SAME in found


def test_a_unit_that_machines_hold_is_told() -> None:
    large = Resources.of({"cpu": 12_000})
    wanted = Need("shop", Profile.of(priority=1), CPU.times(2), large)
    found = by_kind(asked(wanted, slot("m-1"), slot("m-2")))
    assert found[ChangeKind.MIN_UNIT].text == "units of cpu 8 instead of cpu 12"


def test_one_offering_that_rests_is_less_than_all_of_them() -> None:
    rests = Marks(held=Held(HeldBy.BACKOFF))
    machines = [replace(slot(f"m-{n}", "ab"[n % 2]), marks=rests) for n in range(4)]
    found = by_kind(asked(need(100, 2), *machines))
    assert found[ChangeKind.HOLD].text == "2 machines of OnDemand in a not held by backoff any more"


def idle(name: str) -> FleetMachine:
    machine = replace(slot(name).machine, state=MachineState.IDLE, host=Host("sim", name))
    return FleetMachine(machine)


def with_reservation(reservation: Reservation, *needs: Need) -> Counterfactuals:
    memory = EngineMemory({"m-1": reservation})
    fleet = Fleet((idle("m-1"),), tuple(map(FleetNeed, needs)), 10**18, memory=memory)
    return counterfactuals(engine_input_of(fleet), needs[0].key, clock=at_once)


def test_what_is_reserved_for_another_is_told() -> None:
    other = Need("zoo", Profile.of(priority=100), CPU, CPU)
    held = Reservation("m-1", ReservationKind.PREEMPTION, other.key)
    lifted = by_kind(with_reservation(held, need(), other))[ChangeKind.RESERVATION]
    name = f"need/zoo/{other.key.need_id}"
    assert lifted.text == f"1 machine not reserved for {name}"
    assert [loser.need for loser in lifted.losers] == [other.key]


def test_what_is_offered_to_another_shard_is_told() -> None:
    offered = Reservation("m-1", ReservationKind.OFFER, NeedKey("", "", ""))
    found = by_kind(with_reservation(offered, need()))
    assert found[ChangeKind.RESERVATION].text == "1 machine not offered to another shard"


def draining(name: str) -> FleetMachine:
    machine = replace(
        slot(name).machine, state=MachineState.DRAINING, host=Host("sim", name), cluster="batch"
    )
    return FleetMachine(machine)


def test_a_need_whose_victims_drain_has_only_to_wait() -> None:
    wanted = need()
    coming = Reservation("m-1", ReservationKind.PREEMPTION, wanted.key)
    memory = EngineMemory({"m-1": coming})
    fleet = Fleet((draining("m-1"),), (FleetNeed(wanted),), 10**18, memory=memory)
    answer = counterfactuals(engine_input_of(fleet), wanted.key, clock=at_once)
    (only,) = answer.found
    assert only.text == "waiting (in flight: 1 machine on the way)"
    assert not answer.runs
    assert answer.exhaustive


def test_a_gang_that_rests_may_look_again() -> None:
    wanted = replace(need(100, 2, Requirement.of(ZONE_KEY, Operator.SAME)), parked=True)
    found = by_kind(asked(wanted, slot("m-1"), slot("m-2")))
    assert "looking for a domain again now" in found[ChangeKind.PARKED].text


def test_pairs_are_tried_on_request_and_made_small() -> None:
    """In another zone there is one machine for two units, and no more of the kind it asks for."""
    wanted = need(100, 3, Requirement.of(ZONE_KEY, Operator.IN, ["d"]))
    assert not asked(wanted, slot("m-1")).found
    fleet = Fleet((slot("m-1"),), (FleetNeed(wanted),), now=10**18)
    answer = counterfactuals(engine_input_of(fleet), wanted.key, clock=at_once, depth=2)
    (pair,) = answer.found
    assert [change.kind for change in pair.changes] == [ChangeKind.REQUIREMENT, ChangeKind.SMALLER]
    assert pair.changes[1].amount == 2
    assert answer.exhaustive


def test_gangs_that_were_folded_are_asked_about_together() -> None:
    """Under the name that a list of Needs shows."""
    gangs = [replace(need(100, 1, SAME_RACK), group=f"g{n}") for n in range(3)]
    fleet = Fleet((slot("m-1"),), tuple(map(FleetNeed, gangs)), now=10**18)
    given = engine_input_of(fleet)
    outcome = given.decide().outcome
    (folded,) = [outcome.key(row) for row in range(len(outcome))]
    found = by_kind(counterfactuals(given, folded, clock=at_once))
    assert found[ChangeKind.SMALLER].text == "2 gangs less"
    assert found[ChangeKind.MACHINES].amount == 2


def test_a_search_that_ends_early_says_that_less_may_do() -> None:
    """Ten of twenty others have a machine: a priority in their middle is enough."""
    others = tuple(Need(f"c{n}", Profile.of(priority=n), CPU, CPU) for n in range(500, 520))
    machines = tuple(slot(f"m-{n}") for n in range(10))
    fleet = Fleet(machines, tuple(map(FleetNeed, (need(), *others))), now=10**18)
    given = engine_input_of(fleet)
    whole = by_kind(counterfactuals(given, need().key, clock=at_once))[ChangeKind.PRIORITY]
    assert whole.amount == 511
    early = [by_kind(cut(given, n)).get(ChangeKind.PRIORITY) for n in range(1, 12)]
    ended = next(each for each in early if each is not None)
    assert not ended.is_smallest
    assert ended.amount > whole.amount


def cut(given: EngineInput, runs: int) -> Counterfactuals:
    return counterfactuals(given, need().key, clock=at_once, most_runs=runs)
