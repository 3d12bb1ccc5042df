"""The orders a snapshot offers: by id, by price, and in keep order."""

from bigfleet.engine.inventory import Inventory
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.machines import Assigned, Host, Machine, MachineState

CONFIGURED, IDLE = MachineState.CONFIGURED, MachineState.IDLE
LARGEST_PRIORITY = 2**31 - 1


def configured(
    name: str, priority: int = 0, instance_type: str = "", price: float = 0.0, penalty: float = 0.0
) -> Machine:
    return Machine(
        name,
        CONFIGURED,
        host=Host("sim", name),
        cluster="cluster-a",
        instance_type=instance_type,
        price_per_hour=price,
        assigned=Assigned(priority=priority, reclamation_penalty=penalty),
    )


def snapshot_of(*machines: Machine) -> Snapshot:
    inventory = Inventory()
    for each in machines:
        inventory.insert(each)
    return inventory.snapshot()


def test_the_lowest_priority_is_known_by_state_and_by_type() -> None:
    """I10."""
    snapshot = snapshot_of(
        configured("m-1", 1_000_000, "a3"),
        configured("m-2", 100, "a3"),
        configured("m-3", 500, "m6i"),
    )
    assert snapshot.min_assigned_priority(CONFIGURED, "a3") == 100
    assert snapshot.min_assigned_priority(CONFIGURED, "m6i") == 500
    assert snapshot.min_assigned_priority(CONFIGURED, "absent") == LARGEST_PRIORITY
    assert snapshot.min_assigned_priority(CONFIGURED) == 100
    assert snapshot.min_assigned_priority(IDLE) == LARGEST_PRIORITY


def test_machines_of_a_state_go_by_id() -> None:
    snapshot = snapshot_of(configured("c", price=1), configured("a", price=3), configured("b"))
    assert snapshot.list_by_state(CONFIGURED) == ["a", "b", "c"]


def test_machines_of_a_type_go_by_price_then_id_and_untyped_ones_are_in_no_type() -> None:
    snapshot = snapshot_of(
        configured("c", instance_type="a3", price=1),
        configured("b", instance_type="a3", price=2),
        configured("a", instance_type="a3", price=2),
        configured("untyped"),
    )
    assert snapshot.list_by_state_instance_type(CONFIGURED, "a3") == ["c", "a", "b"]
    assert snapshot.list_by_state_instance_type(CONFIGURED, "") == []


def test_keep_order_is_price_then_dearest_to_reclaim_then_busy_then_id() -> None:
    """U23."""
    inventory = Inventory()
    for name, price, penalty in (("a", 1, 0), ("b", 1, 0), ("c", 1, 5), ("d", 2, 9), ("e", 1, 0)):
        inventory.insert(configured(name, price=price, penalty=penalty))
    inventory.report_empty("cluster-a", ["a", "c"])
    snapshot = inventory.snapshot()
    in_order = snapshot.sorted_cluster_state_bucket("cluster-a", CONFIGURED)
    assert in_order == ["c", "b", "e", "a", "d"]
    assert [snapshot.ids[row] for row in snapshot.keep_order] == in_order


def test_keep_order_is_price_then_dearest_to_reclaim_then_id() -> None:
    snapshot = snapshot_of(
        configured("d", price=2, penalty=9),
        configured("c", price=1, penalty=0),
        configured("b", price=1, penalty=5),
        configured("a", price=1, penalty=0),
    )
    assert snapshot.sorted_cluster_state_bucket("cluster-a", CONFIGURED) == ["b", "a", "c", "d"]
    assert snapshot.sorted_cluster_state_bucket("cluster-a", IDLE) == []
    assert snapshot.sorted_cluster_state_bucket("elsewhere", CONFIGURED) == []
