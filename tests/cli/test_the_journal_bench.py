"""`bigfleet bench journal` measures recording and questions, and judges every budget."""

import json

import pytest
from click.testing import CliRunner

from bigfleet.bench import journal
from bigfleet.bench.journal import answering
from bigfleet.cli.main import cli

BUDGET = {
    "a day in the journal": "<= 4",
    "on beside off": "<= 3",
    "why a Need, latest cycle, p95": "<= 300",
    "what if a zone is lost, p95": "<= 1",
    "why a Need, 6 cycles after a key frame, p95": "<= 3",
}
SMALL = ["bench", "journal", "uber-5k", "--scale", "0.02", "--cycles", "6"]


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "QUESTIONS", 4)
    monkeypatch.setattr(answering, "FEW", 2)


@pytest.mark.usefixtures("briefly")
def test_every_budget_is_measured_and_judged() -> None:
    result = CliRunner().invoke(cli, [*SMALL, "-o", "json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["shape"], document["cycles"]) == ("uber-5k", 6)
    rows = {row["name"]: row for row in document["measures"]}
    assert {name: row["budget"] for name, row in rows.items() if row["budget"]} == BUDGET
    assert {row["verdict"] for row in rows.values() if row["budget"]} <= {"met", "missed"}
    assert rows["a cycle in the journal"]["value"] > 0


@pytest.mark.usefixtures("briefly")
def test_people_get_a_table_that_says_what_the_budgets_are_for() -> None:
    result = CliRunner().invoke(cli, SMALL)
    assert result.exit_code == 0, result.output
    assert "cycle p50, journal on" in result.output
    assert "Budgets are stated for uber-50k" in result.output


def test_an_unknown_shape_is_refused_with_those_there_are() -> None:
    result = CliRunner().invoke(cli, ["bench", "journal", "uber-7"])
    assert result.exit_code == 2
    assert "uber-50k" in result.output
