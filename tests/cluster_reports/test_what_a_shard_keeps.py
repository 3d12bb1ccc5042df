"""The newest report of each cluster, for as long as it says something."""

import pytest

from bigfleet.model.cluster_reports import ClusterReport, ReceivedReport
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from tests.shard_parts import Clusters, parts_of

MINUTE = 60 * SECOND


class Shard:
    """Its memory of reports, and who is connected."""

    def __init__(self, *connected: str) -> None:
        parts = parts_of()
        self.clusters = Clusters(parts, *connected)
        self.reports = parts.cluster_reports

    def run(self, since: int, until: int) -> None:
        for second in range(since // SECOND, until // SECOND + 1):
            self.reports.tick(second * SECOND)


def report(nodes: int, cluster: str = "shop") -> ClusterReport:
    return ClusterReport(cluster, at=1, nodes_ready=nodes)


def test_a_newer_report_takes_the_place_of_the_older() -> None:
    shard = Shard("shop", "bank")
    shard.reports.take(report(1), 5 * SECOND)
    shard.reports.take(report(2, "bank"), 6 * SECOND)
    shard.reports.take(report(3), 7 * SECOND)
    assert shard.reports.of("shop") == ReceivedReport(report(3), 7 * SECOND)
    assert shard.reports.of("bank") == ReceivedReport(report(2, "bank"), 6 * SECOND)
    assert shard.reports.of("nobody") is None


def test_a_report_is_stale_when_three_were_due() -> None:
    shard = Shard("shop")
    shard.reports.take(report(1), 100 * SECOND)
    shard.reports.tick(129 * SECOND)
    assert shard.reports.of("shop") == ReceivedReport(report(1), 100 * SECOND, stale=False)
    shard.reports.tick(130 * SECOND)
    assert shard.reports.of("shop") == ReceivedReport(report(1), 100 * SECOND, stale=True)
    shard.reports.take(report(2), 131 * SECOND)
    assert shard.reports.of("shop") == ReceivedReport(report(2), 131 * SECOND, stale=False)


def test_a_clock_that_was_set_back_makes_no_report_stale() -> None:
    shard = Shard("shop")
    shard.run(1000 * SECOND, 1001 * SECOND)
    shard.reports.take(report(1), 100 * SECOND)
    assert shard.reports.of("shop") == ReceivedReport(report(1), 100 * SECOND, stale=False)


def test_a_report_outlives_its_session_by_ten_minutes() -> None:
    shard = Shard("shop")
    shard.reports.take(report(1), 0)
    shard.run(0, 30 * MINUTE)
    shard.clusters.disconnect()
    shard.run(30 * MINUTE, 40 * MINUTE - SECOND)
    assert shard.reports.of("shop") is not None
    shard.reports.tick(40 * MINUTE)
    assert len(shard.reports) == 0


def test_a_session_that_comes_back_in_time_keeps_it() -> None:
    shard = Shard("shop")
    shard.reports.take(report(1), 0)
    shard.clusters.disconnect()
    shard.run(0, 9 * MINUTE)
    shard.clusters.connect("shop")
    shard.run(9 * MINUTE, 10 * MINUTE)
    shard.clusters.disconnect()
    shard.run(10 * MINUTE, 19 * MINUTE)
    assert shard.reports.of("shop") is not None


def test_a_cluster_without_a_session_cannot_report() -> None:
    shard = Shard()
    with pytest.raises(Rejected, match="shop has no session here") as rejected:
        shard.reports.take(report(1), 0)
    assert rejected.value.code is Code.FAILED_PRECONDITION
    assert len(shard.reports) == 0
