"""The laws can fail: each guard that is taken away is missed by some schedule."""

import pytest

from tests.coordination_laws.mutants import MUTANTS, Mutant
from tests.coordination_laws.searching import first_broken, play_pasts

#: Far more than it takes.
SEEDS = range(300)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_law_breaks_without_its_guard(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    play_pasts()
    mutant.patch(monkeypatch)
    assert first_broken(mutant.weights, mutant.pasts, [mutant.seed, *SEEDS]) is not None
