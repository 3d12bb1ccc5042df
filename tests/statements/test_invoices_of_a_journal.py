"""`bigfleet reports invoices --journal`: months, teams, statements, CSV, and what it refuses."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.journal.recorder import FinishedCycle
from tests.statements.recorded_fleet import write_journal
from tests.statements.test_what_a_statement_says import preempted


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_journal(preempted().told, tmp_path_factory.mktemp("invoices") / "journal")


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "240"}).invoke(cli, ["reports", "invoices", *words])


def rows_of(answer: Result) -> list[dict[str, str]]:
    assert answer.exit_code == 0, answer.output
    return list(csv.DictReader(io.StringIO(answer.stdout)))


def test_months_say_what_each_cluster_caused_and_bore(journal: Path) -> None:
    rows = rows_of(run("--journal", str(journal), "--csv"))
    told = [[row[name] for name in ("CLUSTER", "CAUSED", "BORNE", "NET", "COUNT")] for row in rows]
    assert told == [["ml", "10", "0", "10", "1"], ["shop", "0", "10", "-10", "1"]]
    assert {row["MONTH"] for row in rows} == {"2023-11"}
    shown = run("--journal", str(journal)).stdout
    assert "-$10.00" in shown
    assert "never billed" in shown


def test_months_of_teams(journal: Path) -> None:
    words = ("--by", "team", "--team", "shop=retail", "--csv")
    rows = {row["TEAM"]: row for row in rows_of(run("--journal", str(journal), *words))}
    assert (rows["retail"]["BORNE"], rows["no team"]["CAUSED"]) == ("10", "10")


def test_each_statement_is_a_row(journal: Path) -> None:
    (row,) = rows_of(run("--journal", str(journal), "--statements", "--csv"))
    assert row["STATEMENT"].endswith("/m-1")
    assert (row["KIND"], row["DECLARED"], row["INTERRUPTION"]) == ("Preempt", "10", "8")
    assert float(row["DRAIN"]) >= 30
    assert float(row["DRAIN_VALUE"]) == pytest.approx(1.2 * float(row["DRAIN"]) / 3600, abs=1e-4)
    assert row["NEXT_BEST"] == "machine/m-2 of cluster shop, priority 10, would have made way"


def test_json_has_the_same(journal: Path) -> None:
    answer = run("--journal", str(journal), "--statements", "-o", "json")
    document = json.loads(answer.stdout)
    (item,) = document["items"]
    assert (item["machineId"], item["interruptionPenaltyDollars"]) == ("m-1", 8.0)
    assert (document["declared"], document["gaps"]) == (True, {"shard-0": []})


def test_another_month_has_none_and_a_cycle_before_it_none_yet(journal: Path) -> None:
    assert "no statement" in run("--journal", str(journal), "--month", "2024-01").stdout
    assert "no statement" in run("--journal", str(journal), "--at", "3").stdout
    assert "$10.00" in run("--journal", str(journal), "--from", "2023-11-14").stdout


def test_a_gap_is_named_and_is_a_partial_answer(tmp_path: Path) -> None:
    from bigfleet.journal.journal_file import JournalFile, JournalLimits

    file = JournalFile(tmp_path / "journal", "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for each in preempted().told:
        if isinstance(each, FinishedCycle):
            file.record(each, each.given.at)
            if each.given.cycle == 5:
                file.miss(6, 2, "the test dropped them")
    file.close()
    answer = run("--journal", str(tmp_path / "journal"))
    assert answer.exit_code == 5
    assert (
        "statements may be missing: shard-0: 2 cycles from 6 on are not recorded" in answer.stderr
    )


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--fleet", "fleet.yaml"), "a fleet file has no history", 2),
        (("--journal", "JOURNAL", "--month", "2026-13"), "is not a month; write 2026-03", 2),
        (("--journal", "JOURNAL", "--from", "then"), "is not a time; write 2026-03-14", 2),
        (("--journal", "JOURNAL", "--month", "2026-03", "--to", "2026-03-02"), "name a month", 2),
        (("--journal", "JOURNAL", "--from", "2026-03-02", "--to", "2026-03-02"), "--from", 2),
        (("--journal", "JOURNAL", "--by", "team"), "set costs.teams, or write --team", 2),
        (("--journal", "JOURNAL", "--team", "shop"), "write CLUSTER=TEAM", 2),
        (("--journal", "JOURNAL", "--team", "shop=x"), "only --by team adds up teams", 2),
        (("--journal", "JOURNAL", "--at", "999"), "no cycle 3:999 is recorded", 3),
    ],
)
def test_what_cannot_be_answered_is_refused_with_its_reason(
    journal: Path, words: tuple[str, ...], said: str, code: int
) -> None:
    answer = run(*(str(journal) if word == "JOURNAL" else word for word in words))
    assert (answer.exit_code, said in answer.output) == (code, True), answer.output
