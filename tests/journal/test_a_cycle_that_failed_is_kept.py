"""What a cycle was given in which the engine failed is kept as a file that is decided again."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.engine.engine_input import EngineInput
from bigfleet.journal.history import History, cycle_at
from bigfleet.journal.journal_file import MOST_FAILURES, JournalFile, JournalLimits
from bigfleet.journal.recorder import FailedCycle
from bigfleet.journal.segments import failures_in, records_in_order, segments_in, segments_of
from bigfleet.model.journal import JournalEvent
from bigfleet.model.options import SECOND
from bigfleet.shard.driving import cycles
from tests.cli.shard_commands.rig import living_shard
from tests.journal.lives import START, LivingFleet
from tests.shard_system.waiting import until

WHY = "ZeroDivisionError('\x1b[31mdivision by zero')"


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """The third cycle fails; cycles before and after it are recorded."""
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in LivingFleet(11).cycles(5):
        if cycle.given.cycle == 3:
            file.keep_failure(FailedCycle(cycle.given, WHY))
        else:
            file.record(cycle, START)
    file.close()
    (kept,) = failures_in(tmp_path)
    return kept.path


def replayed(path: Path) -> Result:
    return CliRunner().invoke(cli, ["replay", str(path)])


def test_it_is_none_of_the_segments_and_holds_exactly_its_input(failed: Path) -> None:
    assert failed.name == "failed-0000000003-000000000003.bfj"
    assert len(segments_in(failed.parent)) == 1
    recorded = History().cycles(records_in_order(segments_of(failed.parent)))
    assert [each.given.cycle for each in recorded] == [1, 2, 4, 5]
    found = cycle_at(segments_of(failed))
    assert found is not None
    assert found.name == "3:3"
    assert found.recorded.failure == WHY
    given = [each.given for each in LivingFleet(11).cycles(3)][2]
    assert found.recorded.given.decide().actions == given.decide().actions


def test_it_is_decided_again(failed: Path) -> None:
    answer = replayed(failed)
    assert answer.exit_code == 0, answer.output
    assert "cycle 3:3 decided nothing then: ZeroDivisionError('\\x1b[31m" in answer.stdout
    assert "decided now: " in answer.stdout


def test_an_engine_that_still_fails_is_told_with_where(
    failed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(given: EngineInput) -> None:
        raise ZeroDivisionError(f"cycle {given.cycle}")

    monkeypatch.setattr(EngineInput, "decide", fails)
    answer = replayed(failed)
    assert answer.exit_code == 1
    assert "it fails again now:" in answer.stdout
    assert "ZeroDivisionError: cycle 3" in answer.stdout


def test_it_can_be_dumped_as_a_fleet_file(failed: Path, tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    answer = CliRunner().invoke(cli, ["replay", str(failed), "--dump", str(file)])
    assert answer.exit_code == 0, answer.output
    assert "kind: Fleet" in file.read_text()


def test_one_a_minute_is_kept_and_the_newest_few(tmp_path: Path) -> None:
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    given = next(LivingFleet(11).cycles(1)).given
    for second in range(0, 600, 20):
        later = replace(given, cycle=second + 1, now=START + second * SECOND)
        file.keep_failure(FailedCycle(later, WHY))
    kept = [each.first_cycle for each in failures_in(tmp_path)]
    assert kept == [301, 361, 421, 481, 541]
    assert len(kept) == MOST_FAILURES


async def test_a_live_shard_keeps_what_its_engine_failed_on_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object) -> None:
        raise ZeroDivisionError("for the test")

    journal = tmp_path / "data" / "journal"
    async with living_shard(tmp_path) as shard:
        with monkeypatch.context() as patched:
            patched.setattr(cycles, "deliberate", fails)
            await until(lambda: failures_in(journal))
        decided = shard.process.state.decision_loop.last_at
        await until(lambda: shard.process.state.decision_loop.last_at != decided)
        await until(lambda: shard.process.state.decision_loop.failures_in_a_row == 0)
    (kept,) = failures_in(journal)
    answer = await asyncio.to_thread(replayed, kept.path)
    assert answer.exit_code == 0, answer.output
    assert "decided nothing then: ZeroDivisionError('for the test')" in answer.stdout
    bodies = [record.body for record in records_in_order(segments_of(journal))]
    events = [body.kind for body in bodies if isinstance(body, JournalEvent)]
    assert "cycle_failed" in events
