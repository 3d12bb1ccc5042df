"""A record that cannot be is rejected and counted; the last good one stays, and nothing else."""

import math
from dataclasses import replace

import pytest

from bigfleet.model.machines import Host, MachineState
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.shard.reconciling.list_reading import read_list
from bigfleet.wire.machines import list_bytes, list_entry, machine_bytes
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
    content_of,
    record,
)

GOOD = record("m")
BAD: dict[str, tuple[MachineRecord, str]] = {
    "negative price": (replace(GOOD, price_per_hour=-3.0), "price"),
    "no number as price": (replace(GOOD, price_per_hour=math.nan), "price"),
    "infinite price": (replace(GOOD, price_per_hour=math.inf), "price"),
    "probability above one": (
        replace(GOOD, interruption_probability=1.5),
        "interruption_probability",
    ),
    "probability below zero": (
        replace(GOOD, interruption_probability=-0.1),
        "interruption_probability",
    ),
    "no state": (record("m", MachineState.UNSPECIFIED), "structural"),
    "slot with a host": (record("m", SPECULATIVE, host=Host("acme", "i")), "structural"),
    "slot with a cluster": (record("m", SPECULATIVE, cluster="shop"), "structural"),
    "creation with a cluster": (record("m", CREATING, cluster="shop"), "structural"),
    "idle without a host": (record("m", IDLE, host=None), "structural"),
    "configuring without a host": (record("m", CONFIGURING, host=None), "structural"),
    "deleting without a host": (record("m", DELETING, host=None), "structural"),
    "configured without a cluster": (record("m", CONFIGURED, cluster=""), "structural"),
    "draining without a cluster": (record("m", DRAINING, cluster=""), "structural"),
    "failed without an error": (record("m", FAILED, last_error=""), "structural"),
    "more memory than a machine has": (
        replace(GOOD, resources={"memory": "1Pi"}),
        "structural",
    ),
    "more memory than can be counted": (
        replace(GOOD, allocatable={"memory": "99Ei"}),
        "structural",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_the_last_good_record_stays(case: str) -> None:
    bad, reason = BAD[case]
    rig = Rig()
    rig.lists(GOOD, record("n"))
    good = rig.machine("m")
    for _ in range(3):
        rig.lists(bad, record("n"))
    assert rig.machine("m") == good
    assert rig.reconciler.unseen_lists("m") == 0
    assert rig.count("machines_rejected_total", reason=reason) == 1
    assert "machines_rejected" in rig.logged()


@pytest.mark.parametrize("case", BAD)
def test_a_bad_record_of_a_new_machine_brings_nothing(case: str) -> None:
    rig = Rig()
    rig.lists(BAD[case][0])
    assert rig.ids() == []


def test_a_good_record_after_a_bad_one_is_believed_again() -> None:
    rig = Rig()
    rig.lists(GOOD)
    rig.lists(BAD["negative price"][0])
    rig.lists(replace(GOOD, price_per_hour=0.7))
    assert rig.machine("m").price_per_hour == 0.7


def test_a_broken_text_spoils_its_own_record_only() -> None:
    rig = Rig()
    rig.lists(GOOD, record("n"))
    spoilt = [machine_bytes(each).replace(b"eu-1a", b"eu\xff1a") for each in (GOOD, record("new"))]
    fine = [machine_bytes(record("n", CONFIGURED)), machine_bytes(record("o"))]
    content = list_bytes([list_entry(each) for each in (*spoilt, *fine)], b"r-2")
    for _ in range(3):
        rig.wait(1)
        reading = read_list(content, rig.reconciler.known_machines("acme"), whole=True)
        rig.arrived(reading, rig.now - 1)
    assert rig.ids() == ["m", "n", "o"]
    assert rig.machine("m").zone == "eu-1a"
    assert rig.state("n") is CONFIGURED
    assert rig.reconciler.unseen_lists("m") == 0
    assert rig.count("machines_rejected_total", reason="structural") >= 2


def test_a_machine_without_an_id_is_not_a_machine() -> None:
    rig = Rig()
    rig.lists(record(""), GOOD)
    assert rig.ids() == ["m"]
    assert rig.count("machines_rejected_total", reason="structural") == 1


def test_of_an_id_that_came_twice_the_first_counts() -> None:
    rig = Rig()
    rig.lists(GOOD, replace(GOOD, zone="eu-1b"))
    assert rig.machine("m").zone == "eu-1a"
    assert rig.count("machines_rejected_total", reason="duplicate_id") == 1


def test_bytes_that_are_no_list_are_refused_whole() -> None:
    rig = Rig()
    with pytest.raises(ValueError, match="MachineList"):
        read_list(content_of([GOOD])[:-3], rig.reconciler.known_machines("acme"), whole=True)


def test_an_id_belongs_to_the_provider_that_brought_it_first() -> None:
    rig = Rig("acme", "other")
    rig.lists(GOOD)
    for _ in range(3):
        rig.lists(replace(GOOD, zone="eu-1b"), record("o"), provider="other")
    assert rig.machine("m").zone == "eu-1a"
    assert rig.machines.provider_of("m") == "acme"
    assert rig.machines.provider_of("o") == "other"
    assert rig.count("machines_rejected_total", reason="duplicate_id") == 1


def test_the_second_provider_gets_the_id_once_the_first_has_lost_it() -> None:
    rig = Rig("acme", "other")
    rig.lists(GOOD)
    theirs = replace(GOOD, zone="eu-1b")
    rig.lists(theirs, provider="other")
    rig.lists()
    rig.lists()
    assert rig.ids() == []
    rig.lists(theirs, provider="other")
    assert rig.machines.provider_of("m") == "other"
    assert rig.machine("m").zone == "eu-1b"


def test_many_foreign_ids_make_one_line_in_the_log() -> None:
    rig = Rig("acme", "other")
    same = [record(f"m-{i}") for i in range(200)]
    rig.lists(*same)
    rig.effects.taken()
    rig.lists(*same, provider="other")
    assert rig.logged() == ["machines_rejected"]
    assert rig.count("machines_rejected_total", reason="duplicate_id") == 200


def test_a_record_that_came_alone_is_screened_alike() -> None:
    rig = Rig("acme", "other")
    rig.lists(GOOD)
    good, bad = (rig.reconciler.screen(each, "acme") for each in (GOOD, BAD["negative price"][0]))
    assert good == rig.machine("m")
    assert bad == "pricePerHour: a price is a finite number of dollars, zero or more"
    assert rig.reconciler.screen(GOOD, "other") == "acme brought that id first"
    assert rig.count("machines_rejected_total", reason="price") == 1


def test_beside_a_record_without_a_name_no_machine_is_taken_for_gone() -> None:
    rig = Rig()
    rig.lists(record("m1", CONFIGURED), record("m2", CONFIGURED))
    for _ in range(5):
        rig.lists(record("m1", CONFIGURED), record("", CONFIGURED))
    assert rig.ids() == ["m1", "m2"]
    assert rig.count("machines_unseen", provider="acme") == 1
    rig.lists(record("m1", CONFIGURED))
    rig.lists(record("m1", CONFIGURED))
    assert rig.ids() == ["m1"]
