"""Worked cases H18 to H21: roll-ups that lost nearly everything."""

from tests.ingest.rig import Rig


def test_h18_the_third_empty_roll_up_is_applied() -> None:
    rig = Rig()
    rig.report(20)
    rig.ingest.reported.clear()
    seen = []
    for after in (10, 20, 30):
        assert rig.report(0, after=after), "a held roll-up is acknowledged too"
        seen.append((rig.rows(), rig.held()))
    assert seen == [(20, 1), (20, 2), (0, 0)]
    assert rig.counted("held") == 2


def test_h18_a_held_roll_up_opens_the_first_roll_up_gate() -> None:
    rig = Rig()
    rig.report(20)
    rig.ingest.reported.clear()
    rig.report(0, after=10)
    assert rig.ingest.reported == {"shop"}


def test_h19_a_normal_roll_up_resets_the_count() -> None:
    rig = Rig()
    rows = []
    for step, reported in enumerate((20, 0, 18, 0, 0, 0)):
        rig.report(reported, after=10 * step)
        rows.append(rig.rows())
    assert rows == [20, 20, 18, 18, 18, 0]


def test_h20_small_clusters_and_step_by_step_shrinking_are_believed() -> None:
    small, shrinking, fresh = Rig(), Rig(), Rig()
    small.report(9)
    small.report(0, after=10)
    assert small.rows() == 0
    for step, rows in enumerate((40, 20, 8, 0)):
        shrinking.report(rows, after=10 * step)
        assert shrinking.rows() == rows
    fresh.report(0)
    assert (fresh.rows(), fresh.held()) == (0, 0)
    assert fresh.counted("accepted") == 1


def test_h21_holding_and_confirming_are_both_logged() -> None:
    rig = Rig()
    rig.report(20)
    for after in (10, 20, 30):
        rig.report(0, after=after)
    assert rig.logged() == ["rollup_held", "rollup_held", "rollup_confirmed"]
