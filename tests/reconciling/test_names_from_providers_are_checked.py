"""Ids, labels and other names of machines are plain text, or their record is rejected and told."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import Host
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import HOSTNAME_KEY
from tests.reconciling.rig import CONFIGURED, IDLE, SPECULATIVE, Rig, record

ESCAPE = "\x1b[2J"
GOOD = record("m")
BAD_IDS = {
    "a path upwards": "../../etc/cron.d/x",
    "a path upwards in the middle": "aws/../../x",
    "an escape sequence": f"m{ESCAPE}",
    "a line break": "m\nn",
    "a space": "m 1",
    "beyond ASCII": "m\u202e1",
    "NUL": "m\x00",
    "too long": "m" * 254,
}
BAD: dict[str, tuple[MachineRecord, str]] = {
    "an instance type": (replace(GOOD, instance_type="std-8\nx"), "instanceType"),
    "a zone": (replace(GOOD, zone=f"eu{ESCAPE}"), "zone"),
    "a label's key": (replace(GOOD, labels={"a b": "c"}), "labels"),
    "a label's value": (replace(GOOD, labels={"rack": "$(id)"}), "labels"),
    "a node name": (replace(GOOD, labels={HOSTNAME_KEY: "n\n1"}), "labels"),
    "a node name beyond ASCII": (replace(GOOD, labels={HOSTNAME_KEY: "nöde"}), "labels"),
    "a resource": (replace(GOOD, resources={f"gpu{ESCAPE}": "1"}), "resources"),
    "an allocatable resource": (replace(GOOD, allocatable={"a b": "1"}), "allocatable"),
    "a host's provider": (replace(GOOD, host=Host("ac me", "i-1")), "host.provider"),
    "a host": (replace(GOOD, host=Host("acme", "i-1\nx")), "host.ref"),
    "a host beyond ASCII": (replace(GOOD, host=Host("acme", "i-\u202e")), "host.ref"),
    "a host that leads upwards": (replace(GOOD, host=Host("acme", "../i")), "host.ref"),
    "a cluster": (record("m", CONFIGURED, cluster="sh op"), "cluster"),
}


@pytest.mark.parametrize("name", BAD_IDS.values(), ids=BAD_IDS)
def test_a_machine_with_such_an_id_does_not_enter_the_inventory(name: str) -> None:
    rig = Rig()
    for _ in range(3):
        rig.lists(record(name), record(f"{name}/slot", SPECULATIVE), GOOD)
    assert rig.ids() == ["m"]
    assert rig.count("machines_rejected_total", reason="syntax") == 2
    assert "machines_rejected" in rig.logged()


@pytest.mark.parametrize("case", BAD)
def test_a_record_with_such_a_text_keeps_the_last_good_one(case: str) -> None:
    bad, field = BAD[case]
    rig = Rig()
    rig.lists(GOOD, record("n"))
    good = rig.machine("m")
    for _ in range(3):
        rig.lists(bad, record("n"))
    assert rig.machine("m") == good
    assert rig.ids() == ["m", "n"]
    assert rig.reconciler.unseen_lists("m") == 0
    assert rig.count("machines_rejected_total", reason="syntax") == 1
    assert f"{field}: " in rig.last_log("machines_rejected")


@pytest.mark.parametrize("case", BAD)
def test_a_record_that_came_alone_is_screened_alike(case: str) -> None:
    bad, field = BAD[case]
    rig = Rig()
    rig.lists(GOOD)
    said = rig.reconciler.screen(bad, "acme")
    assert isinstance(said, str)
    assert said.startswith(f"{field}: ")


def test_one_bad_machine_does_not_cost_the_others_of_its_offering() -> None:
    rig = Rig()
    rig.lists(*(record(f"m-{i}") for i in range(20)), record("../m"), record("m-20"))
    assert len(rig.ids()) == 21


def test_what_is_told_of_a_bad_id_is_printable() -> None:
    rig = Rig()
    rig.lists(record(f"m{ESCAPE}"))
    said = rig.last_log("machines_rejected")
    assert said.isprintable()
    assert "write printable ASCII without spaces" in said


def test_ids_and_references_as_large_clouds_write_them_are_taken() -> None:
    azure = (
        "azure:///subscriptions/0-1/resourceGroups/mc_a/providers/Microsoft.Compute/" + "v" * 200
    )
    rig = Rig()
    rig.lists(
        record("aws/spot/m6i.large/eu-1a/007", host=Host("aws", "aws:///eu-1a/i-0abc")),
        record("vm..7", IDLE, host=Host("azure", azure)),
        record("n", IDLE, labels={HOSTNAME_KEY: "ip-10-0-0-1.eu-1.compute.internal"}),
    )
    assert len(rig.ids()) == 3
    assert rig.count("machines_rejected_total", reason="syntax") == 0
