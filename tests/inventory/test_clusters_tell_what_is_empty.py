"""Which machines run nothing is told by their clusters, whole, and forgotten when they leave."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.engine.inventory import Inventory
from bigfleet.model.fleet import Held, HeldBy, Marks
from bigfleet.model.machines import Host, Machine, MachineState
from tests.inventory.batches import batch_of_machines

S = MachineState
NAMES = [f"m-{number}" for number in range(6)]


def machine(name: str, state: MachineState = S.CONFIGURED, cluster: str = "shop") -> Machine:
    return Machine(name, state, host=Host("sim", name), cluster=cluster)


def fleet(cluster: str = "shop") -> Inventory:
    inventory = Inventory()
    for name in NAMES:
        inventory.insert(machine(name, cluster=cluster))
    return inventory


def empty(inventory: Inventory) -> list[str]:
    """As marks and as the next snapshot has them."""
    marked = [name for name in NAMES if name in inventory and inventory.marks_of(name).empty]
    snapshot = inventory.snapshot()
    column = [snapshot.ids[row] for row in snapshot.columns.empty.nonzero()[0]]
    assert column == marked
    return marked


def test_a_machine_without_a_report_counts_as_busy() -> None:
    assert empty(fleet()) == []


def test_a_report_replaces_what_was_known_of_the_cluster() -> None:
    inventory = fleet()
    inventory.report_empty("shop", ["m-1", "m-2"])
    assert empty(inventory) == ["m-1", "m-2"]
    inventory.report_empty("shop", ["m-2", "m-3"])
    assert empty(inventory) == ["m-2", "m-3"]
    inventory.report_empty("shop", [])
    assert empty(inventory) == []


def test_a_cluster_speaks_for_its_own_configured_machines_only() -> None:
    inventory = fleet()
    inventory.insert(machine("m-6-idle", S.IDLE, ""))
    inventory.insert(machine("m-7-elsewhere", cluster="bank"))
    inventory.report_empty("shop", ["m-0", "m-6-idle", "m-7-elsewhere", "unknown"])
    inventory.report_empty("nowhere", ["m-1"])
    assert empty(inventory) == ["m-0"]
    inventory.report_empty("bank", [])
    assert empty(inventory) == ["m-0"]


def test_the_mark_ends_when_the_machine_leaves_configured_and_is_not_its_own_again() -> None:
    inventory = fleet()
    inventory.report_empty("shop", ["m-1"])
    inventory.apply(machine("m-1", S.DRAINING))
    assert empty(inventory) == []
    inventory.apply(machine("m-1", S.CONFIGURED), adopted=True)
    assert empty(inventory) == []
    inventory.report_empty("shop", ["m-1"])
    assert empty(inventory) == ["m-1"]


def test_the_mark_ends_with_the_cluster() -> None:
    inventory = fleet()
    inventory.report_empty("shop", ["m-1"])
    inventory.apply(machine("m-1", cluster="bank"), adopted=True)
    assert empty(inventory) == []


def test_the_mark_ends_when_the_machine_is_removed() -> None:
    inventory = fleet()
    inventory.report_empty("shop", ["m-1"])
    inventory.remove("m-1")
    inventory.insert(machine("m-1"))
    assert empty(inventory) == []
    inventory.report_empty("shop", ["m-1"])
    assert empty(inventory) == ["m-1"]


def test_a_new_price_and_other_marks_leave_it() -> None:
    inventory = fleet()
    inventory.report_empty("shop", ["m-1"])
    inventory.apply(replace(machine("m-1"), price_per_hour=9.0))
    marks = inventory.marks_of("m-1")
    inventory.mark("m-1", replace(marks, overdue=True))
    assert inventory.marks_of("m-1") == Marks(overdue=True, empty=True)


@pytest.mark.parametrize(("state", "stays"), [(S.CONFIGURED, True), (S.DRAINING, False)])
def test_a_list_ends_the_mark_only_where_it_moves_the_machine(
    state: MachineState, stays: bool
) -> None:
    inventory = fleet()
    inventory.report_empty("shop", ["m-1", "m-2"])
    listed = [machine(name, state if name == "m-1" else S.CONFIGURED) for name in NAMES]
    inventory.adopt(batch_of_machines(listed), source="sim")
    assert empty(inventory) == (["m-1", "m-2"] if stays else ["m-2"])


def test_what_is_not_configured_is_never_empty() -> None:
    inventory = Inventory()
    inventory.insert(machine("m-0", S.IDLE, ""), Marks(held=Held(HeldBy.QUOTA), empty=True))
    assert empty(inventory) == []


@given(
    st.lists(
        st.tuples(st.sampled_from(["tell", "drain", "remove"]), st.sets(st.sampled_from(NAMES)))
    )
)
def test_after_any_history_the_last_report_counts(history: list[tuple[str, set[str]]]) -> None:
    inventory, told = fleet(), set[str]()
    for what, names in history:
        if what == "tell":
            inventory.report_empty("shop", names)
            told = set(names)
        else:
            for name in names:
                if what == "drain":
                    inventory.apply(machine(name, S.DRAINING))
                else:
                    inventory.remove(name)
                    inventory.insert(machine(name))
                inventory.apply(machine(name), adopted=True)
            told -= names
        assert empty(inventory) == sorted(told)
