"""The mutation check itself: its catalogue fits the source, it kills, and it kills only mutants."""

from pathlib import Path

import pytest

from tests.mutants.catalogue import CATALOGUE
from tests.mutants.check import MutantResult, judge, killing_test
from tests.mutants.mutant import PACKAGE, Mutant, Seen, copy_package

FEWEST = 30
#: One for each way to be noticed: an order, a tie, a rule of Phase 2, and a thing only kept.
EXAMPLES = (
    "the lowest priority comes first",
    "at equal cost the last id is taken first",
    "excess is taken last",
    "a changed machine is merged behind equal ones of greater id",
)


def test_every_flip_names_a_text_that_is_in_the_source_exactly_once() -> None:
    found = {mutant.breaks: mutant.occurrences(PACKAGE) for mutant in CATALOGUE}
    assert {breaks: count for breaks, count in found.items() if count != 1} == {}


def test_every_flip_changes_something() -> None:
    assert [mutant.breaks for mutant in CATALOGUE if mutant.old == mutant.new] == []


def test_no_flip_is_listed_twice() -> None:
    assert len(CATALOGUE) >= FEWEST
    assert len({mutant.breaks for mutant in CATALOGUE}) == len(CATALOGUE)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("breaks", EXAMPLES)
def test_a_flipped_decision_is_noticed(breaks: str) -> None:
    (mutant,) = (m for m in CATALOGUE if m.breaks == breaks)
    verdict = judge(mutant, PACKAGE)
    assert verdict.fate is MutantResult.KILLED
    assert verdict.by.startswith("loop" if mutant.seen_in == "loop" else "fleet")


@pytest.mark.parametrize("first", ["cycle", "loop"])
def test_the_engine_as_it_is_is_not_taken_for_a_mutant(first: Seen, tmp_path: Path) -> None:
    package = copy_package(PACKAGE, tmp_path)
    assert killing_test(package, first, fleets=300, loops=20) == (MutantResult.SURVIVED, "")


def test_a_flip_that_no_longer_fits_is_reported_not_run() -> None:
    gone = Mutant("nothing", "decide.py", "a text that is not there", "another")
    assert judge(gone, PACKAGE).fate is MutantResult.UNFIT


def test_a_mutant_that_cannot_even_be_imported_does_not_count_as_killed(tmp_path: Path) -> None:
    package = copy_package(PACKAGE, tmp_path)
    (package / "engine" / "decide.py").write_text("import nothing_of_this_name\n")
    fate, why = killing_test(package, "cycle", fleets=1, loops=0)
    assert fate is MutantResult.BROKEN
    assert "nothing_of_this_name" in why
