"""`bigfleet why-not` on a fleet file and on a journal: what a person reads, and what a program."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli

FLEET = """
version: 1
kind: Fleet
machines:
  - {id: small-1, state: Idle, capacityType: BareMetal, resources: {cpu: 8},
     allocatable: {cpu: 7500m}}
  - {id: c-1, state: Configured, cluster: batch, capacityType: Spot, pricePerHour: 0.1,
     resources: {cpu: 16}, assigned: {priority: 100}}
needs:
  - {cluster: shop, priority: 100, aggregateResources: {cpu: 8}, minUnit: {cpu: 8}}
  - {cluster: batch, priority: 100, aggregateResources: {cpu: 8}}
"""


def run(tmp_path: Path, *words: str) -> Result:
    file = tmp_path / "fleet.yaml"
    file.write_text(FLEET)
    return CliRunner().invoke(cli, ["why-not", *words, "--fleet", str(file)])


def test_the_first_failing_check_comes_first_with_both_values(tmp_path: Path) -> None:
    answer = run(tmp_path, "machine/small-1", "--for", "need/shop/n")
    assert answer.exit_code == 0, answer.output
    head = answer.stdout.splitlines()[0]
    assert head.startswith("machine/small-1 is not assigned to need/shop/n")
    assert head.endswith("cpu 7.5 allocatable, 8 needed   (cycle 1)")
    assert "would change it: a unit of at most cpu 7.5" in answer.stdout


def test_a_program_gets_every_check_in_the_order_of_the_engine(tmp_path: Path) -> None:
    answer = run(tmp_path, "machine/small-1", "--for", "need/shop/n", "-o", "json")
    told = json.loads(answer.stdout)
    assert [check["name"] for check in told["checks"]][:3] == ["state", "held", "min-unit cpu"]
    assert told["blocking"] == {
        "name": "min-unit cpu",
        "passed": False,
        "expected": "8",
        "actual": "7.5",
    }
    assert told["cycle"] == "1"


def test_a_machine_alone_is_asked_why_it_is_still_here(tmp_path: Path) -> None:
    answer = run(tmp_path, "machine/c-1")
    assert "machine/c-1 is not reclaimed: claimed by need/batch/n" in answer.stdout
    assert "number 1 of 1 in keep order" in answer.stdout


def test_a_need_is_asked_why_it_is_not_satisfied(tmp_path: Path) -> None:
    answer = run(tmp_path, "need/shop/n")
    assert "is not satisfied: " in answer.stdout
    assert "preempt" in answer.stdout or "held by need/batch/" in answer.stdout


def test_unknown_names_and_wrong_questions_say_what_to_write(tmp_path: Path) -> None:
    unknown = run(tmp_path, "machine/small-2")
    assert unknown.exit_code == 3
    assert "did you mean small-1?" in unknown.stderr
    assert run(tmp_path, "need/shop/nffffff").exit_code == 3
    for words in (["pod/x/y/z"], ["small-1"], ["machine/c-1", "--for", "machine/x"]):
        wrong = run(tmp_path, *words)
        assert wrong.exit_code == 2, wrong.output
        assert "write" in wrong.stderr or "answers for" in wrong.stderr


def test_a_hostile_name_reaches_the_terminal_as_text(tmp_path: Path) -> None:
    answer = run(tmp_path, "machine/\x1b[31mred")
    assert answer.exit_code == 3
    assert "\x1b" not in answer.stderr
