"""`why cluster/ID`, and journals that are asked by time."""

import csv
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.journal.decisions import cycle_when, explained
from bigfleet.journal.history import History
from bigfleet.journal.notes import decisions_in
from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.instants import instant_of
from bigfleet.model.machine_answers import DecisionQuery
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import Disposition
from tests.questions.recorded_night import NIGHT

SEGMENTS = segments_of(NIGHT)


def asked(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def rows_of(*words: str) -> list[tuple[str, str, str]]:
    """Kind, machine and what became of each decision, oldest first."""
    told = asked("why", "cluster/shop", "--journal", str(NIGHT), "-o", "csv", *words)
    assert told.exit_code == 0, told.output
    rows = list(csv.DictReader(told.stdout.splitlines()))
    return [(row["WHAT"], row["MACHINE"], row["BECAME"]) for row in rows]


def test_the_newest_decisions_come_last() -> None:
    assert rows_of()[-2:] == [
        ("Provision", "od-a-2", "success"),
        ("Bootstrap", "od-a-2", "success"),
    ]


def test_what_is_held_back_in_every_cycle_is_told_once() -> None:
    held = [row for row in rows_of() if row[:2] == ("Preempt", "bm-03")]
    assert held == [("Preempt", "bm-03", "suppressed")]


def test_nothing_later_than_the_cycle_asked_for_is_told() -> None:
    assert rows_of("--at", "242")[-2:] == [
        ("Preempt", "bm-01", "success"),
        ("Preempt", "bm-02", "success"),
    ]
    assert rows_of("--at", "241")[-1][:2] == ("Bootstrap", "bm-06")


def test_a_stock_out_is_told_in_the_words_of_the_provider() -> None:
    told = asked("why", "cluster/shop", "--journal", str(NIGHT), "--at", "249").stdout
    assert "then: RESOURCE_EXHAUSTED: InsufficientInstanceCapacity: no m5.2xlarge in zone" in told


def test_the_reason_is_that_of_the_cycle_decided_again() -> None:
    found = decisions_in(SEGMENTS, 1, DecisionQuery(kinds=(ActionKind.RECLAIM,)), 1)
    (told,) = explained(SEGMENTS, 1, found.decisions)
    assert told.disposition is Disposition.ENQUEUED
    assert told.reason.startswith("cluster batch claims 0 of its 1 Configured machines")


def test_a_time_means_the_last_cycle_that_was_decided_by_then() -> None:
    for cycle in History().cycles(records_in_order(SEGMENTS)):
        at = cycle.given.at
        assert cycle_when(SEGMENTS, at) == (1, cycle.given.cycle)
        assert cycle_when(SEGMENTS, at + 4 * SECOND) == (1, cycle.given.cycle)
        if cycle.given.cycle > 40:
            break


def test_before_the_first_cycle_there_is_none() -> None:
    assert cycle_when(SEGMENTS, instant_of("2026-03-14T02:40:00Z") or 0) is None
    told = asked("why", "cluster/shop", "--journal", str(NIGHT), "--at", "2026-03-14T02:40:00Z")
    assert told.exit_code == 3
    assert "no cycle is recorded at 2026-03-14T02:40:00Z or before" in told.output


@pytest.mark.parametrize("verb", [("why", "need/ml/n"), ("why-not", "need/ml/n"), ("whatif",)])
def test_every_verb_that_asks_a_journal_takes_a_time(verb: tuple[str, ...]) -> None:
    told = asked(*verb, "--journal", str(NIGHT), "--at", "2026-03-14T03:00:12Z")
    assert told.exit_code == 0, told.output
    assert "cycle 1:242" in told.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--journal", str(NIGHT), "--at", "2026-03-14"), "write 2026-03-14T03:00:10Z"),
        (("--journal", str(NIGHT), "--at", "three"), "is not a cycle"),
        (("--at", "2026-03-14T03:00:12Z"), "only a journal is asked by time"),
    ],
)
def test_what_is_not_a_time_is_refused(words: tuple[str, ...], said: str) -> None:
    told = asked("why", "cluster/shop", *words)
    assert told.exit_code == 2
    assert said in told.output


def test_an_unknown_cluster_is_answered_with_the_nearest() -> None:
    told = asked("why", "cluster/shp", "--journal", str(NIGHT))
    assert told.exit_code == 3
    assert "nothing is decided about cluster/shp; there are decisions about shop" in told.output


def test_a_fleet_file_is_asked_about_its_one_cycle(tmp_path: Path) -> None:
    file = tmp_path / "then.yaml"
    assert asked("replay", str(NIGHT), "--dump", str(file), "--at", "242").exit_code == 0
    told = asked("why", "cluster/shop", "--fleet", str(file), "-o", "json")
    decisions = orjson.loads(told.stdout)["decisions"]
    assert [(each["machineId"], each["name"]) for each in decisions] == [
        ("bm-01", "action/242.2"),
        ("bm-02", "action/242.3"),
    ]
