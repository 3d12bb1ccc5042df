"""Grace shrinks with the gap in priority; the victim with the highest score goes first."""

import math

import numpy as np
import pytest

from bigfleet.engine.kernels import victims
from tests.costs.sources import source_of

grace_seconds = source_of(victims.grace_seconds)
victim_score = source_of(victims.victim_score)

MILLION = 1_000_000
WEIGHTS = np.array([1.0, 0.1, 0.1, 0.1])


def score(
    victim: int = 0,
    *,
    preemptor: int = MILLION,
    drain: float = 30.0,
    interruption: float = 1.0,
    reclamation: float = 1.0,
) -> float:
    return victim_score(preemptor - victim, drain, interruption, reclamation, WEIGHTS)


@pytest.mark.parametrize(
    ("preemptor", "victim", "seconds"),
    [
        pytest.param(MILLION, 0, 10, id="C12"),
        pytest.param(MILLION, 99_999, 10, id="C13"),
        pytest.param(MILLION, 100_001, 30, id="C14"),
        pytest.param(MILLION, 499_999, 30, id="C15"),
        pytest.param(MILLION, 500_001, 120, id="C16"),
        pytest.param(MILLION, 899_999, 120, id="C17"),
        pytest.param(MILLION, 900_001, 600, id="C18"),
        pytest.param(MILLION, MILLION, 600, id="C19"),
        pytest.param(0, 0, 600, id="C20"),
        pytest.param(MILLION, 100_000, 30, id="a gap of exactly 900000 is not above it"),
        pytest.param(MILLION, 500_000, 120, id="a gap of exactly 500000 is not above it"),
        pytest.param(MILLION, 900_000, 600, id="a gap of exactly 100000 is not above it"),
    ],
)
def test_the_further_below_the_shorter_the_grace(preemptor: int, victim: int, seconds: int) -> None:
    assert grace_seconds(preemptor - victim) == seconds


def test_a_victim_far_below_scores_above_one_just_below() -> None:
    """C21."""
    assert score(0) > score(900_000)


def test_a_quick_drain_scores_above_a_slow_one() -> None:
    """C22."""
    assert score(drain=5.0) > score(drain=600.0)


def test_cheap_penalties_score_above_dear_ones() -> None:
    """C23."""
    cheap = score(interruption=1.0, reclamation=1.0)
    assert cheap > score(interruption=10_000.0, reclamation=10_000.0)


def test_a_score_is_finite_where_every_denominator_is_zero() -> None:
    """C24: 0.1 over the floors 1, 0.01 and 0.01."""
    found = score(preemptor=0, drain=0.0, interruption=0.0, reclamation=0.0)
    assert math.isfinite(found)
    assert found == pytest.approx(0.1 + 10.0 + 10.0)


def test_penalties_outweigh_twenty_points_of_priority_and_no_more() -> None:
    dearest = score(0, interruption=1e9, reclamation=1e9)
    assert score(19, interruption=0.0, reclamation=0.0) > dearest
    assert score(21, interruption=0.0, reclamation=0.0) < dearest
