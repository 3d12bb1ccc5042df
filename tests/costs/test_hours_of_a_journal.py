"""Past hours of a journal: what its cycles cost while they held, and its gaps by name."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.costs import recorded_hours
from bigfleet.costs.meter import HOUR
from bigfleet.engine.encoding import machine_at
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.model.options import SECOND
from tests.costs.bills import is_billed
from tests.questions.recorded_night import BEGIN, NIGHT, RecordedShard, report, web

FROM = ("--from", "2026-03-14T02:00:00Z")


def cycles_of(journal: Path) -> Iterator[RecordedCycle]:
    yield from History().cycles(records_in_order(segments_of(journal)))


def rate_of(cycle: RecordedCycle) -> float:
    """By hand, one machine after the other."""
    snapshot = cycle.given.snapshot
    machines = [machine_at(snapshot, row).machine for row in range(len(snapshot))]
    return sum(machine.price_per_hour for machine in machines if is_billed(machine))


def dollars_by_hand(journal: Path) -> float:
    found, cycles = 0.0, list(cycles_of(journal))
    for cycle, after in pairwise(cycles):
        if after.given.cycle == cycle.given.cycle + 1:
            found += rate_of(cycle) * (after.given.at - cycle.given.at) / HOUR
    return found


def asked(journal: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["reports", "cost", "--journal", str(journal), *words])


def recorded(folder: Path, *lost: int) -> Path:
    """Forty cycles of five seconds; those that are lost never reached the journal."""
    file = JournalFile(folder, "shard-0", 1, "0.3.0", JournalLimits())
    file.prepare()
    shard = RecordedShard(file)
    shard.report("shop", web(30))
    shard.report("batch", report(1))
    for number in range(40):
        step: Callable[[int], None] = shard.run if number in lost else shard.run_recorded
        step(1)
    file.close()
    return folder


def test_the_night_costs_what_its_cycles_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_hours, "LOOK_SECONDS", 0.0)
    told = json.loads(asked(NIGHT, *FROM, "-o", "json").stdout)
    assert told["total"]["billedDollars"] == pytest.approx(dollars_by_hand(NIGHT))
    assert told["periods"]["shard-0"]["observedSeconds"] == 383 * 5


def test_a_look_every_ten_seconds_is_close(monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(asked(NIGHT, *FROM, "-o", "json").stdout)
    assert told["total"]["billedDollars"] == pytest.approx(dollars_by_hand(NIGHT), rel=0.02)
    assert told["periods"]["shard-0"]["observedSeconds"] == 383 * 5


def test_hours_without_a_cycle_are_named_and_the_exit_code_says_so() -> None:
    answer = asked(NIGHT, "--from", "2026-03-14T00:00:00Z", "-o", "json")
    period = json.loads(answer.stdout)["periods"]["shard-0"]
    assert answer.exit_code == 5
    assert period["unobserved"] == ["2026-03-14T00:00:00Z", "2026-03-14T01:00:00Z"]
    assert "2 hours were not observed, and nothing is added for them" in answer.stderr


def test_a_gap_is_named_and_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_hours, "LOOK_SECONDS", 0.0)
    journal = recorded(tmp_path, *range(20, 30))
    told = json.loads(asked(journal, *FROM, "-o", "json").stdout)
    assert told["total"]["billedDollars"] == pytest.approx(dollars_by_hand(journal))
    # From the 20th to the 31st cycle nothing is known.
    assert told["periods"]["shard-0"]["observedSeconds"] == (39 - 11) * 5
    [gap] = [text for text in told["unknown"] if text.startswith("not observed: ")]
    assert "cycles are missing between 2026-03-14T02:41:40Z and 2026-03-14T02:42:35Z" in gap


def test_hours_of_a_journal_come_for_cost_tools_too() -> None:
    lines = asked(NIGHT, *FROM, "--focus").stdout.splitlines()
    assert lines[0].startswith("AvailabilityZone,BilledCost,")
    assert all(",2026-03-01T00:00:00Z,Usage," in line for line in lines[1:])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "2026-03-15"), "--from: is not before --to"),
        (("--from", "1h", "--at", "200"), "--at: is one cycle"),
        (("--from", "2h", "--to", "2026-03-14T02:00:00Z"), "--from: no cycle is recorded then"),
    ],
)
def test_times_without_a_record_are_refused(words: tuple[str, ...], said: str) -> None:
    answer = asked(NIGHT, *words)
    assert answer.exit_code == 2
    assert said in answer.stderr


def test_the_night_begins_where_the_page_says() -> None:
    first = next(cycles_of(NIGHT))
    assert first.given.at == BEGIN + 5 * SECOND
