"""`bigfleet plan` as people and programs call it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.cli.plan_table import fill
from bigfleet.cli.tables import Page
from bigfleet.fleetfile import load_fleet
from bigfleet.plan import cycles
from bigfleet.plan.cycles import planned_cycles
from bigfleet.verifier.facts import Invariant, Veto

EXAMPLES = Path(__file__).parents[2] / "examples" / "fleets"
FIRST_LOOK = str(EXAMPLES / "first-look.yaml")


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin)


def plan_json(*arguments: str) -> dict[str, object]:
    result = run("plan", *arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


def test_the_json_form_is_one_object() -> None:
    document = plan_json(FIRST_LOOK)
    assert list(document) == ["actions", "needs", "summary"]


def test_the_outcome_does_not_depend_on_the_number_of_workers() -> None:
    one, four = plan_json(FIRST_LOOK), plan_json(FIRST_LOOK, "--workers", "4")
    assert (one["actions"], one["needs"]) == (four["actions"], four["needs"])


def test_a_fleet_may_come_from_standard_input() -> None:
    result = run("plan", "-", "-o", "json", stdin=Path(FIRST_LOOK).read_bytes())
    assert json.loads(result.stdout)["actions"] == plan_json(FIRST_LOOK)["actions"]


def test_the_table_says_what_changes_for_whom_and_why() -> None:
    result = run("plan", FIRST_LOOK)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("6 machines, 1 need; all demand met; $0.10/h -> $0.86/h (+$0.76/h)")
    assert any(line.split() == ["shop", "1", "0", "+1", "+2", "+$0.76/h"] for line in lines)
    assert any(
        line.startswith("Bootstrap  bm-1     shop     idle match at $0.00/h") for line in lines
    )
    assert any(
        line.startswith("Reclaim    c-1      batch    cluster batch claims 0") for line in lines
    )


def test_long_lists_are_cut_with_a_count_of_the_rest() -> None:
    result = run("plan", FIRST_LOOK, "--limit", "1")
    assert "and 3 more actions (--limit 0 shows all)" in result.stdout
    assert "od-00" not in run("plan", FIRST_LOOK, "--limit", "1").stdout.split("ACTION")[0]
    assert "more actions" not in run("plan", FIRST_LOOK, "--limit", "0").stdout


def test_explain_prints_codes_and_facts() -> None:
    output = run("plan", FIRST_LOOK, "--explain").stdout
    assert "cost.rank: idle match at $0.00/h" in output
    assert "interruptionProbability=0.05, penaltyDollars=4, effectiveCost=0.58" in output
    assert "MET" in output


def test_colours_are_for_terminals_or_on_request() -> None:
    assert "\x1b[" not in run("plan", FIRST_LOOK).stdout
    assert "\x1b[" in run("plan", FIRST_LOOK, "--color", "always").stdout
    assert "\x1b[" not in run("plan", FIRST_LOOK, "--color", "never").stdout


def test_unmet_needs_are_listed_with_their_reasons_in_words() -> None:
    output = run("plan", str(EXAMPLES / "stock-out.yaml")).stdout
    assert "2 unmet" in output
    assert "4 slots that fit are in back-off until 2026-01-01T00:02:10Z" in output
    assert "memory 32Gi allocatable, 64Gi needed" in output


def test_several_cycles_are_listed_one_a_line() -> None:
    output = run("plan", str(EXAMPLES / "priority-inversion.yaml")).stdout
    after = output.split("CYCLE")[1].splitlines()[1:]
    assert [line.split() for line in after] == [
        ["1", "1", "2", "Preempt"],
        ["2", "1", "2", "Bootstrap"],
        ["3", "1", "quiet"],
    ]


def test_ids_are_never_wrapped_and_never_drive_the_terminal() -> None:
    long_id = "m-" + "x" * 250
    fleet = f"""
