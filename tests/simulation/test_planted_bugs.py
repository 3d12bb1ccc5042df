"""A law that cannot be broken proves nothing: each finds a bug that is planted in real code."""

import pytest

from bigfleet.simulation.laws import LAWS
from tests.simulation.planted import BUGS, Bug, laws_broken_with


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found(bug: Bug) -> None:
    assert bug.law in laws_broken_with(bug, bug.seed)


def test_every_law_has_a_bug_that_breaks_it() -> None:
    assert {bug.law for bug in BUGS} == set(LAWS)
