"""Worked cases M19-M33: what a sound machine looks like, and what its capacity is."""

import math
from dataclasses import replace

import pytest

from bigfleet.model.machines import (
    CapacityType,
    Host,
    Machine,
    MachineState,
    broken_invariants,
    why_invalid,
)
from bigfleet.model.resources import Resources

HOST = Host("sim", "h-1")
SPECULATIVE = Machine("m-1", MachineState.SPECULATIVE)
IDLE = Machine("m-1", MachineState.IDLE, host=HOST)
CONFIGURED = Machine("m-1", MachineState.CONFIGURED, host=HOST, cluster="shop")
FAILED = Machine("m-1", MachineState.FAILED, last_error="no capacity")

SOUND = {
    "a slot without a host": SPECULATIVE,
    "an order without a host": replace(SPECULATIVE, state=MachineState.CREATING),
    "an idle host": IDLE,
    "a host on its way into a cluster": replace(
        IDLE, state=MachineState.CONFIGURING, cluster="shop"
    ),
    "a host on its way into an unnamed cluster": replace(IDLE, state=MachineState.CONFIGURING),
    "a bound host": CONFIGURED,
    "a bound host on its way out": replace(CONFIGURED, state=MachineState.DRAINING),
    "a host on its way to nothing": replace(IDLE, state=MachineState.DELETING),
    "a failed machine that says why": FAILED,
    "a failed machine with its host": replace(FAILED, host=HOST),
    "a priced and risky one": replace(IDLE, price_per_hour=3.5, interruption_probability=0.07),
    "certain interruption": replace(IDLE, interruption_probability=1.0),
    "half a host name": replace(IDLE, host=Host("", "h-1")),
}
BROKEN = {
    "a slot with a host": (replace(SPECULATIVE, host=HOST), "host"),
    "a slot with half a host": (replace(SPECULATIVE, host=Host("sim", "")), "host"),
    "a slot with a cluster": (replace(SPECULATIVE, cluster="shop"), "cluster"),
    "an order with a cluster": (
        replace(SPECULATIVE, state=MachineState.CREATING, cluster="shop"),
        "cluster",
    ),
    "idle without a host": (replace(IDLE, host=Host()), "host"),
    "configuring without a host": (
        replace(IDLE, state=MachineState.CONFIGURING, host=Host()),
        "host",
    ),
    "deleting without a host": (replace(IDLE, state=MachineState.DELETING, host=Host()), "host"),
    "configured without a cluster": (replace(CONFIGURED, cluster=""), "cluster"),
    "configured without a host": (replace(CONFIGURED, host=Host()), "host"),
    "draining without a cluster": (
        replace(CONFIGURED, state=MachineState.DRAINING, cluster=""),
        "cluster",
    ),
    "failed without a word": (replace(FAILED, last_error=""), "lastError"),
    "no state": (Machine("m-1", MachineState.UNSPECIFIED), "state"),
    "probability above one": (
        replace(IDLE, interruption_probability=1.5),
        "interruptionProbability",
    ),
    "negative probability": (
        replace(IDLE, interruption_probability=-0.1),
        "interruptionProbability",
    ),
    "probability NaN": (
        replace(IDLE, interruption_probability=math.nan),
        "interruptionProbability",
    ),
    "negative price": (replace(IDLE, price_per_hour=-0.01), "pricePerHour"),
    "price NaN": (replace(IDLE, price_per_hour=math.nan), "pricePerHour"),
    "infinite price": (replace(IDLE, price_per_hour=math.inf), "pricePerHour"),
}


@pytest.mark.parametrize("machine", SOUND.values(), ids=SOUND)
def test_a_sound_machine_has_nothing_against_it(machine: Machine) -> None:
    assert broken_invariants(machine) == []
    assert why_invalid(machine) is None


@pytest.mark.parametrize(("machine", "field"), BROKEN.values(), ids=BROKEN)
def test_a_broken_invariant_names_its_field(machine: Machine, field: str) -> None:
    assert [name for name, _ in broken_invariants(machine)] == [field]


def test_all_broken_invariants_are_told_at_once_and_the_first_is_the_reason() -> None:
    machine = replace(CONFIGURED, host=Host(), cluster="", price_per_hour=-1.0)
    assert [name for name, _ in broken_invariants(machine)] == ["host", "cluster", "pricePerHour"]
    assert why_invalid(machine) == ("host", "a Configured machine must name its host")


def test_a_creating_machine_may_say_whose_order_it_is() -> None:
    ordered = replace(SPECULATIVE, state=MachineState.CREATING)
    assert why_invalid(replace(ordered, assigned=replace(ordered.assigned, cluster="shop"))) is None


def test_the_base_shape_stands_in_until_the_real_capacity_is_known() -> None:
    machine = replace(IDLE, resources=Resources.parse({"cpu": "1", "memory": "2Gi"}))
    assert machine.effective_allocatable == machine.resources


def test_the_real_capacity_wins_over_the_base_shape() -> None:
    real = Resources.parse({"cpu": "16", "memory": "32Gi"})
    machine = replace(IDLE, resources=Resources.parse({"cpu": "1"}), allocatable=real)
    assert machine.effective_allocatable == real


def test_labels_of_states_and_capacity_types_are_the_words_of_the_fleet_file() -> None:
    assert [c.label for c in CapacityType] == [
        "Unspecified",
        "BareMetal",
        "Reserved",
        "OnDemand",
        "Spot",
    ]
    assert MachineState.SPECULATIVE.label == "Speculative"
