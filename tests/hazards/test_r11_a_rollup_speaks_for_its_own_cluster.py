"""R11: a roll-up of another cluster than the session's changes no demand."""

from tests.ingest.rig import Rig, rollup


def test_r11_a_session_cannot_report_for_another_cluster() -> None:
    rig = Rig()
    rig.report(5, cluster="a")
    rig.report(7, cluster="b")
    before = rig.needs.snapshot()
    assert not rig.give(rollup(1, "b", digest="forged"), after=1, cluster="a")
    assert rig.needs.snapshot() is before
    counted = rig.effects.counts.of
    assert counted("rollups_rejected_total", cluster="a", reason="cluster_mismatch") == 1
    assert counted("rollups_rejected_total", cluster="b", reason="cluster_mismatch") == 0


def test_r11_a_forged_roll_up_does_not_make_a_cluster_reclaimable() -> None:
    rig = Rig()
    rig.give(rollup(0, "b"), cluster="a")
    assert rig.ingest.reported == set()
