"""`bigfleet bench provider` measures every row of the provider's budget and judges it."""

import asyncio
import json

import click
import pytest
from click.testing import CliRunner

from bigfleet.bench.measures import Measure, document_of
from bigfleet.bench.provider import clients, load
from bigfleet.cli.main import cli

#: Rows of the budget as they are named, with what is allowed.
BUDGET = {
    "full List of 600, server CPU": "<= 100",
    "full List of 600, bytes at the client": "<= 160",
    "full List of 600, decoded into columns": "<= 400",
    "full List of 300, decoded into columns": "<= 80",
    "delta of 20": "<= 15",
    "capped filtered List, 1 record": "<= 3",
    "Get, 16 clients, p99": "<= 15",
    "mutations, memory, 16 clients, median of rounds": ">= 1,500",
    "mutations, memory, 16 clients, ack p99": "<= 40",
    "mutations, SQLite, 16 clients, median of rounds": ">= 1,000",
    "mutations, SQLite, 16 clients, ack p99": "<= 60",
    "mutations, SQLite, one client": ">= 300",
    "longest stall of the loop, so far": "<= 50",
    "longest stall of the loop, in a reconcile": "<= 50",
    "start with the stored fleet": "<= 5",
    "reconcile of an unchanged fleet, CPU": "<= 2",
    "reconcile of an unchanged fleet, revisions moved": "<= 0",
    "memory per machine": "<= 4,096",
}


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same measures, each taken a few times only."""
    few = {"LISTS": 1, "GETS": 16, "MUTATIONS": 16, "LONE_MUTATIONS": 2, "CAPPED": 1, "ROUNDS": 1}
    for name, number in few.items():
        monkeypatch.setattr(clients, name, number)
    monkeypatch.setattr(load, "SMALLER", 300)
    monkeypatch.setattr(load, "CHANGES", 20)


@pytest.mark.usefixtures("briefly")
def test_every_row_of_the_budget_is_measured() -> None:
    measures = asyncio.run(load.measured(600, "both"))
    judged = {m.name.replace(" (0.1 MB)", ""): m.budget for m in measures if m.budget}
    assert judged == BUDGET
    assert [m.name for m in measures if m.value < 0] == []
    moved = next(m for m in measures if m.name.endswith("revisions moved"))
    assert moved.verdict == "met"


@pytest.mark.parametrize("words", [["bench", "provider"], ["provider", "bench"]], ids=" ".join)
def test_it_goes_by_two_names(words: list[str]) -> None:
    result = CliRunner().invoke(cli, [*words, "--help"])
    assert result.exit_code == 0
    assert f"Usage: cli {' '.join(words)} [OPTIONS]" in result.output
    assert "performance budget" in result.output


def test_a_shape_is_still_a_shape() -> None:
    bench = cli.get_command(click.Context(cli), "bench")
    assert bench is not None
    assert bench.make_context("bench", ["uber-5k"]).params["shapes"] == ("uber-5k",)


@pytest.mark.parametrize(
    ("measure", "verdict"),
    [
        (Measure("m", 3.0, "ms", at_most=3), "met"),
        (Measure("m", 3.1, "ms", at_most=3), "missed"),
        (Measure("m", 999.0, "1/s", at_least=1000), "missed"),
        (Measure("m", 1000.0, "1/s", at_least=1000), "met"),
        (Measure("m", 7.0, "ms"), ""),
    ],
    ids=["at most, just", "at most, above", "at least, below", "at least, just", "no budget"],
)
def test_a_verdict_compares_with_the_budget(measure: Measure, verdict: str) -> None:
    assert measure.verdict == verdict


def test_programs_get_the_same_rows() -> None:
    rows = document_of([Measure("m", 1.5, "ms", at_most=2)], machines=5, store="both")
    assert json.loads(json.dumps(rows))["measures"] == [
        {"name": "m", "value": 1.5, "unit": "ms", "budget": "<= 2", "verdict": "met"}
    ]
