"""Ids and labels of a fleet file are names, as a shard takes them: what is not is told with its
place and the way to write it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.fleetfile import load_fleet
from tests.fleetfile.test_bad_input_is_refused_whole import problem_of_machine, problem_of_need
from tests.fleetfile.test_bad_input_is_refused_whole import problems_of as problems

VALUE = "write a Kubernetes label value"
KEY = "write a Kubernetes label key"


@pytest.mark.parametrize(
    ("field", "path", "said"),
    [
        ('labels: {"rack id": r1}', 'labels["rack id"]', KEY),
        ('labels: {rack: "r 1"}', "labels.rack", VALUE),
        ('labels: {rack: "r1\\nreboot"}', "labels.rack", r"'r1\nreboot' is not a label value"),
        ('labels: {kubernetes.io/hostname: "a b"}', "hostname", "is not a label value"),
        ('instanceType: "std 8"', "instanceType", VALUE),
        ('zone: "a\\x1b[31m"', "zone", VALUE),
        ('cluster: "shop 1"', "cluster", "write printable ASCII without spaces"),
    ],
)
def test_a_text_of_a_machine_that_is_not_a_name_is_told_with_its_place(
    field: str, path: str, said: str
) -> None:
    told = problem_of_machine(field)
    assert told.startswith("machines[0].")
    assert path in told
    assert said in told


@pytest.mark.parametrize(
    ("machine_id", "said"),
    [
        ("a b", "write printable ASCII without spaces"),
        ("a\\nb", "write printable ASCII without spaces"),
        ("../../etc", "has a '..' between slashes"),
        ("x" * 254, "has 254 characters; write at most 253"),
    ],
)
def test_an_id_that_is_not_one_is_told_with_its_place(machine_id: str, said: str) -> None:
    machine = f'{{id: "{machine_id}", state: Idle, capacityType: Spot}}'
    (told,) = problems(f"version: 1\nkind: Fleet\nmachines:\n  - {machine}\n")
    assert told.startswith("machines[0].id: ")
    assert said in told


@pytest.mark.parametrize(
    ("field", "path", "said"),
    [
        ('requirements: [{key: "a b", operator: Exists}]', "requirements[0].key", KEY),
        (
            'requirements: [{key: zone, operator: In, values: [a, "b c"]}]',
            "requirements[0].values[1]",
            VALUE,
        ),
        (
            'spread: [{topologyKey: "a b", maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]',
            "spread[0].topologyKey",
            KEY,
        ),
    ],
)
def test_a_text_of_a_need_that_is_not_a_name_is_told_with_its_place(
    field: str, path: str, said: str
) -> None:
    told = problem_of_need(field)
    assert told.startswith(f"needs[0].{path}: ")
    assert said in told


def test_what_a_shard_takes_is_read() -> None:
    fleet = load_fleet(
        b"""
version: 1
kind: Fleet
machines:
  - {id: "i-{00}/x.y:z", count: 2, state: Idle, capacityType: Spot, zone: "", instanceType: a.b_c,
     labels: {example.com/Rack: R_1.x, kubernetes.io/hostname: node-1.internal, empty: ""}}
""",
        "fleet.yaml",
    )
    assert [each.machine.id for each in fleet.machines] == ["i-00/x.y:z", "i-01/x.y:z"]


def test_plan_ends_with_2_and_the_place(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(
        "version: 1\nkind: Fleet\nmachines:\n"
        '  - {id: "a b", state: Idle, capacityType: Spot, labels: {rack: "r\\n1"}}\n'
    )
    result = CliRunner().invoke(cli, ["plan", str(file)])
    assert result.exit_code == 2
    assert "machines[0].id: 'a b' is not plain text" in result.stderr
    assert r"machines[0].labels.rack: 'r\n1' is not a label value" in result.stderr
