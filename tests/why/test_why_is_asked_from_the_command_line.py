"""`bigfleet why need/...` as people and programs call it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli

EXAMPLES = Path(__file__).parents[2] / "examples" / "fleets"
INVERSION = str(EXAMPLES / "priority-inversion.yaml")
FIRST_LOOK = str(EXAMPLES / "first-look.yaml")
HOSTILE = """
version: 1
kind: Fleet
machines:
  - {id: m-1, state: Speculative, capacityType: Spot, resources: {cpu: 8}}
needs:
  - {cluster: shop, priority: 1, group: "gang\\e[31m\\u202e", aggregateResources: {cpu: 80},
     minUnit: {cpu: 1}}
"""


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin)


def test_the_page_has_headline_reasons_supply_candidates_and_victims() -> None:
    result = run("why", "need/train/n", "--fleet", INVERSION)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ARRIVING  need/train/n")
    assert "priority 1000000  short nvidia.com/gpu 16   cycle 1" in lines[0]
    assert lines[1].split()[0] == "flight.draining"
    assert any(line.startswith("supply  4 machines | ") for line in lines)
    assert any(line.startswith("MACHINE") for line in lines)
    assert any(line.startswith("VICTIM") for line in lines)


def test_the_document_is_the_admin_message() -> None:
    result = run("why", "need/shop/n", "--fleet", FIRST_LOOK, "-o", "json")
    document = json.loads(result.stdout)
    assert document["view"]["satisfied"] is True
    assert sum(each["machines"] for each in document["rejects"]) == document["machines"] == 6
    assert document["candidates"][0]["outcome"] == "CANDIDATE_OUTCOME_CHOSEN"
    assert document["cycleName"] == "1"


STATES = """
version: 1
kind: Fleet
machines:
  - {id: c-1, state: Configured, cluster: shop, capacityType: BareMetal, resources: {cpu: 8}}
  - {id: idle, state: Idle, capacityType: BareMetal, resources: {cpu: 8}, labels: {arch: arm}}
  - {id: spot, state: Speculative, capacityType: Spot, resources: {cpu: 8}, labels: {arch: spot},
     held: {by: backoff}}
needs:
  - {cluster: shop, priority: 9, aggregateResources: {cpu: 8}}
  - {cluster: arm, priority: 9, aggregateResources: {cpu: 8},
     requirements: [{key: arch, operator: In, values: [arm]}]}
  - {cluster: spot, priority: 9, aggregateResources: {cpu: 8},
     requirements: [{key: arch, operator: In, values: [spot]}]}
  - {cluster: gpu, priority: 9, aggregateResources: {cpu: 8},
     requirements: [{key: arch, operator: In, values: [gpu]}]}
options: {now: "2026-01-01T00:00:00Z", clustersReady: all}
"""


@pytest.mark.parametrize(
    ("cluster", "headline", "note"),
    [
        ("shop", "COVERED", "its pods run is not in a fleet file"),
        ("arm", "ARRIVING", "whether something holds it back is not known"),
        ("spot", "BLOCKED", "what helps: bigfleet reports offerings"),
        ("gpu", "SHORT", ""),
    ],
    ids=["all there", "planned", "held", "no supply"],
)
def test_a_fleet_file_tells_a_state_as_far_as_it_goes(
    cluster: str, headline: str, note: str
) -> None:
    shown = run("why", f"need/{cluster}/n", "--fleet", "-", stdin=STATES).stdout
    assert shown.startswith(f"{headline}  need/{cluster}/n")
    notes = [line for line in shown.splitlines() if line.startswith("note")]
    assert [each.endswith(note) for each in notes] == ([True] if note else [])
    document = run("why", f"need/{cluster}/n", "--fleet", "-", "-o", "json", stdin=STATES).stdout
    state = "UNSPECIFIED" if headline == "COVERED" else headline
    assert json.loads(document)["state"] == f"NEED_STATE_{state}"


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("need/train/nzzzz", 3, "no need/train/nzzzz in cycle 1"),
        ("need/trian/n1", 3, "train"),
        ("need/n", 2, "Needs begin with need/n"),
        ("need", 2, "which need? write need/CLUSTER/ID"),
        ("shard/a", 2, "does not explain a shard yet"),
        ("neet/a/b", 2, "did you mean need/CLUSTER/ID?"),
    ],
    ids=["unknown id", "misspelt cluster", "ambiguous", "no name", "another kind", "misspelt kind"],
)
def test_a_name_that_cannot_be_explained_is_told_with_what_to_write(
    name: str, code: int, said: str
) -> None:
    result = run("why", name, "--fleet", INVERSION)
    assert result.exit_code == code, result.output
    assert said in result.stderr


def test_hostile_names_are_shown_as_text() -> None:
    for form in ("table", "json"):
        result = run("why", "need/n", "--fleet", "-", "-o", form, stdin=HOSTILE)
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.stdout
        assert "\u202e" not in result.stdout
        assert "u202e" in result.stdout


def test_the_candidates_are_a_list_for_programs() -> None:
    result = run("why", "need/shop/n", "--fleet", FIRST_LOOK, "-o", "csv", "--candidates", "2")
    assert result.stdout.splitlines()[0].startswith("MACHINE,STATE,RANK")
    assert len(result.stdout.splitlines()) == 3
