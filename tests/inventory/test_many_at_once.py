"""Removing, holding and comparing many machines at once says what one at a time would say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.engine.inventory import Inventory
from bigfleet.model.batches import NEVER, Hosts, MachineBatch, Offering, Texts
from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.fleet import Held, HeldBy, Marks
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState

IDLE, SPECULATIVE = MachineState.IDLE, MachineState.SPECULATIVE
CONFIGURED, FAILED = MachineState.CONFIGURED, MachineState.FAILED
UNSEEN = Held(HeldBy.UNSEEN)
NAMES = [f"m-{i}" for i in range(8)]


def machine(number: int, state: MachineState = CONFIGURED) -> Machine:
    bound = state is CONFIGURED
    host = Host() if state is SPECULATIVE else Host("sim", f"i-{number}")
    error = "broken" if state is FAILED else ""
    price = float(number % 3)
    return Machine(
        NAMES[number],
        state,
        host=host,
        cluster="shop" if bound else "",
        price_per_hour=price,
        last_error=error,
    )


def fleet(*states: MachineState) -> Inventory:
    inventory = Inventory()
    for number, state in enumerate(states or [CONFIGURED] * len(NAMES)):
        inventory.insert(machine(number, state))
    return inventory


def held(inventory: Inventory, *names: str) -> list[Held | None]:
    return [inventory.marks_of(name).held for name in names]


@given(st.lists(st.sampled_from(NAMES), unique=True), st.sets(st.sampled_from(NAMES)))
def test_many_leave_as_one_after_the_other_would(gone: list[str], dirty: set[str]) -> None:
    at_once, one_by_one = fleet(), fleet()
    for inventory in (at_once, one_by_one):
        inventory.snapshot()
        for name in dirty:
            inventory.apply(replace(inventory.machine_of(name), price_per_hour=9.0))
    at_once.remove_all(gone)
    for name in gone:
        one_by_one.remove(name)
    first, second = at_once.snapshot(), one_by_one.snapshot()
    assert first.ids == second.ids == [name for name in NAMES if name not in gone]
    assert first.keep_order.tolist() == second.keep_order.tolist()
    assert [at_once.machine_of(n) for n in first.ids] == [
        one_by_one.machine_of(n) for n in second.ids
    ]


def test_if_one_is_unknown_none_leaves() -> None:
    inventory = fleet()
    with pytest.raises(NoSuchMachine, match="m-99"):
        inventory.remove_all(["m-1", "m-99"])
    assert len(inventory) == len(NAMES)


def test_what_lay_beside_the_columns_leaves_too() -> None:
    inventory = fleet(FAILED, IDLE)
    inventory.mark("m-1", Marks(held=Held(HeldBy.BACKOFF, 5)))
    inventory.remove_all(["m-0", "m-1"])
    inventory.insert(machine(0, IDLE))
    inventory.insert(machine(1, IDLE))
    assert inventory.machine_of("m-0").last_error == ""
    assert held(inventory, "m-1") == [None]


def test_only_free_machines_that_are_not_held_yet_are_held() -> None:
    inventory = fleet(IDLE, SPECULATIVE, CONFIGURED, IDLE)
    backoff = Held(HeldBy.BACKOFF, 5)
    inventory.mark("m-3", Marks(held=backoff))
    inventory.hold_all(["m-0", "m-1", "m-2", "m-3", "unknown"], UNSEEN)
    assert held(inventory, *NAMES[:4]) == [UNSEEN, UNSEEN, None, backoff]


def test_a_hold_is_lifted_by_its_own_reason_only() -> None:
    inventory = fleet(IDLE, IDLE, IDLE)
    backoff = Held(HeldBy.BACKOFF, 5)
    inventory.mark("m-1", Marks(held=backoff))
    inventory.hold_all(["m-0", "m-2"], UNSEEN)
    inventory.lift_all(["m-0", "m-1", "unknown"], HeldBy.UNSEEN)
    assert held(inventory, *NAMES[:3]) == [None, backoff, UNSEEN]
    inventory.lift_all(["m-1"], HeldBy.BACKOFF)
    assert held(inventory, "m-1") == [None]


def test_holding_many_may_have_an_end() -> None:
    inventory = fleet(IDLE)
    inventory.hold_all(["m-0"], Held(HeldBy.QUOTA, 7))
    assert held(inventory, "m-0") == [Held(HeldBy.QUOTA, 7)]


def test_a_hold_shows_in_the_next_snapshot() -> None:
    inventory = fleet(IDLE)
    before = inventory.snapshot()
    inventory.hold_all(["m-0"], UNSEEN)
    assert inventory.snapshot().columns.held.tolist() != before.columns.held.tolist()


def test_a_batch_is_told_apart_into_known_unknown_and_moved() -> None:
    inventory = fleet(IDLE, CONFIGURED, CONFIGURED, CONFIGURED)
    states = [IDLE, CONFIGURED, CONFIGURED, MachineState.DRAINING, IDLE]
    batch = MachineBatch(
        ids=["m-0", "m-1", "m-2", "m-3", "new"],
        offerings=[Offering(CapacityType.SPOT)],
        clusters=["shop", "ml"],
        stamps=[],
        offering_of_machine=np.zeros(5, np.int32),
        state_of_machine=np.array(states, np.int8),
        cluster_of_machine=np.array([-1, 0, 1, 0, -1], np.int32),
        stamp_of_machine=np.full(5, -1, np.int32),
        idle_since_of_machine=np.full(5, NEVER, np.int64),
        hosts=Hosts(["sim"], np.zeros(5, np.int32), Texts.of(["i"] * 5)),
    )
    known, stays = inventory.stays(batch)
    assert known.tolist() == [True, True, True, True, False]
    assert stays.tolist() == [True, True, False, False, False]
