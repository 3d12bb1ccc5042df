"""Money that is probably spent otherwise than meant."""

from dataclasses import replace

import pytest

from bigfleet.costs.red_flags import OfferingDay, red_flags
from bigfleet.model.costs import RedFlag
from bigfleet.model.fleet import Fleet
from bigfleet.model.machines import CapacityType, Instant, Machine
from bigfleet.model.options import SECOND
from tests.costs.bills import example, sheet_of

HOLDS = {CapacityType.ON_DEMAND: 600.0}
NOTHING: dict[str, OfferingDay] = {}


def flags_of(fleet: Fleet, days: dict[str, OfferingDay] | None = None) -> dict[str, RedFlag]:
    found, _ = red_flags(sheet_of(fleet), HOLDS, fleet.now, NOTHING if days is None else days)
    return {flag.code: flag for flag in found}


def spot_machine_with(penalty: float) -> Fleet:
    fleet = example()

    def edited(machine: Machine) -> Machine:
        if machine.id != "sp-1":
            return machine
        return replace(machine, assigned=replace(machine.assigned, interruption_penalty=penalty))

    machines = [replace(entry, machine=edited(entry.machine)) for entry in fleet.machines]
    return replace(fleet, machines=tuple(machines))


def later(seconds: float) -> Fleet:
    fleet = example()
    assert fleet.now is not None
    now: Instant = fleet.now + round(seconds * SECOND)
    return replace(fleet, now=now)


def test_a_penalty_above_the_crossover_on_spot_is_told_with_the_price_of_on_demand() -> None:
    flag = flags_of(example())["penalty-on-spot"]
    # $0.28 more for a risk that is 25 points lower.
    assert "more than $1.12 for an interruption" in flag.text
    assert (flag.subject, flag.count) == ("m5.2xlarge/b/Spot", 1)


def test_without_on_demand_of_its_type_spot_is_compared_with_the_same_size() -> None:
    fleet = example()
    machines = tuple(
        replace(entry, machine=replace(entry.machine, instance_type="n2-standard-8"))
        if entry.machine.capacity_type is CapacityType.SPOT
        else entry
        for entry in fleet.machines
    )
    flag = flags_of(replace(fleet, machines=machines))["penalty-on-spot"]
    assert "more than $1.12 for an interruption: On-Demand of m5.2xlarge at $0.40/h" in flag.text


def test_a_penalty_below_the_crossover_is_where_it_belongs() -> None:
    assert "penalty-on-spot" not in flags_of(spot_machine_with(1.0))


def test_a_pinned_workload_on_spot_is_a_danger() -> None:
    flags = flags_of(spot_machine_with(float("inf")))
    assert flags["pinned-on-spot"].severity == "danger"
    assert "penalty-on-spot" not in flags


@pytest.mark.parametrize(("seconds", "is_told"), [(1000, False), (1200, True)])
def test_a_machine_idle_for_twice_its_hold_is_told(seconds: float, is_told: bool) -> None:
    # It is Idle for two minutes in the file; the hold is ten.
    assert ("idle-past-hold" in flags_of(later(seconds))) is is_told


@pytest.mark.parametrize(("highest", "is_told"), [(0.119, False), (0.121, True)])
def test_a_price_that_moved_by_a_fifth_is_told(highest: float, is_told: bool) -> None:
    days = {"m5/a/Spot": OfferingDay(0.10, highest)}
    assert ("price-moved" in flags_of(example(), days)) is is_told


@pytest.mark.parametrize(("seen", "is_told"), [(4, False), (5, True)])
def test_more_interruptions_than_declared_are_told(seen: int, is_told: bool) -> None:
    days = {"m5/a/Spot": OfferingDay(0.1, 0.1, expected_interruptions=2.0, interruptions=seen)}
    assert ("interruptions" in flags_of(example(), days)) is is_told


def test_what_one_cycle_cannot_tell_is_unknown() -> None:
    fleet = replace(example(), now=None)
    _, unknown = red_flags(sheet_of(fleet), HOLDS, None, None)
    assert [text.partition(":")[0] for text in unknown] == [
        "Idle past its hold",
        "prices that moved within a day, and interruptions above the declared probability",
    ]
