"""The quarantine beyond its worked cases: time, baselines, switches, and the administrator."""

import pytest

from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import Quarantine, QuarantineKind
from bigfleet.shard.ingest.ingest import NothingHeld
from bigfleet.shard.settings import RailSettings
from tests.ingest.rig import START, Rig


def test_three_in_a_hurry_are_not_believed_before_the_time_is_over() -> None:
    rig = Rig()
    rig.report(20)
    for second in (10, 11, 12, 29.9):
        rig.report(0, after=second)
        assert rig.rows() == 20
    assert rig.held() == 4
    rig.report(0, after=30)
    assert rig.rows() == 0
    assert rig.held() == 0


def test_exactly_a_tenth_is_not_suspicious() -> None:
    rig = Rig()
    rig.report(20)
    rig.report(2, after=10)
    assert rig.rows() == 2


def test_the_baseline_stays_while_roll_ups_are_held() -> None:
    rig = Rig()
    rig.report(100)
    rig.report(9, after=10)
    rig.report(5, after=20)
    [held] = rig.ingest.quarantines()
    assert held == Quarantine(
        kind=QuarantineKind.ROLLUP,
        subject="shop",
        baseline=100,
        observed=5,
        consecutive=2,
        required=3,
        since=START + 10 * SECOND,
        accepts_after=START + 30 * SECOND,
        what="5 rows after 100",
    )


def test_the_newest_of_the_held_ones_is_applied() -> None:
    rig = Rig()
    rig.report(100)
    for after, rows in ((10, 9), (20, 5), (30, 7)):
        rig.report(rows, after=after)
    assert rig.rows() == 7


def test_the_demand_of_before_ends_the_hold() -> None:
    rig = Rig()
    rig.report(20)
    rig.report(0, after=10)
    rig.report(20, after=20)
    assert rig.held() == 0
    assert rig.ingest.quarantines() == []
    assert "rollup_hold_ended" in rig.logged()


def test_one_cluster_does_not_confirm_for_another() -> None:
    rig = Rig()
    rig.report(20, cluster="shop")
    rig.report(20, cluster="bank")
    for after, cluster in ((10, "shop"), (20, "bank"), (30, "shop")):
        rig.report(0, after=after, cluster=cluster)
    assert rig.rows() == 40


def test_an_administrator_may_believe_it_at_once() -> None:
    rig = Rig()
    rig.report(20)
    rig.report(0, after=10)
    rig.effects.taken()
    assert "20 rows became 0" in rig.released(accept=True)
    assert rig.rows() == 0
    assert rig.woken()
    assert rig.held() == 0


def test_an_administrator_may_throw_it_away_and_counting_starts_anew() -> None:
    rig = Rig()
    rig.report(20)
    rig.report(0, after=10)
    rig.report(0, after=20)
    rig.released(accept=False)
    assert rig.ingest.quarantines() == []
    rig.report(0, after=30)
    assert rig.rows() == 20
    assert rig.held() == 1


def test_where_nothing_is_held_nothing_can_be_released() -> None:
    with pytest.raises(NothingHeld, match="bank"):
        Rig().released(accept=True, cluster="bank")


def test_the_guard_can_be_switched_off() -> None:
    rig = Rig(RailSettings(empty_rollup_guard=False))
    rig.report(20)
    rig.report(0, after=1)
    assert rig.rows() == 0
