"""Accepted, identical and refused roll-ups."""

from bigfleet.model.rollups import RollupRefused
from tests.ingest.rig import Rig

BAD_BUCKET = RollupRefused("bucket", "needs[3]: bucket 99 is none of 0..27")


def test_an_accepted_roll_up_is_the_whole_demand_and_wakes_the_cycle() -> None:
    rig = Rig()
    assert rig.report(5)
    assert rig.rows() == 5
    assert rig.woken()
    assert rig.report(3)
    assert rig.rows() == 3
    assert rig.ingest.rows_of("shop") == 3
    assert rig.counted("accepted") == 2


def test_a_roll_up_that_says_the_same_changes_nothing_and_starts_no_cycle() -> None:
    rig = Rig()
    rig.report(5)
    demand = rig.needs.snapshot()
    rig.effects.taken()
    assert rig.report(5, after=10)
    assert rig.needs.snapshot() is demand
    assert not rig.woken()
    assert rig.counted("accepted") == 2


def test_the_first_roll_up_wakes_even_if_it_is_empty() -> None:
    rig = Rig()
    assert rig.report(0)
    assert rig.woken()
    assert rig.ingest.reported == {"shop"}


def test_a_refused_roll_up_keeps_the_demand_and_is_not_acknowledged() -> None:
    rig = Rig()
    rig.report(5)
    rig.effects.taken()
    assert not rig.give(BAD_BUCKET, after=1)
    assert rig.rows() == 5
    assert not rig.woken()
    assert rig.counted("rejected") == 1
    refused = rig.effects.counts.of("rollups_rejected_total", cluster="shop", reason="bucket")
    assert refused == 1


def test_a_cluster_whose_roll_ups_are_all_refused_has_not_reported() -> None:
    rig = Rig()
    rig.give(BAD_BUCKET)
    assert rig.ingest.reported == set()
    assert rig.ingest.last_rollup_at("shop") is None


def test_a_refusal_is_logged_once_a_minute_per_cluster_and_reason() -> None:
    rig = Rig()
    for second in range(0, 60, 10):
        rig.give(BAD_BUCKET, after=second)
    rig.give(RollupRefused("quantity", "needs[0]: cpu -1"), after=59)
    rig.give(BAD_BUCKET, after=59, cluster="bank")
    assert rig.logged() == ["rollup_rejected"] * 3
    rig.give(BAD_BUCKET, after=60)
    assert rig.logged() == ["rollup_rejected"]


def test_a_refusal_neither_confirms_nor_ends_a_hold() -> None:
    rig = Rig()
    rig.report(20)
    rig.report(0, after=10)
    rig.give(BAD_BUCKET, after=20)
    assert rig.held() == 1
    rig.report(0, after=30)
    assert rig.held() == 2
