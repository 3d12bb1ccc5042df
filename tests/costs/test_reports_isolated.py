"""`bigfleet reports isolated` on a journal: what it prints, and when it leaves with what code."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from tests.costs.recordings import journal_of, taking_turns
from tests.questions.recorded_night import NIGHT


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["reports", "isolated", *words])


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return journal_of(taking_turns(), tmp_path_factory.mktemp("turns"))


def test_a_journal_is_told_with_what_is_assumed(journal: Path) -> None:
    answer = run("--journal", str(journal))
    assert answer.exit_code == 0, answer.output
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("One pool costs $4.40 less (100%)")
    assert next(line.split() for line in lines if line.startswith("billed")) == [
        *("billed", "0", "4.40", "4.40", "-", "$", "shard-0")
    ]
    assert any(line.startswith("No interval: it takes 24 hours") for line in lines)
    assert any("as if it were alone in the cloud" in line for line in lines)


def test_programs_get_slices_totals_and_assumptions(journal: Path) -> None:
    import orjson

    answer = orjson.loads(run("--journal", str(journal), "-o", "json").stdout)
    (report,) = answer["reports"]
    assert report["shardId"] == "shard-0"
    slices = report["report"]["slices"]
    assert report["rows"][0] == {
        "measure": "billed",
        "unit": "$",
        "pooled": 0.0,
        "isolated": pytest.approx(4.4),
        "difference": pytest.approx(4.4),
        "interval": None,
    }
    assert answer["items"][0] == {**report["rows"][0], "shardId": "shard-0"}
    assert sum(each["isolated"]["dollars"] for each in slices) == pytest.approx(4.4)
    assert report["assumptions"]


def test_a_part_of_the_journal_is_compared_alone(journal: Path) -> None:
    answer = run("--journal", str(journal), "--from", "1:5", "--at", "1:20", "-o", "json")
    assert '"first":"1:5"' in answer.stdout.replace(" ", "")
    assert '"last":"1:20"' in answer.stdout.replace(" ", "")


def test_missing_cycles_are_a_partial_answer(tmp_path: Path) -> None:
    cycles = taking_turns()
    answer = run("--journal", str(journal_of([*cycles[:10], *cycles[12:]], tmp_path)))
    assert answer.exit_code == 5
    assert "cycles are missing, from 1:10" in answer.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(("--fleet", "x.yaml"), 2, "--fleet: a fleet file is one instant", id="file"),
        pytest.param(("--split", "weight"), 2, "split: 'weight' is not one of", id="split"),
        pytest.param(("--headroom", "-1"), 2, "headroom: -1 is not a number", id="headroom"),
        pytest.param(("--from", "1:9999"), 3, "no cycle is recorded there", id="no such cycle"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(
    words: tuple[str, ...], code: int, said: str
) -> None:
    journal = () if "--fleet" in words else ("--journal", str(NIGHT))
    answer = run(*journal, *words)
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert said in answer.stderr
