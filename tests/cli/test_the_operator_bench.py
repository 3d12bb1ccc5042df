"""`bigfleet bench operator` measures the shape of the specification, and judges every budget."""

import json

import pytest
from click.testing import CliRunner

from bigfleet.bench import operator
from bigfleet.bench.operator import BUDGETED, cached, co_located_spec, pages
from bigfleet.cli.main import cli
from bigfleet.operator.rollup import DemandBook

BUDGET = {
    "roll-up from nothing": "<= 200",
    "1 request changed": "<= 5",
    "83 requests changed": "<= 5",
    "with pods and Nodes, from nothing": "<= 200",
    "83 requests changed, pods wait": "<= 5",
    "resident memory": "<= 500",
}


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "ROUNDS", 1)
    monkeypatch.setattr(operator, "HOMOGENEOUS", (10,))


def test_twenty_five_thousand_requests_are_697_needs() -> None:
    book = DemandBook("shop")
    for key, request in cached(pages(BUDGETED, co_located_spec)).items():
        book.put(key, request.uid, request.spec, request.phase)
    needs = book.needs()
    assert len(book) == BUDGETED
    assert len(needs) == 697
    assert len({need.group for need in needs if need.group}) == 695
    assert {sum(need.aggregate["cpu"] // need.min_unit["cpu"] for need in needs)} == {BUDGETED}


@pytest.mark.usefixtures("briefly")
def test_every_budget_is_measured_and_judged() -> None:
    result = CliRunner().invoke(cli, ["bench", "operator", "--requests", "900", "-o", "json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.output)
    assert document["requests"] == 900
    rows = {row["name"]: row for row in document["measures"]}
    assert {name: row["budget"] for name, row in rows.items() if row["budget"]} == BUDGET
    assert {row["verdict"] for row in rows.values() if row["budget"]} <= {"met", "missed"}
    assert rows["Needs in the roll-up"]["value"] == 27


@pytest.mark.usefixtures("briefly")
def test_people_get_a_table_that_says_what_the_budgets_are_for() -> None:
    result = CliRunner().invoke(cli, ["bench", "operator", "--requests", "100"])
    assert result.exit_code == 0, result.output
    assert "roll-up from nothing" in result.output
    assert "Budgets are stated for 25,000 requests" in result.output
