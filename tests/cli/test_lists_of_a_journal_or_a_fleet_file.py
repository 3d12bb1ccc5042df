"""`needs` and `machines` of a recorded night: the same lists without a shard."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from tests.questions.recorded_night import NIGHT

JOURNAL = ("--journal", str(NIGHT))
#: The cloud is sold out, and what shop lost is not bought again.
SOLD_OUT = ("--at", "2026-03-14T03:05:00Z")


def typed(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(cli, words)


def told(*words: str) -> dict[str, Any]:
    answer = typed(*words, "-o", "json")
    assert answer.exit_code == 0, answer.stderr
    return dict(json.loads(answer.stdout))


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last cycle as a fleet file."""
    file = tmp_path_factory.mktemp("night") / "fleet.yaml"
    answer = typed("replay", str(NIGHT), "--dump", str(file), "--at", "384")
    assert answer.exit_code == 0, answer.stderr
    return file


def test_needs_of_a_past_cycle_say_what_held_them_back() -> None:
    found = told("needs", "--unmet", *JOURNAL, *SOLD_OUT)
    states = {row["clusterId"]: (row["state"], row["reason"]["code"]) for row in found["items"]}
    assert states == {
        "shop": ("NEED_STATE_BLOCKED", "supply.backoff"),
        "ml": ("NEED_STATE_SHORT", "same.no-domain"),
    }
    assert found["cycle"] == 300


def test_no_need_of_a_journal_is_called_met() -> None:
    """Nodes and pods are not recorded."""
    found = told("needs", *JOURNAL)
    assert len(found["items"]) == found["totalNeeds"] == 4
    assert found["needStates"]["met"] == 0
    assert "covered" in typed("needs", *JOURNAL).stdout


def test_needs_of_a_fleet_file_are_those_of_its_cycle(dump: Path) -> None:
    then, now = told("needs", *JOURNAL), told("needs", "--fleet", str(dump))
    kept = ("needId", "clusterId", "priority", "satisfied", "residualDeficit", "state")
    rows = [[{key: row.get(key) for key in kept} for row in each["items"]] for each in (then, now)]
    assert rows[0] == rows[1]


def test_machines_of_a_journal_are_those_of_its_fleet_file(dump: Path) -> None:
    then, now = told("machines", *JOURNAL), told("machines", "--fleet", str(dump))
    assert then["total"] > 8
    assert then["items"] == now["items"]


def test_machines_are_those_of_the_cycle_that_is_asked_about() -> None:
    words = ("machines", "cluster=payments", *JOURNAL)
    assert len(told(*words)["items"]) > len(told(*words, *SOLD_OUT)["items"]) > 0
    served = told(*words, *SOLD_OUT)["items"]
    assert {row["machine"]["cluster"] for row in served} == {"payments"}
    assert all(row["claimed"] for row in served)


def test_a_victim_is_reserved_for_the_need_that_asked_for_it() -> None:
    found = told("machines", "reservations", *JOURNAL, "--at", "2026-03-14T03:00:30Z")
    assert {row["need"]["clusterId"] for row in found["items"]} == {"payments"}


def test_offerings_that_rested_are_told_with_the_slots_they_held() -> None:
    found = told("reports", "offerings", *JOURNAL, *SOLD_OUT)["items"]
    assert found
    machines = told("machines", "state=speculative", *JOURNAL, *SOLD_OUT)["items"]
    types = {row["machine"]["instanceType"] for row in machines}
    assert all(row["name"].partition("/")[0] in types for row in found)
    assert all(row["heldSlots"] > 0 for row in found)
    assert all("not recorded" in row["text"] for row in found)
    first = typed("reports", "offerings", *JOURNAL, "--at", "1").stdout
    assert "No offering rests in cycle 1:1." in first


def test_offerings_of_a_fleet_file_say_when_they_are_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    held = 'held: {by: backoff, until: "2026-03-14T03:06:00Z"}'
    slot = "state: Speculative, capacityType: Spot, instanceType: m5, zone: a, resources: {cpu: 8}"
    file.write_text(
        f"version: 1\nkind: Fleet\nmachines: [{{id: a, {slot}, {held}}}, {{id: b, {slot}}}]\n"
    )
    [row] = told("reports", "offerings", "--fleet", str(file))["items"]
    assert (row["name"], row["heldSlots"]) == ("m5/a/Spot", 1)
    assert "2026-03-14T03:06:00Z" in typed("reports", "offerings", "--fleet", str(file)).stdout


def test_the_report_of_a_journal_is_that_of_its_fleet_file(dump: Path) -> None:
    [then] = told("reports", "shards", *JOURNAL)["items"]
    [now] = told("reports", "shards", "--fleet", str(dump))["items"]
    assert then["summary"] == now["summary"]
    assert then["shortfalls"] == now["shortfalls"]
    assert then["summary"]["totalMachines"] == told("machines", *JOURNAL)["total"]
    assert "1 shard; " in typed("reports", "shards", *JOURNAL).stdout


def test_nothing_is_reset_in_a_journal() -> None:
    answer = typed("reports", "offerings", "--reset", "sim/a/b/Spot", "--reason", "x", *JOURNAL)
    assert answer.exit_code == 2
    assert "leave --journal, --fleet and --at out" in answer.stderr


def test_unknown_names_come_with_those_like_them() -> None:
    cluster = typed("needs", "--cluster", "shp", *JOURNAL)
    assert cluster.exit_code == 3
    assert "no cluster shp in cycle 1:384; did you mean shop?" in cluster.stderr
    machines = typed("machines", "bm-01", "bm-99", *JOURNAL)
    assert machines.exit_code == 3
    assert "bm-01" in machines.stdout
    assert "no machine bm-99 in cycle 1:384; nearest are" in machines.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("needs", "--source", "pod", *JOURNAL), "--source: what asks for a Need is not recorded"),
        (("machines", "story", "bm-01", "--at", "5"), "--at: a live shard tells the whole story"),
        (("needs", "--at", "2026-03-14T03:05:00Z"), "--at: only a journal is asked by time"),
        (("snapshot", "fleet", "-", "--fleet", "x.yaml"), "--fleet: it is a fleet file already"),
        (("machines", "--fleet", "x.yaml", "--at", "5"), "--at: a fleet file is one cycle"),
    ],
)
def test_what_cannot_be_asked_is_refused(words: tuple[str, ...], said: str) -> None:
    answer = typed(*words)
    assert answer.exit_code == 2
    assert said in answer.stderr


def test_a_cycle_that_is_not_recorded_names_those_that_are() -> None:
    answer = typed("needs", *JOURNAL, "--at", "9:1")
    assert answer.exit_code == 3
    assert "no cycle 9:1 is recorded; there are cycles from 1:1 on" in answer.stderr
