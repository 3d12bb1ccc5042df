"""`bigfleet bench journal` measures recording, questions, a living shard and a diff, and judges
every budget."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from bigfleet.bench import journal
from bigfleet.bench.journal import answering, cost_day, diffing, living
from bigfleet.cli.main import cli

BUDGET = {
    "a day in the journal": "<= 4",
    "why a Need, latest cycle, p95": "<= 300",
    "what if a zone is lost, p95": "<= 1",
    "why a Need, 4 cycles after a key frame, p95": "<= 3",
    "why a Need with 4,114 candidates, latest cycle, p95": "<= 300",
    "why a Need with 4,114 candidates, latest cycle, CPU p95": "<= 300",
    "why a Need with 4,114 candidates, 4 cycles after a key frame, p95": "<= 3",
    "why a Need with 4,114 candidates, 4 cycles after a key frame, CPU p95": "<= 3",
    "journal on beside off, CPU": "<= 3",
    "journal on beside off, by the clock": "<= 3",
    "ledger of costs on beside off, CPU": "<= 3",
    "ledger of costs on beside off, by the clock": "<= 3",
    "a day told by every axis and for a cost tool": "<= 10",
    "why a Need over RPC, latest cycle, p95": "<= 300",
    "why a Need over RPC, past cycle, p95": "<= 3",
    "cycle p99 beside 2 what-ifs, CPU": "<= 5",
    "cycle p99 beside 2 what-ifs, by the clock": "<= 5",
    "open diff of a day, extrapolated from them, CPU": "<= 30",
    "open diff of a day, extrapolated from them, by the clock": "<= 30",
    "closed diff of a day, extrapolated from them, CPU": "<= 30",
    "closed diff of a day, extrapolated from them, by the clock": "<= 30",
}
SMALL = ["bench", "journal", "uber-5k", "--scale", "0.02", "--cycles", "4", "--diff-cycles", "12"]


@pytest.fixture(scope="module", autouse=True)
def briefly() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bigfleet.bench.timing.INDICES", 5_000)
        patch.setattr(journal, "QUESTIONS", 4)
        patch.setattr(answering, "FEW", 2)
        patch.setattr(living, "FEW", 2)
        patch.setattr(living, "BLOCK", 2)
        patch.setattr(living, "CYCLE_SECONDS", 0.05)
        patch.setattr(living, "PAST_CYCLES", 3)
        patch.setattr(journal, "DIFF_SCALE", 0.02)
        patch.setattr(journal, "COST_SCALE", 0.02)
        patch.setattr(cost_day, "HOURS", 2)
        yield


def run(*words: str) -> Result:
    result = CliRunner().invoke(cli, [*SMALL, *words])
    assert result.exit_code == 0, result.output
    return result


def test_every_budget_is_measured_and_judged() -> None:
    document = json.loads(run("-o", "json").stdout)
    assert (document["shape"], document["cycles"]) == ("uber-5k", 4)
    rows = {row["name"]: row for row in document["measures"]}
    assert {name: row["budget"] for name, row in rows.items() if row["budget"]} == BUDGET
    judged = {row["verdict"] for row in rows.values() if row["budget"]}
    assert judged <= {"met", "missed", "open"}
    beside = rows["journal on beside off, CPU"]
    assert beside["low"] <= beside["value"] <= beside["high"]
    assert rows["what-ifs that were answered meanwhile"]["value"] >= 2
    assert rows["closed diff of 12 cycles, CPU"]["value"] > 0
    assert rows["rows of that day for a cost tool"]["value"] > 2


def test_people_get_a_table_of_the_parts_they_name() -> None:
    result = run("--part", "recording")
    assert "a day in the journal" in result.output
    assert "beside off, CPU" not in result.output
    assert "Budgets are stated for uber-50k" in result.output


def test_a_diff_that_fails_ends_the_measuring_with_what_it_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diffing, "CANDIDATE", "noSuchOption=1")
    result = CliRunner().invoke(cli, [*SMALL, "--part", "diff"])
    assert result.exit_code == 1
    assert "noSuchOption" in result.output


def test_an_unknown_shape_is_refused_with_those_there_are() -> None:
    result = CliRunner().invoke(cli, ["bench", "journal", "uber-7"])
    assert result.exit_code == 2
    assert "uber-50k" in result.output
