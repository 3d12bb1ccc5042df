"""Worked cases N1-N9 and C4-C11: dollars into buckets, buckets back into dollars."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.penalties import (
    ENUM_NAMES,
    HALF_DOLLAR,
    LABELS,
    ONE_DOLLAR,
    PINNED,
    UNSPECIFIED,
    ZERO,
    bucket_label,
    bucket_of_dollars,
    upper_bound_dollars,
)


@pytest.mark.parametrize(
    ("dollars", "label"),
    [
        (0.0, "0"),
        (0.25, "0.5"),
        (0.50, "0.5"),
        (0.51, "1"),
        (1.00, "1"),
        (1.01, "2"),
        (8000.0, "8192"),
        (1048576.0, "1048576"),
        (20_000_000.0, "pinned"),
        (-3.0, "0"),
        (8388608.0, "8388608"),
        (8388608.5, "pinned"),
        (math.inf, "pinned"),
    ],
    ids=str,
)
def test_dollars_fall_into_the_smallest_bucket_that_holds_them(dollars: float, label: str) -> None:
    assert bucket_label(bucket_of_dollars(dollars)) == label


@pytest.mark.parametrize(
    ("label", "dollars"),
    [
        ("0", 0.0),
        ("0.5", 0.5),
        ("1", 1.0),
        ("2", 2.0),
        ("8192", 8192.0),
        ("1048576", 1048576.0),
        ("8388608", 8388608.0),
        ("pinned", math.inf),
        ("unspecified", 0.0),
    ],
    ids=str,
)
def test_a_bucket_stands_for_its_upper_bound(label: str, dollars: float) -> None:
    assert upper_bound_dollars(LABELS[label]) == dollars


def test_the_numbers_of_the_buckets_are_those_of_the_wire() -> None:
    assert (UNSPECIFIED, ZERO, HALF_DOLLAR, ONE_DOLLAR, PINNED) == (0, 1, 2, 3, 27)
    assert (LABELS["8192"], LABELS["8388608"]) == (16, 26)
    assert len(LABELS) == len(ENUM_NAMES) == 28
    assert ENUM_NAMES["PENALTY_BUCKET_8192"] == LABELS["8192"]


def test_every_bucket_holds_its_own_upper_bound() -> None:
    bounds = {bucket: upper_bound_dollars(bucket) for bucket in range(ZERO, PINNED + 1)}
    assert {bucket: bucket_of_dollars(bound) for bucket, bound in bounds.items()} == {
        bucket: bucket for bucket in bounds
    }


@given(st.floats(min_value=0, allow_nan=False))
def test_a_bucket_never_understates_a_penalty_and_the_next_smaller_one_would(
    dollars: float,
) -> None:
    bucket = bucket_of_dollars(dollars)
    assert upper_bound_dollars(bucket) >= dollars
    assert bucket == ZERO or upper_bound_dollars(bucket - 1) < dollars
