"""The day that the documentation tells: what its hours come to, checked without the engine."""

from pathlib import Path

import pytest

from bigfleet.costs.isolated import isolated_report
from bigfleet.costs.isolated_reading import JournalReading
from bigfleet.costs.isolated_totals import rows_of
from bigfleet.journal.history import LATEST
from bigfleet.journal.segments import segments_of
from bigfleet.model.isolated import IsolatedCall, IsolatedReport
from tests.costs.recorded_day import DAY, record_in, rented


def compared(journal: Path) -> IsolatedReport:
    return isolated_report(JournalReading(segments_of(journal), (0, 0), LATEST), IsolatedCall())


@pytest.fixture(scope="module")
def day() -> IsolatedReport:
    return compared(DAY)


def test_each_side_rents_what_its_hours_say_and_the_tails_of_it(day: IsolatedReport) -> None:
    alone, together = rented((3, 3)), rented((6,))
    assert (alone, together) == (65, 29)
    # A machine is created before it serves, and kept idle for ten minutes before it goes back.
    assert alone < day.isolated.bought_machine_hours < alone * 1.05
    assert together < day.pooled.bought_machine_hours < together * 1.10
    assert day.isolated.dollars == pytest.approx(0.40 * day.isolated.bought_machine_hours)
    assert day.pooled.dollars == pytest.approx(0.40 * day.pooled.bought_machine_hours)


def test_the_interval_of_a_day_holds_what_it_saves(day: IsolatedReport) -> None:
    billed = rows_of(day)[0]
    assert billed.interval is not None
    low, high = billed.interval
    assert 0.0 < low < billed.difference < high


def test_the_pools_of_the_clusters_add_up_to_the_isolated_side(day: IsolatedReport) -> None:
    assert sum(each.measures.dollars for each in day.clusters) == pytest.approx(
        day.isolated.dollars
    )
    assert sum(each.share for each in day.clusters) == pytest.approx(1.0)


def test_a_shard_of_one_cluster_comes_to_the_same_on_both_sides(tmp_path: Path) -> None:
    """To the last digit, in hours in which machines are rented and given back."""
    record_in(tmp_path, clusters=("shop",), hours=9)
    report = compared(tmp_path)
    assert report.pooled.dollars > 1.0
    assert report.isolated == report.pooled
    assert [each.isolated for each in report.slices] == [each.pooled for each in report.slices]


def test_the_day_is_recorded_as_it_is_told(tmp_path: Path) -> None:
    """A shard decides the same day again: where it should not, record the day anew."""
    record_in(tmp_path)
    (again,), (kept,) = sorted(tmp_path.iterdir()), sorted(DAY.iterdir())
    assert again.read_bytes() == kept.read_bytes(), "python -m tests.costs.recorded_day"
