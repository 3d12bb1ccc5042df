"""The inventory refuses what cannot be and keeps the last good record."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock

import pytest

from bigfleet.engine.inventory import Inventory
from bigfleet.model.errors import DuplicateMachine, InvalidMachine, NoSuchMachine
from bigfleet.model.fleet import Marks
from bigfleet.model.machines import Assigned, Host, InvalidTransition, Machine, MachineState
from bigfleet.model.options import SECOND

CONFIGURED, DRAINING = MachineState.CONFIGURED, MachineState.DRAINING
IDLE, SPECULATIVE = MachineState.IDLE, MachineState.SPECULATIVE


def speculative(name: str) -> Machine:
    return Machine(name, SPECULATIVE)


def idle(name: str) -> Machine:
    return Machine(name, IDLE, host=Host("sim", name))


def configured(name: str, cluster: str = "cluster-a") -> Machine:
    return Machine(name, CONFIGURED, host=Host("sim", name), cluster=cluster)


def inventory_of(*machines: Machine) -> Inventory:
    inventory = Inventory()
    for each in machines:
        inventory.insert(each)
    return inventory


def drain(inventory: Inventory, machine: Machine, now: int | None = None) -> None:
    inventory.apply(replace(machine, state=DRAINING))
    inventory.apply(replace(machine, state=IDLE, cluster="", assigned=Assigned()), now=now)


def test_a_known_id_is_not_inserted_again() -> None:
    """I1."""
    inventory = inventory_of(idle("m"))
    with pytest.raises(DuplicateMachine):
        inventory.insert(configured("m"))
    assert inventory.machine_of("m") == idle("m")


def test_an_id_the_snapshot_already_knows_is_not_inserted_again() -> None:
    """I1, after the first machine has its row."""
    inventory = inventory_of(idle("m"))
    inventory.snapshot()
    with pytest.raises(DuplicateMachine):
        inventory.insert(idle("m"))
    assert len(inventory) == 1


def test_a_record_that_breaks_an_invariant_is_refused() -> None:
    """I2: Idle without a host."""
    inventory = Inventory()
    with pytest.raises(InvalidMachine, match="host"):
        inventory.insert(Machine("m", IDLE))
    assert "m" not in inventory
    assert len(inventory) == 0


def test_an_impossible_step_is_refused_and_the_last_good_record_stays() -> None:
    """I3."""
    inventory = inventory_of(configured("m"))
    with pytest.raises(InvalidTransition):
        inventory.apply(idle("m"))
    assert inventory.machine_of("m") == configured("m")


def test_an_invalid_record_is_refused_and_the_last_good_one_stays() -> None:
    inventory = inventory_of(idle("m"))
    with pytest.raises(InvalidMachine, match="price"):
        inventory.apply(replace(idle("m"), price_per_hour=-3.0))
    assert inventory.machine_of("m") == idle("m")


def test_a_legal_step_is_taken() -> None:
    """I4."""
    inventory = inventory_of(speculative("m"))
    inventory.apply(replace(speculative("m"), state=MachineState.CREATING))
    assert inventory.machine_of("m").state is MachineState.CREATING


def test_what_is_not_there_cannot_be_removed_or_changed() -> None:
    """I5."""
    inventory = Inventory()
    with pytest.raises(NoSuchMachine):
        inventory.remove("m")
    with pytest.raises(NoSuchMachine):
        inventory.apply(idle("m"))


def test_machines_are_counted_by_state_and_cluster() -> None:
    """I6."""
    snapshot = inventory_of(
        speculative("s-1"),
        speculative("s-2"),
        idle("i-1"),
        configured("c-1", "cluster-a"),
        configured("c-2", "cluster-a"),
        configured("c-3", "cluster-b"),
    ).snapshot()
    assert [snapshot.count(s) for s in (SPECULATIVE, IDLE, CONFIGURED)] == [2, 1, 3]
    assert [snapshot.count(CONFIGURED, c) for c in ("cluster-a", "cluster-b")] == [2, 1]


def test_a_snapshot_does_not_see_what_comes_later() -> None:
    """I7."""
    inventory = inventory_of(configured("a"), configured("b"))
    before = inventory.snapshot()
    drain(inventory, configured("a"))
    after = inventory.snapshot()
    inventory.remove("b")
    assert before.list_by_state(CONFIGURED) == ["a", "b"]
    assert (after.list_by_state(CONFIGURED), after.list_by_state(IDLE)) == (["b"], ["a"])
    assert inventory.snapshot().list_by_state(IDLE) == ["a"]


def test_a_snapshot_made_from_a_dropped_one_is_complete() -> None:
    """The memory of a snapshot that is not held is used again; what changed since must be in it."""
    inventory = inventory_of(*(configured(f"m-{i}") for i in range(6)))
    kept = inventory.snapshot()
    for i in range(4):
        drain(inventory, configured(f"m-{i}"))
        assert inventory.snapshot().count(IDLE) == i + 1
    assert kept.count(CONFIGURED) == 6


def test_drained_machines_change_their_count_not_the_total() -> None:
    """I8."""
    inventory = inventory_of(*(configured(f"m-{i}") for i in range(10)))
    for i in range(4):
        drain(inventory, configured(f"m-{i}"))
    snapshot = inventory.snapshot()
    assert (len(inventory), len(snapshot)) == (10, 10)
    assert (snapshot.count(CONFIGURED), snapshot.count(IDLE)) == (6, 4)


def test_readers_see_every_machine_once_while_others_write() -> None:
    """I9."""
    inventory = Inventory(Lock())
    machines = [configured(f"m-{i:02d}", f"cluster-{i % 4}") for i in range(80)]
    for each in machines:
        inventory.insert(each)

    def drain_cluster(cluster: str) -> None:
        for each in machines:
            if each.cluster == cluster:
                drain(inventory, each)

    def read() -> list[int]:
        snapshots = (inventory.snapshot() for _ in range(60))
        return [sum(s.count(x) for x in (CONFIGURED, DRAINING, IDLE)) for s in snapshots]

    with ThreadPoolExecutor(6) as threads:
        writers = [threads.submit(drain_cluster, f"cluster-{c}") for c in range(4)]
        readers = [threads.submit(read) for _ in range(2)]
        for writer in writers:
            writer.result()
        assert [set(reader.result()) for reader in readers] == [{80}, {80}]
    assert inventory.snapshot().count(IDLE) == 80


def test_becoming_idle_is_stamped_and_staying_idle_keeps_the_stamp() -> None:
    inventory = inventory_of(configured("m"))
    drain(inventory, configured("m"), now=5 * SECOND)
    inventory.apply(replace(idle("m"), price_per_hour=2.0), now=9 * SECOND)
    assert inventory.marks_of("m").idle_since == 5 * SECOND


def test_a_configured_machine_has_no_idle_stamp() -> None:
    """I12, first half; also where it came from Idle."""
    inventory = inventory_of(configured("m"))
    assert inventory.marks_of("m").idle_since is None
    inventory.insert(idle("was-idle"), Marks(idle_since=5 * SECOND))
    inventory.apply(replace(idle("was-idle"), state=MachineState.CONFIGURING))
    inventory.apply(configured("was-idle"))
    assert inventory.marks_of("was-idle").idle_since is None


def test_a_removed_machine_takes_its_idle_stamp_with_it() -> None:
    """I12, second half."""
    inventory = Inventory()
    inventory.insert(idle("m"), Marks(idle_since=5 * SECOND))
    inventory.remove("m")
    inventory.insert(idle("m"))
    assert inventory.marks_of("m").idle_since is None
