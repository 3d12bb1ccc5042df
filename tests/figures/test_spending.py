"""Spending by cluster, type, zone and priority: each axis adds up to the same bill."""

import math
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.engine import spending
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.spending import spending_of
from bigfleet.model.figures import OTHERS, SPENDING_AXES, CostAxis, SpendingRow
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from tests.generated.fleets import fleet_of_seed

CONFIGURED, IDLE, CREATING = MachineState.CONFIGURED, MachineState.IDLE, MachineState.CREATING
SPOT, METAL = CapacityType.SPOT, CapacityType.BARE_METAL


def bill_of(*machines: Machine) -> dict[tuple[CostAxis, str], float]:
    return dollars(rows_of(*machines))


def rows_of(*machines: Machine) -> list[SpendingRow]:
    inventory = Inventory()
    for each in machines:
        inventory.insert(each)
    return spending_of(inventory.snapshot())


def dollars(rows: list[SpendingRow]) -> dict[tuple[CostAxis, str], float]:
    found: defaultdict[tuple[CostAxis, str], float] = defaultdict(float)
    for row in rows:
        found[row.axis, row.name] += row.dollars_per_hour
    return dict(found)


def bound(name: str, cluster: str, price: float, **more: object) -> Machine:
    host = Host("sim", name)
    return Machine(name, CONFIGURED, SPOT, host, cluster, price_per_hour=price, **more)  # type: ignore[arg-type]


def test_a_bound_machine_is_paid_by_its_cluster_and_an_idle_one_by_none() -> None:
    idle = Machine("i", IDLE, METAL, Host("sim", "i"), price_per_hour=0.5)
    found = bill_of(bound("a", "shop", 0.1), bound("b", "ml", 0.2), idle)
    assert found[CostAxis.CLUSTER, "shop"] == pytest.approx(0.1)
    assert found[CostAxis.CLUSTER, "ml"] == pytest.approx(0.2)
    assert found[CostAxis.CLUSTER, ""] == pytest.approx(0.5)


def test_a_machine_that_is_being_created_is_paid_by_the_cluster_that_ordered_it() -> None:
    ordered = Machine(
        "c", CREATING, SPOT, price_per_hour=0.3, assigned=Assigned(priority=7, cluster="shop")
    )
    found = bill_of(ordered)
    assert found[CostAxis.CLUSTER, "shop"] == pytest.approx(0.3)
    assert found[CostAxis.PRIORITY, "7"] == pytest.approx(0.3)


def test_what_could_be_bought_costs_nothing() -> None:
    assert rows_of(Machine("s", MachineState.SPECULATIVE, SPOT, price_per_hour=9.0)) == []


def test_declared_dollars_are_told_apart_and_pinned_ones_are_counted() -> None:
    declared = Assigned(interruption_penalty=8.0)
    pinned = Assigned(interruption_penalty=math.inf)
    rows = rows_of(
        bound("a", "shop", 1.0, interruption_probability=0.25, assigned=declared),
        bound("b", "shop", 1.0, interruption_probability=0.25, assigned=pinned),
    )
    (row,) = [row for row in rows if row.axis is CostAxis.CLUSTER]
    assert row.dollars_per_hour == pytest.approx(2.0)
    assert row.expected_interruption_per_hour == pytest.approx(2.0)
    assert (row.machines, row.pinned, row.unpriced) == (2, 1, 0)


def test_names_beyond_the_most_are_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "MOST_NAMES", 2)
    machines = [bound(f"m-{n}", f"c-{n}", float(n)) for n in range(1, 6)]
    bill = bill_of(*machines)
    found = {name: amount for (axis, name), amount in bill.items() if axis is CostAxis.CLUSTER}
    assert found == {"c-5": 5.0, "c-4": 4.0, OTHERS: 6.0}


@given(st.integers(0, 10_000))
def test_every_axis_adds_up_to_the_sum_over_machines(seed: int) -> None:
    """F7: attribution sums to the total on every axis."""
    machines = [each.machine for each in fleet_of_seed(seed).machines]
    real = [m for m in machines if m.state is not MachineState.SPECULATIVE]
    rows = rows_of(*machines)
    for axis in SPENDING_AXES:
        own = [row for row in rows if row.axis is axis]
        assert sum(row.machines for row in own) == len(real)
        billed = math.fsum(m.price_per_hour for m in real)
        assert math.fsum(row.dollars_per_hour for row in own) == pytest.approx(billed)
        assert sum(row.unpriced for row in own) == sum(m.price_per_hour == 0 for m in real)
