"""The suite can fail: each mutant of the reference provider is caught by the row that names it."""

from pathlib import Path

import pytest

from bigfleet.conformance.catalogue import ROWS
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.selftest import Kill, score, self_test, unpaired


def test_rows_and_mutants_are_pairs() -> None:
    assert unpaired() == []
    behaviours = [row.id for row in ROWS if row.id.startswith("B")]
    assert (len(behaviours), len([row for row in ROWS if row.id.startswith("X")])) == (93, 18)


@pytest.mark.certification
async def test_every_mutant_is_killed_and_every_row_passes_without_it(tmp_path: Path) -> None:
    kills = await self_test(ROWS, SystemClock(), tmp_path)
    assert [kill.entry() for kill in kills if not kill.killed] == []
    assert score(kills) == 1.0


def test_a_race_may_be_missed_once_in_twenty_runs() -> None:
    assert Kill("race", "B401", 20, ("caught",) * 19, sound=True).killed
    assert not Kill("race", "B401", 20, ("caught",) * 18, sound=True).killed


def test_a_mutant_that_slips_away_once_has_survived() -> None:
    assert not Kill("mutant", "B101", 3, ("caught",) * 2, sound=True).killed


def test_a_row_that_fails_without_its_mutant_proves_nothing() -> None:
    assert not Kill("mutant", "B101", 1, ("caught",), sound=False).killed
