"""`bigfleet reports cost` of a fleet file and of a journal."""

import csv
import io
import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.cli.shard_verbs.cost_report import AXES
from tests.costs.bills import EXAMPLE
from tests.questions.recorded_night import NIGHT

FILE = ("--fleet", str(EXAMPLE))
JOURNAL = ("--journal", str(NIGHT))


def typed(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(
        cli, ["reports", "cost", *words]
    )


def told(*words: str) -> dict[str, Any]:
    answer = typed(*words, "-o", "json")
    assert answer.exit_code == 0, answer.stderr
    return dict(json.loads(answer.stdout))


def prices_of_machines(*words: str) -> float:
    """Added up from another verb's answer."""
    answer = CliRunner().invoke(cli, ["machines", *words, "-o", "json"])
    assert answer.exit_code == 0, answer.stderr
    machines = [row["machine"] for row in json.loads(answer.stdout)["items"]]
    return sum(
        float(machine.get("pricePerHour", 0.0))
        for machine in machines
        if machine.get("host", {}).get("provider") or machine["state"] == "MACHINE_STATE_CREATING"
    )


@pytest.mark.parametrize("source", [FILE, JOURNAL], ids=["fleet file", "journal"])
def test_the_rate_is_that_of_the_machines_as_they_are_listed(source: tuple[str, ...]) -> None:
    total = told(*source)["total"]["billedDollarsPerHour"]
    assert total == pytest.approx(prices_of_machines(*source))
    assert total > 1


@pytest.mark.parametrize("axis", AXES)
def test_every_axis_tells_the_whole_bill(axis: str) -> None:
    found = told("--by", axis, *FILE)
    billed = sum(row["billedDollarsPerHour"] for row in found["items"])
    assert billed == pytest.approx(found["total"]["billedDollarsPerHour"]) == 1.72


def test_the_table_says_what_is_idle_stranded_and_wasted() -> None:
    answer = typed("--by", "team", *FILE)
    first, _, head, *rows = answer.stdout.splitlines()
    assert first.startswith("5 machines cost $1.72/h, 1 machine more at the price 0, in cycle 1.")
    assert "Idle $0.40, stranded $0.40, waste $0.20." in first
    assert head.split()[:2] == ["TEAM", "MACHINES"]
    assert [row.split("  ")[0] for row in rows[:3]] == ["retail", "research", "shared idle"]
    assert "warn: 1 Spot machine of m5.2xlarge" in answer.stdout


def test_csv_has_plain_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(typed("--csv", *FILE).stdout)))
    assert [(row["CLUSTER"], float(row["BILLED"])) for row in rows] == [
        ("shop", 0.8),
        ("ml", 0.12),
        ("", 0.8),
    ]


def test_the_idle_bill_is_shared_when_it_is_asked_for() -> None:
    apart, shared = told(*FILE), told("--idle-share", "use", *FILE)
    assert [row["sharedIdleDollarsPerHour"] for row in apart["items"]] == [0, 0, 0]
    added = {row["name"]: row["sharedIdleDollarsPerHour"] for row in shared["items"]}
    assert added == pytest.approx({"shop": 0.8 * 0.8 / 0.92, "ml": 0.8 * 0.12 / 0.92, "": -0.8})


def test_a_journal_says_what_it_does_not_know() -> None:
    assert any("imputed prices and teams: unknown" in text for text in told(*JOURNAL)["unknown"])


def test_an_axis_that_does_not_exist_is_refused_with_those_that_do() -> None:
    answer = typed("--by", "colour", *FILE)
    assert answer.exit_code == 2
    assert "'cluster', 'team', 'type'" in answer.stderr
