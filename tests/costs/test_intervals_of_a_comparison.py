"""How sure a comparison of pools is: an interval from whole hours, or why there is none."""

import pytest

from bigfleet.costs.isolated_totals import (
    FEWEST_BLOCKS,
    blocks_of,
    rows_of,
    verdict_text,
    why_no_interval,
)
from bigfleet.model.isolated import IsolatedReport, IsolatedSlice, Measures, Split
from bigfleet.model.latencies import Latencies
from bigfleet.model.options import SECOND
from tests.costs.recordings import START


def hours(differences: list[float], seconds: float = 3600.0) -> IsolatedReport:
    """Of so many dollars more, hour after hour."""
    slices = tuple(
        IsolatedSlice(START + n * 3600 * SECOND, seconds, Measures(1.0), Measures(1.0 + more))
        for n, more in enumerate(differences)
    )
    return IsolatedReport(
        *("1:1", "1:2", START, START, 2, Split.PEAK, 0.0, 3600, slices, (), Latencies())
    )


def test_with_fewer_than_a_day_of_hours_there_is_no_interval_and_it_says_so() -> None:
    short, whole = (hours([2.0] * n) for n in (FEWEST_BLOCKS - 1, FEWEST_BLOCKS))
    assert rows_of(short)[0].interval is None
    assert why_no_interval(short) == (
        "No interval: it takes 24 hours that were observed for half of them or more; there are 23."
    )
    assert rows_of(whole)[0].interval == pytest.approx((48.0, 48.0))
    assert why_no_interval(whole) == ""


def test_hours_observed_for_less_than_half_are_no_blocks() -> None:
    assert blocks_of(hours([1.0], seconds=1_799.0).slices) == ()
    (block,) = blocks_of(hours([1.0], seconds=1_800.0).slices)
    assert block.seconds == 1_800.0


def test_the_interval_holds_the_difference_and_is_the_same_again() -> None:
    report = hours([0.0, 4.0] * 24)
    row = rows_of(report)[0]
    assert row.difference == pytest.approx(96.0)
    assert row.interval is not None
    low, high = row.interval
    # 48 draws of 0 or 4: a standard deviation of 13.9, so about 27 to either side.
    assert 62.0 < low < 76.0
    assert 116.0 < high < 130.0
    assert rows_of(report)[0].interval == row.interval
    assert f"lies between ${low:,.2f} and ${high:,.2f} (95 %)" in verdict_text(report)
