"""Rates of cycles, added up into hours: what was observed, exactly, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.costs.meter import (
    HOUR,
    LONGEST_GAP_SECONDS,
    BillingChange,
    Hour,
    Meter,
    pieces,
)
from bigfleet.model.costs import AMOUNTS
from bigfleet.model.fleet import Fleet
from bigfleet.model.machines import Host, Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from tests.costs.bills import example, sheet_of

BILLED, MACHINES = AMOUNTS.index("billed"), AMOUNTS.index("machines")
START: Instant = 500_000 * HOUR
RATE = 1.72


def after(seconds: float) -> Instant:
    return START + round(seconds * SECOND)


def dollars(hours: dict[Instant, Hour]) -> float:
    return sum(float(v[BILLED]) for hour in hours.values() for _, v in hour.charges.items())


def observed(hours: dict[Instant, Hour]) -> float:
    return sum(hour.observed_seconds for hour in hours.values())


def metered(fleets: Sequence[tuple[float, Fleet]], *changes: BillingChange) -> dict[Instant, Hour]:
    meter, waiting = Meter(), list(changes)
    for seconds, fleet in fleets:
        due = [change for change in waiting if change.at <= after(seconds)]
        waiting = waiting[len(due) :]
        meter.observe(sheet_of(fleet), after(seconds), due)
    return meter.taken()


def with_price(price: float) -> Fleet:
    """Of the machine that is Idle."""
    return edited("free-1", price_per_hour=price)


def edited(name: str, **fields: object) -> Fleet:
    fleet = example()
    machines = tuple(
        replace(e, machine=replace(e.machine, **fields)) if e.machine.id == name else e  # type: ignore[arg-type]
        for e in fleet.machines
    )
    return replace(fleet, machines=machines)


def record_of(name: str) -> Machine:
    return next(e.machine for e in example().machines if e.machine.id == name)


def slot_of(name: str) -> Fleet:
    """The example before that machine was bought."""
    return edited(name, state=MachineState.SPECULATIVE, host=Host(), cluster="", last_error="")


def test_a_rate_counts_for_as_long_as_it_holds() -> None:
    hours = metered([(0, example()), (90, example()), (180, example())])
    assert dollars(hours) == pytest.approx(RATE * 180 / 3600)
    assert observed(hours) == pytest.approx(180)


def test_an_hour_that_turns_divides_the_bill() -> None:
    hours = metered([(3590, example()), (3620, example())])
    assert {begins: hour.observed_seconds for begins, hour in hours.items()} == {
        START: pytest.approx(10),
        START + HOUR: pytest.approx(20),
    }
    assert dollars(hours) == pytest.approx(RATE * 30 / 3600)


def test_a_new_price_holds_from_the_cycle_that_shows_it() -> None:
    hours = metered([(0, example()), (60, with_price(1.40)), (120, example())])
    assert dollars(hours) == pytest.approx((RATE * 60 + (RATE + 1.0) * 60) / 3600)


def test_a_machine_counts_from_the_moment_it_is_ordered() -> None:
    bought = BillingChange(after(10), "free-1", record_of("free-1"))
    hours = metered([(0, slot_of("free-1")), (60, example()), (120, example())], bought)
    assert dollars(hours) == pytest.approx((1.32 * 120 + 0.40 * 110) / 3600)


def test_a_machine_counts_until_the_moment_it_is_gone() -> None:
    gone = BillingChange(after(10), "free-1", None)
    hours = metered([(0, example()), (60, slot_of("free-1"))], gone)
    assert dollars(hours) == pytest.approx((1.32 * 60 + 0.40 * 10) / 3600)


def test_a_machine_that_came_and_went_between_two_cycles_counts() -> None:
    slot = slot_of("free-1")
    came = BillingChange(after(10), "free-1", record_of("free-1"))
    went = BillingChange(after(30), "free-1", None)
    hours = metered([(0, slot), (60, slot)], came, went)
    assert dollars(hours) == pytest.approx((1.32 * 60 + 0.40 * 20) / 3600)


def test_a_change_that_the_cycle_shows_already_counts_once() -> None:
    came = BillingChange(after(60), "free-1", record_of("free-1"))
    hours = metered([(0, slot_of("free-1")), (60, example()), (120, example())], came)
    assert dollars(hours) == pytest.approx((1.32 * 120 + 0.40 * 60) / 3600)


def test_a_change_in_the_cycle_that_caused_it_counts_from_there() -> None:
    came = BillingChange(after(60), "free-1", record_of("free-1"))
    slot = slot_of("free-1")
    hours = metered([(0, slot), (60, slot), (120, example())], came)
    assert dollars(hours) == pytest.approx((1.32 * 120 + 0.40 * 60) / 3600)


def test_a_gap_is_left_out_and_not_filled() -> None:
    late = LONGEST_GAP_SECONDS + 61
    hours = metered([(0, example()), (60, example()), (late, example()), (late + 60, example())])
    assert observed(hours) == pytest.approx(120)
    assert dollars(hours) == pytest.approx(RATE * 120 / 3600)


def test_a_clock_that_goes_back_counts_nothing_twice() -> None:
    hours = metered([(600, example()), (660, example()), (60, example()), (120, example())])
    assert observed(hours) == pytest.approx(120)


def test_a_machine_without_a_cluster_is_told_apart() -> None:
    hours = metered([(0, example()), (60, example())])
    clusters = {key.cluster for key, _ in hours[START].charges.items()}
    assert clusters == {"shop", "ml", ""}


@given(st.lists(st.integers(1, 250), min_size=1, max_size=30))
def test_what_is_observed_is_what_lies_between_the_cycles(steps: list[int]) -> None:
    meter, at, sheet = Meter(), 0, sheet_of(example())
    meter.observe(sheet, after(0), [])
    for step in steps:
        at += step
        meter.observe(sheet, after(at), [])
    hours = meter.taken()
    assert observed(hours) == pytest.approx(at)
    assert dollars(hours) == pytest.approx(RATE * at / 3600)


@given(st.integers(0, 10**13), st.integers(0, 10**13))
def test_pieces_are_the_whole_time_in_hours(begins: int, length: int) -> None:
    found = list(pieces(begins, begins + length))
    assert sum(seconds for _, seconds in found) == pytest.approx(length / SECOND)
    assert all(hour % HOUR == 0 and seconds <= 3600 for hour, seconds in found)


def test_what_could_not_be_kept_is_given_again() -> None:
    meter = Meter()
    meter.observe(sheet_of(example()), after(0), [])
    meter.observe(sheet_of(example()), after(60), [])
    meter.give_back(meter.taken())
    meter.observe(sheet_of(example()), after(120), [])
    assert dollars(meter.taken()) == pytest.approx(RATE * 120 / 3600)
    assert dollars(meter.taken()) == 0
