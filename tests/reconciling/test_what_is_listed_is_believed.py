"""A List is the truth about everything the shard is not acting on."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import Assigned, CapacityType, Host, MachineState
from bigfleet.model.metadata import encode
from bigfleet.model.resources import Resources
from tests.reconciling.rig import (
    CONFIGURED,
    CONFIGURING,
    CREATING,
    DELETING,
    DRAINING,
    FAILED,
    IDLE,
    SPECULATIVE,
    Rig,
    record,
)

STAMP = Assigned(7, 0.5, 2.0, need_fingerprint="p=7", group="g")
STAMPED = encode(STAMP)
LIVE = [state for state in MachineState if state not in (MachineState.UNSPECIFIED, FAILED)]


def test_a_new_machine_comes_with_the_stamps_its_provider_echoes() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURED, shard_metadata=STAMPED))
    assert rig.machine("m").assigned == STAMP
    assert rig.machine("m").cluster == "shop"
    assert rig.told() == [("shop", "m", CONFIGURED)]


def test_one_unreadable_stamp_does_not_hide_the_others() -> None:
    rig = Rig()
    broken = {**STAMPED, "bigfleet.lucy.sh/assigned-priority": "high"}
    rig.lists(record("m", CONFIGURED, shard_metadata=broken))
    assert rig.machine("m").assigned.priority == 0
    assert rig.machine("m").assigned.need_fingerprint == "p=7"
    assert "stamps_unreadable" in rig.logged()


def test_an_idle_machine_has_no_cluster_even_if_its_provider_left_one_on_it() -> None:
    rig = Rig()
    rig.lists(record("m", IDLE, cluster="shop", shard_metadata=STAMPED))
    assert rig.machine("m").cluster == ""
    assert rig.machine("m").assigned == Assigned()
    assert rig.told() == []


def test_idle_time_counts_from_the_first_list() -> None:
    rig = Rig()
    rig.lists(*(record(f"m-{i}") for i in range(100)))
    assert rig.machines.inventory.marks_of("m-7").idle_since == rig.now
    rig.lists(*(record(f"m-{i}") for i in range(101)))
    assert rig.machines.inventory.marks_of("m-100").idle_since == rig.now


@pytest.mark.parametrize("after", LIVE, ids=lambda state: f"to_{state.label}")
@pytest.mark.parametrize("before", LIVE, ids=lambda state: f"from_{state.label}")
def test_the_provider_wins_on_every_edge(before: MachineState, after: MachineState) -> None:
    rig = Rig()
    rig.lists(record("m", before))
    rig.lists(record("m", after))
    assert rig.state("m") is after


@pytest.mark.parametrize(
    ("local", "listed"),
    [(CREATING, SPECULATIVE), (DELETING, IDLE), (CONFIGURING, IDLE)],
    ids=["creation_not_accepted", "deletion_not_accepted", "configuration_rolled_back"],
)
def test_what_the_shard_began_and_the_provider_never_did_is_undone(
    local: MachineState, listed: MachineState
) -> None:
    """The record is the one that was read before the shard acted."""
    rig = Rig()
    rig.lists(record("m", listed))
    before = rig.machine("m")
    rig.wait(1)
    cluster = "shop" if local is CONFIGURING else ""
    rig.local(replace(before, state=local, cluster=cluster, assigned=STAMP))
    rig.lists(record("m", listed))
    assert rig.machine("m") == before


@pytest.mark.parametrize("state", [CONFIGURING, CONFIGURED, DRAINING], ids=lambda s: s.label)
def test_a_machine_that_goes_on_for_its_cluster_keeps_the_shards_own_stamps(
    state: MachineState,
) -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    rig.local(replace(rig.machine("m"), state=CONFIGURING, cluster="shop", assigned=STAMP))
    rig.lists(record("m", state, shard_metadata=encode(Assigned(1))))
    assert rig.machine("m").assigned == STAMP
    assert rig.state("m") is state


@pytest.mark.parametrize("state", [IDLE, SPECULATIVE], ids=lambda s: s.label)
def test_binding_and_stamps_end_with_the_drain(state: MachineState) -> None:
    rig = Rig()
    rig.lists(record("m", DRAINING, shard_metadata=STAMPED))
    rig.sent.clear()
    rig.lists(record("m", state))
    assert rig.machine("m").cluster == ""
    assert rig.machine("m").assigned == Assigned()
    assert rig.told() == [("shop", "m", state)]


def test_another_cluster_means_other_stamps_and_both_clusters_are_told() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURED, shard_metadata=STAMPED))
    rig.sent.clear()
    rig.effects.taken()
    rig.lists(record("m", CONFIGURED, cluster="ml", shard_metadata=encode(Assigned(3))))
    assert rig.machine("m").assigned == Assigned(3)
    assert rig.told() == [("shop", "m", IDLE), ("ml", "m", CONFIGURED)]
    assert "machine_changed_cluster" in rig.logged()


def test_a_failure_does_not_unbind() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURED, shard_metadata=STAMPED))
    rig.sent.clear()
    rig.lists(record("m", FAILED, last_error="host lost"))
    assert rig.machine("m").cluster == "shop"
    assert rig.machine("m").assigned == STAMP
    assert [(u.state, u.last_error) for u in rig.sent] == [(FAILED, "host lost")]


LABELS_OF_ALL = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
CHANGES: dict[str, tuple[dict[str, object], object]] = {
    "price_per_hour": ({"price_per_hour": 0.75}, 0.75),
    "interruption_probability": ({"interruption_probability": 0.2}, 0.2),
    "labels": ({"labels": {"rack": "r2"}}, {"rack": "r2", **LABELS_OF_ALL}),
    "resources": ({"resources": {"cpu": "9"}}, Resources.parse({"cpu": "9"})),
    "allocatable": ({"allocatable": {"cpu": "7"}}, Resources.parse({"cpu": "7"})),
    "zone": ({"zone": "eu-1b"}, "eu-1b"),
    "instance_type": ({"instance_type": "std-16"}, "std-16"),
    "capacity_type": ({"capacity_type": CapacityType.SPOT}, CapacityType.SPOT),
    "host": ({"host": Host("acme", "i-other")}, Host("acme", "i-other")),
}


@pytest.mark.parametrize("field", CHANGES)
@pytest.mark.parametrize("state", [IDLE, CONFIGURED], ids=lambda s: s.label)
def test_attributes_are_refreshed_at_equal_state(field: str, state: MachineState) -> None:
    change, expected = CHANGES[field]
    rig = Rig()
    rig.lists(record("m", state))
    rig.effects.taken()
    rig.sent.clear()
    before = sum(rig.effects.counts.counters.values())
    rig.lists(record("m", state, **change))
    assert getattr(rig.machine("m"), field) == expected
    assert rig.count("machine_attribute_updates_total", field=field) == 1
    assert sum(rig.effects.counts.counters.values()) == before + 1
    assert rig.is_awake()
    assert rig.told() == []


def test_a_node_name_is_a_label() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.lists(record("m", labels={"rack": "r1", "kubernetes.io/hostname": "ip-1"}))
    assert rig.machine("m").labels["kubernetes.io/hostname"] == "ip-1"
    assert rig.count("machine_attribute_updates_total", field="labels") == 1


def test_a_list_that_says_what_was_known_starts_no_cycle() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURED), record("n"))
    rig.effects.taken()
    rig.lists(record("n"), record("m", CONFIGURED))
    assert rig.effects.taken() == []


def test_a_list_of_changes_leaves_the_others_alone() -> None:
    rig = Rig()
    rig.lists(record("m"), record("n"))
    rig.lists(record("n", CONFIGURED), whole=False)
    assert (rig.state("m"), rig.state("n")) == (IDLE, CONFIGURED)
    assert rig.reconciler.unseen_lists("m") == 0


def test_clusters_that_wait_already_hear_of_a_first_big_list() -> None:
    rig = Rig()
    rig.lists(
        *(record(f"s-{i:03d}", CONFIGURED) for i in range(100)),
        *(record(f"x-{i:03d}", CONFIGURED, cluster="gone") for i in range(100)),
    )
    assert rig.told() == [("shop", f"s-{i:03d}", CONFIGURED) for i in range(100)]


def test_machines_with_a_past_are_announced_one_by_one() -> None:
    rig = Rig()
    came: list[str] = []
    rig.machines.watch(lambda before, after, at: came.append(after.id if after else ""))
    rig.with_past.add("m-007")
    moving = record("m-200", DRAINING)
    rig.lists(*(record(f"m-{i:03d}") for i in range(200)), moving)
    assert came == ["m-007", "m-200"]
    assert len(rig.machines) == 201