version: 1
kind: Fleet
machines:
  - {{id: {long_id}, state: Idle, capacityType: Spot, resources: {{cpu: 8}}}}
  - {{id: "m[bold]", state: Idle, capacityType: Spot, resources: {{cpu: 8}}}}
needs:
  - {{cluster: c, priority: 1, aggregateResources: {{cpu: 16}}}}
  - {{cluster: d, priority: 0, aggregateResources: {{cpu: 99}}, name: "evil\\e[31m[bold]"}}
"""
    output = run("plan", "-", stdin=fleet).stdout
    assert long_id in output
    assert "\x1b" not in output
    assert "m[bold]" in output
    assert "evil\\x1b[31m[bold]" in output


def test_a_narrow_terminal_folds_sentences_and_no_ids() -> None:
    fleet = load_fleet(Path(FIRST_LOOK).read_bytes(), FIRST_LOOK)
    cycles = list(planned_cycles(fleet, workers=1, clock=lambda: 0.0))
    page = Page(color=False, width=40)
    fill(page, cycles, explain=False, limit=20)
    text = page.text()
    assert "\u2026" not in text
    assert "CLUSTER    MET  UNMET  BOOTSTRAP" in text
    assert "Provision  od-00    shop     speculative match at" in text
    assert max(map(len, text.splitlines())) < 90


def test_bad_input_prints_every_problem_and_nothing_on_standard_output(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(
        """version: 1
kind: Fleet
machines:
  - {id: a, state: Idle, capacityType: Spot, interruptionProbability: 1.5}
  - {id: a, state: Idel, capacityType: Spot}
"""
    )
    result = run("plan", str(file))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert [line.split(": ")[0] for line in result.stderr.splitlines()] == [
        "machines[0].interruptionProbability",
        "machines[1].state",
        "machines[1].id",
        str(file),
    ]
    assert "1.5" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "no-such-file.yaml"], "cannot read the fleet file: No such file"),
        (["plan", "."], "cannot read the fleet file"),
        (["plan", FIRST_LOOK, "--workers", "0"], "0 is not in the range"),
        (["plan", FIRST_LOOK, "-o", "xml"], "'xml' is not one of"),
        (["plan", FIRST_LOOK, "--colour"], "No such option"),
        (["plam"], "No such command"),
    ],
)
def test_bad_usage_exits_2_and_says_why(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr


def test_a_closed_pipe_is_not_an_error() -> None:
    entry = "from bigfleet.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", entry, "plan", FIRST_LOOK, "-o", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == 0


@pytest.mark.parametrize("example", sorted(p.name for p in EXAMPLES.glob("*.yaml")))
def test_every_example_fleet_can_be_planned(example: str) -> None:
    document = plan_json(str(EXAMPLES / example), "--explain")
    actions, needs = document["actions"], document["needs"]
    assert isinstance(actions, list)
    assert isinstance(needs, list)
    assert all(entry["reasons"] for entry in [*actions, *needs])


def test_the_verifier_has_nothing_against_a_plan() -> None:
    result = run("plan", FIRST_LOOK, "--verify")
    assert result.exit_code == 0
    assert result.stdout.endswith("Verified: 4 actions, no veto.\n")
    assert json.loads(run("plan", FIRST_LOOK, "--verify", "-o", "json").stdout)["vetoes"] == []
    assert "vetoes" not in json.loads(run("plan", FIRST_LOOK, "-o", "json").stdout)


def test_a_plan_that_breaks_an_invariant_exits_1(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {0: Veto(Invariant.V2, "bare metal is never deleted", incident=True)}
    monkeypatch.setattr(cycles, "verified", lambda *_: broken)
    result = run("plan", FIRST_LOOK, "--verify")
    assert result.exit_code == 1
    assert "vetoed by the verifier (V2): bare metal is never deleted" in result.stdout
    policy = {0: Veto(Invariant.V6, "cluster shop loses at most 1 machine")}
    monkeypatch.setattr(cycles, "verified", lambda *_: policy)
    assert run("plan", FIRST_LOOK, "--verify").exit_code == 0
