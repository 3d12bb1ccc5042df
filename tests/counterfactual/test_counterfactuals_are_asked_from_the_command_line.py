"""`bigfleet why need/... --counterfactual` as people and programs call it."""

import json
import shlex

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli

FLEET = """
version: 1
kind: Fleet
machines:
  - {id: "od-{00}", count: 4, state: Speculative, capacityType: OnDemand, instanceType: std-8,
     zone: a, pricePerHour: 0.38, resources: {cpu: 8, memory: 32Gi}}
  - {id: "c-{0}", count: 2, state: Configured, cluster: batch, capacityType: OnDemand,
     instanceType: gpu-8, zone: b, pricePerHour: 2, resources: {cpu: 8, memory: 32Gi},
     assigned: {priority: 100, interruptionPenalty: 4}}
needs:
  - {cluster: shop, priority: 50, aggregateResources: {cpu: 12}, minUnit: {cpu: 2},
     requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [gpu-8]}]}
  - {cluster: batch, priority: 100, aggregateResources: {cpu: 16}, minUnit: {cpu: 2}}
  - {cluster: lab, priority: 1, group: "gang\\e[31m\\u202e", aggregateResources: {cpu: 1},
     requirements: [{key: rack, operator: In, values: [r1]}, {key: row, operator: Exists}]}
options: {now: "2026-01-01T00:00:00Z", clustersReady: all}
"""
SHOP, BATCH = "need/shop/nfb25426d4e55", "need/batch/na06f86d3118e"


def run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, list(arguments), input=FLEET)


def asked(name: str, *flags: str) -> Result:
    """With time enough, however busy the machine is."""
    return run("why", name, "--fleet", "-", "--counterfactual", "--budget", "30s", *flags)


def test_each_change_has_a_row_with_what_it_costs_and_who_loses() -> None:
    result = asked("need/shop/n")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"SHORT  {SHOP}  priority 50  short cpu 12   cycle 1"
    rows = [line.split() for line in lines if line[:1].isdigit()]
    assert rows[0] == [
        "1",
        *"priority 101 instead of 50 by preemption +$0.00 $8.00".split(),
        BATCH,
        "cpu",
        "16",
    ]
    assert rows[1][1:3] == ["node.kubernetes.io/instance-type", "std-8"]
    assert rows[1][-5:] == ["+$0.76", "$0.00", "no", "other", "Need"]
    assert rows[3][1:] == [*"2 more machines of gpu-8 in b yes +$4.00 $0.00 no other Need".split()]
    assert lines[-1] == "all was tried, in 8 runs of the engine"


def test_the_commands_it_names_can_be_typed_and_cover_the_need() -> None:
    shown = asked("need/shop/n").stdout
    commands = [line.partition(": ")[2] for line in shown.splitlines() if line.startswith("try ")]
    assert len(commands) == 4
    for command in commands:
        words = shlex.split(command)[1:]
        result = run(*words, "-o", "json")
        assert result.exit_code == 0, result.output
        answer = json.loads(result.stdout)
        # What even preemption does not cover: the Need of the lab alone.
        assert answer["changed"]["shortfallsByPriority"] == {"1": 1}, command


def test_a_need_that_is_covered_is_told_so() -> None:
    result = asked("need/batch/n")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"COVERED  {BATCH}  priority 100  short nothing more")
    assert lines[1].endswith("its pods run is not in a fleet file")
    assert lines[2] == "Cycle 1 covers it: there is nothing to change."


def test_the_document_is_the_admin_message() -> None:
    answer = json.loads(asked("need/shop/n", "--tried", "-o", "json").stdout)
    assert answer["exhaustive"] is True
    first, *_, last = answer["changes"]
    assert first["kinds"] == ["priority"]
    assert first["losers"][0]["lost"]["resources"] == {"cpu": "16"}
    assert first["overlay"] == [f"priority {SHOP} =101"]
    assert last["satisfied"] is False
    assert last["newDeficit"]["resources"] == {"cpu": "2"}


def test_a_budget_that_ends_early_is_a_partial_answer() -> None:
    result = asked("need/shop/n", "--budget", "1ms")
    assert result.exit_code == 5
    assert "not everything was tried" in result.stderr


def test_a_huge_budget_is_cut_and_said_so() -> None:
    result = asked("need/shop/n", "--budget", "99h", "--depth", "7")
    assert result.exit_code == 0, result.output
    assert "the budget is 30 s at most, instead of 356400 s" in result.stdout
    assert "at most 2 changes are tried together, not 7" in result.stdout


def test_nothing_that_helps_alone_is_told_with_what_else_to_ask() -> None:
    alone = asked("need/lab/n", "--tried")
    assert alone.exit_code == 0, alone.output
    assert "No single change of those that were tried would satisfy it; --depth 2" in alone.stdout
    pairs = asked("need/lab/n", "--depth", "2")
    assert "without the requirement rack in [r1], and without the requirement row" in pairs.stdout
    for result in (alone, pairs):
        assert "\x1b" not in result.stdout
        assert "\u202e" not in result.stdout


def test_without_the_flag_a_need_that_is_short_names_it() -> None:
    short = run("why", "need/shop/n", "--fleet", "-").stdout.splitlines()
    assert short[-1].startswith("next    --counterfactual shows")
    assert "--counterfactual" not in run("why", "need/batch/n", "--fleet", "-").stdout


REFUSED = {
    "unknown id": (("need/shop/nffff",), 3, "no need/shop/nffff in cycle 1"),
    "several Needs": (("need/n",), 2, "Needs begin with need/n"),
    "misspelt cluster": (("need/shpo/n",), 3, "did you mean shop?"),
    "a machine": (("machine/c-0",), 2, "is about a Need that is short, not a machine"),
    "no time at all": (("need/shop/n", "--budget", "0s"), 2, "write more than 0"),
    "not a time": (("need/shop/n", "--budget", "soon"), 2, "is not a duration"),
}


@pytest.mark.parametrize(("arguments", "code", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_asked_is_told_with_what_to_write(
    arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = asked(*arguments)
    assert result.exit_code == code, result.output
    assert said in result.stderr


@pytest.mark.parametrize("flags", [("--budget", "1s"), ("--depth", "2"), ("--tried",)])
def test_its_flags_go_with_it(flags: tuple[str, ...]) -> None:
    result = run("why", "need/shop/n", "--fleet", "-", *flags)
    assert result.exit_code == 2
    assert f"{flags[0]} goes with --counterfactual" in result.stderr
