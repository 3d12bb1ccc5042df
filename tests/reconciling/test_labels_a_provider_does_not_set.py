"""Machines whose provider does not say so are linux on amd64, on every way into the shard."""

import pytest

from bigfleet.model.machines import Machine
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.shard.label_defaults import label_defaults_of
from bigfleet.shard.reconciling.record_checks import labelled_machine
from bigfleet.shard.settings import ShardSettings
from tests.reconciling.rig import CONFIGURED, FAILED, IDLE, Rig, record

OS, ARCH = "kubernetes.io/os", "kubernetes.io/arch"
USUAL = {OS: "linux", ARCH: "amd64"}


def labels(rig: Rig, name: str) -> dict[str, str]:
    return dict(rig.machine(name).labels)


def with_defaults(*said: str) -> Rig:
    return Rig("acme", "metal", settings=ShardSettings(label_defaults=said))


def test_a_machine_of_a_short_list_gets_them() -> None:
    rig = Rig()
    rig.lists(record("m"))
    assert labels(rig, "m") == {"rack": "r1", **USUAL}


def test_machines_that_come_as_columns_get_them() -> None:
    rig = Rig()
    rig.lists(*(record(f"m-{i}", labels={"rack": f"r{i % 3}"}) for i in range(100)))
    assert labels(rig, "m-7") == {"rack": "r1", **USUAL}
    assert len(rig.machines.inventory.tables.offerings.table.rows) == 3


def test_a_list_of_changes_brings_them_too() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.lists(record("m", CONFIGURED), record("n"), whole=False)
    assert labels(rig, "m") == labels(rig, "n") == {"rack": "r1", **USUAL}


def test_what_a_provider_sets_wins() -> None:
    rig = Rig()
    rig.lists(record("m", labels={ARCH: "arm64"}), record("n", labels={OS: ""}))
    assert labels(rig, "m") == {OS: "linux", ARCH: "arm64"}
    assert labels(rig, "n") == {OS: "", ARCH: "amd64"}


def test_a_label_that_a_provider_begins_or_ceases_to_set_is_seen() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.lists(record("m", labels={ARCH: "arm64"}))
    assert labels(rig, "m")[ARCH] == "arm64"
    rig.lists(record("m"))
    assert labels(rig, "m")[ARCH] == "amd64"


def test_a_list_that_says_the_same_again_changes_nothing() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.is_awake()
    rig.lists(record("m"))
    assert not rig.is_awake()
    assert rig.count("machine_attribute_updates_total", field="labels") == 0


def test_a_record_that_comes_alone_gets_them() -> None:
    rig = Rig()
    seen = rig.reconciler.screen(record("m"), "acme")
    assert isinstance(seen, Machine)
    assert dict(seen.labels) == {"rack": "r1", **USUAL}


def test_a_failed_machine_has_them_as_well() -> None:
    rig = Rig()
    rig.lists(record("m", FAILED))
    assert labels(rig, "m")[OS] == "linux"


def test_a_provider_attached_later_has_its_own() -> None:
    rig = with_defaults("later:kubernetes.io/arch=arm64")
    rig.reconciler.attach("later")
    rig.lists(record("m"), provider="later")
    assert labels(rig, "m")[ARCH] == "arm64"


def test_one_provider_may_have_other_defaults_or_none() -> None:
    rig = with_defaults("metal:kubernetes.io/arch=arm64", "metal:kubernetes.io/os-", "team=infra")
    rig.lists(record("m", IDLE, labels={}), provider="acme")
    rig.lists(record("n", IDLE, labels={}), provider="metal")
    assert labels(rig, "m") == {"team": "infra", **USUAL}
    assert labels(rig, "n") == {"team": "infra", ARCH: "arm64"}


def test_the_built_in_ones_can_be_removed() -> None:
    rig = with_defaults("kubernetes.io/os-", "kubernetes.io/arch-")
    rig.lists(record("m", IDLE, labels={}))
    assert labels(rig, "m") == {}


def test_a_machine_that_has_them_all_is_left_as_it_is() -> None:
    machine = Machine("m", IDLE, labels=USUAL)
    assert labelled_machine(machine, USUAL) is machine


@pytest.mark.parametrize("key", [OS, ARCH])
def test_a_node_selector_on_them_matches(key: str) -> None:
    rig = Rig()
    rig.lists(record("m", labels={}))
    asked = Requirement.of(key, Operator.IN, [USUAL[key]])
    assert asked.met_by(rig.machine("m").attribute(key))


def test_a_name_of_a_provider_may_have_colons() -> None:
    assert label_defaults_of(("h:9000:a/b=c",), "h:9000") == {**USUAL, "a/b": "c"}
