"""Rows of durability look at one restart; a row that does not pass leaves none to the next."""

from pathlib import Path

from bigfleet.conformance.catalogue import BY_ID
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.embedded import EmbeddedLauncher
from bigfleet.conformance.pace import Pace
from bigfleet.conformance.rows import Findings
from bigfleet.conformance.runner import Run, run_rows
from bigfleet.conformance.trial import Settings

ROWS = [BY_ID[f"B100{number}"] for number in (1, 2, 3, 4, 5, 7)]


async def boots_and_findings(tmp_path: Path, mutant: str = "") -> tuple[int, Findings]:
    clock = SystemClock()
    launcher = EmbeddedLauncher(clock, mutant)
    settings = Settings(seed_count=64, scratch=tmp_path)
    findings = await run_rows(Run(launcher, clock, settings, Pace().brisk()), ROWS)
    still_up = [running for running in launcher.served if not running._stopped]
    assert still_up == []
    return len(launcher.served), findings


async def test_six_rows_need_one_kill(tmp_path: Path) -> None:
    boots, findings = await boots_and_findings(tmp_path)
    assert [outcome.status for outcome in findings.outcomes] == ["passed"] * len(ROWS)
    assert boots == 2


async def test_after_a_row_that_failed_the_next_starts_afresh(tmp_path: Path) -> None:
    boots, findings = await boots_and_findings(tmp_path, "ids in memory")
    failed = [outcome.row.id for outcome in findings.outcomes if outcome.status == "failed"]
    assert failed == ["B1002"]
    assert boots == 4
