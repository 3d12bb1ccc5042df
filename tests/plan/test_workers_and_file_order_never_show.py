"""Law 4 as a reader of the output sees it: the same bytes for any workers and any order."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random

import pytest

from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import cycle_input
from bigfleet.plan.cycles import planned_cycles
from bigfleet.plan.document import plan_document

NEEDS, MACHINES = 96, 240
CPU = Resources.parse({"cpu": "4"})


def machine(number: int) -> FleetMachine:
    name = f"m{number:03}"
    return FleetMachine(
        Machine(
            id=name,
            state=MachineState.IDLE if number % 3 else MachineState.SPECULATIVE,
            capacity_type=CapacityType.ON_DEMAND,
            host=Host("sim", name) if number % 3 else Host(),
            instance_type=("m5", "c6", "r6")[number % 5 % 3],
            resources=CPU,
            price_per_hour=float(number % 4),
        )
    )


def need(number: int) -> FleetNeed:
    types = [("m5",), ("c6", "r6"), ("m5", "c6")][number % 3]
    profile = Profile.of(
        [Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, types)], priority=number % 7
    )
    return FleetNeed(
        Need("shop", profile, CPU.times(1 + number % 4), CPU, group=f"g{number}"),
    )


@pytest.fixture
def contended() -> Fleet:
    """Every Need shares machines with every other, so all of them are one contention area."""
    return Fleet(
        machines=tuple(machine(n) for n in range(MACHINES)),
        needs=tuple(need(n) for n in range(NEEDS)),
        options=EngineOptions(smallest_share=1, most_conflicts=1.0),
    )


def output(fleet: Fleet, workers: int) -> str:
    cycles = list(planned_cycles(fleet, workers=workers, clock=lambda: 0.0))
    return json.dumps(plan_document(cycles, explain=True))


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_shuffled_machines_and_any_number_of_workers_print_the_same_bytes(
    contended: Fleet, workers: int
) -> None:
    shuffled = replace(
        contended, machines=tuple(Random(workers).sample(contended.machines, MACHINES))
    )
    assert output(shuffled, workers) == output(contended, 1)


def test_workers_that_share_an_area_meet_conflicts_and_lose_nothing_by_them(
    contended: Fleet,
) -> None:
    alone = cycle_input(contended).decide()
    with ThreadPoolExecutor(4) as threads:
        together = cycle_input(contended, workers=4, run_workers=threads.map).decide()
    assert together.counters.conflicts > 0
    assert together.counters.retries == together.counters.conflicts
    assert together.counters.displacements == 0
    assert alone.counters.conflicts == 0
    assert together.actions == alone.actions
