"""Prices walk and gangs come and go for years: what is interned for them must not pile up."""

from dataclasses import replace

from bigfleet.engine.inventory import Inventory
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState

STEPS = 12_000


def spot(name: str, price: float) -> Machine:
    return Machine(
        id=name,
        state=MachineState.IDLE,
        capacity_type=CapacityType.SPOT,
        host=Host("sim", name),
        price_per_hour=price,
    )


def test_a_price_that_walks_for_days_leaves_the_tables_small() -> None:
    inventory = Inventory()
    inventory.insert(spot("m-1", 0.0))
    inventory.insert(spot("m-2", 7.5))
    first = inventory.snapshot()
    for step in range(1, STEPS):
        inventory.apply(spot("m-1", step / STEPS))
        inventory.snapshot()
    assert len(inventory.tables.offerings) < STEPS / 2
    assert inventory.machine_of("m-1").price_per_hour == (STEPS - 1) / STEPS
    assert inventory.machine_of("m-2").price_per_hour == 7.5
    assert first.offerings.price[first.columns.offering].tolist() == [0.0, 7.5]


def test_machines_keep_their_cluster_and_stamp_when_the_tables_start_anew() -> None:
    inventory = Inventory()
    stamp = Assigned(priority=5, reclamation_penalty=2.0, need_fingerprint="f", group="g")
    bound = replace(spot("m-2", 1.0), state=MachineState.CONFIGURED, cluster="shop", assigned=stamp)
    inventory.insert(spot("m-1", 0.0))
    inventory.insert(bound)
    for step in range(1, STEPS):
        inventory.apply(spot("m-1", step / STEPS))
        inventory.snapshot()
    assert inventory.machine_of("m-2") == bound
    snapshot = inventory.snapshot()
    assert snapshot.sorted_cluster_state_bucket("shop", MachineState.CONFIGURED) == ["m-2"]
