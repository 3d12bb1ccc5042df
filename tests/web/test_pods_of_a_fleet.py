"""Pods of a fleet: sums of what operators count, and never 0 for what none counts."""

from dataclasses import replace

from bigfleet.model.cluster_reports import ClusterPods, ClusterReport, PodCounts, ReceivedReport
from bigfleet.model.shard_views import SessionView
from bigfleet.model.watch_events import ShardOverview
from bigfleet.web.live.overview import MOST_CLUSTERS, FleetSeen, pods_of
from bigfleet.web.routes.clusters import line_of
from tests.wire import figures_answer, watch_answers

SHOP, BANK = ClusterPods("shop", 7, 2, 1), ClusterPods("bank", 4, 0, 0)


def told(*pods: ClusterPods, clusters: tuple[str, ...] = ("bank", "shop")) -> ShardOverview:
    return ShardOverview(watch_answers.STATUS, (), (), figures_answer.FIGURES, 0, clusters, pods)


def session(report: ClusterReport | None, *, stale: bool = False) -> SessionView:
    received = None if report is None else ReceivedReport(report, 5, stale)
    return SessionView(
        *("shop", "peer", "v1alpha1", 1, 2, 3, 0, 0, None, 0, 0, True), received, stuck_pods=3
    )


def test_sums_are_of_the_clusters_that_are_counted_and_the_others_are_named_as_a_number() -> None:
    found = pods_of(FleetSeen({"shard-0": told(SHOP)}))
    assert (found["running"], found["waiting"], found["stuck"]) == (7, 2, 1)
    assert found["unreportedClusters"] == 1
    assert found["byCluster"] == {"shop": {"running": 7, "waiting": 2, "stuck": 1}}


def test_nothing_is_known_where_no_operator_counts() -> None:
    found = pods_of(FleetSeen({"shard-0": told()}))
    assert (found["running"], found["waiting"], found["stuck"]) == (None, None, None)
    assert found["unreportedClusters"] == 2


def test_what_a_silent_shard_said_last_is_not_about_now() -> None:
    found = pods_of(FleetSeen({"shard-0": told(SHOP, BANK)}, down={"shard-0": "gone"}))
    assert found["running"] is None
    assert found["unreportedClusters"] == 2


def test_of_very_many_clusters_those_with_waiting_pods_are_told() -> None:
    many = [ClusterPods(f"c-{n:04}", 9, 0, 0) for n in range(MOST_CLUSTERS)]
    found = pods_of(FleetSeen({"shard-0": told(*many, BANK, SHOP, clusters=())}))
    assert len(found["byCluster"]) == MOST_CLUSTERS
    assert next(iter(found["byCluster"])) == "shop"
    assert found["running"] == 9 * MOST_CLUSTERS + 11


def test_a_cluster_counts_while_it_is_connected_and_its_report_is_fresh() -> None:
    counted = ClusterReport("shop", 5, pods=PodCounts(7, 2))
    assert session(counted).pods == ClusterPods("shop", 7, 2, 2)
    assert session(counted, stale=True).pods is None
    assert replace(session(counted), connected=False).pods is None
    assert session(ClusterReport("shop", 5)).pods is None
    assert session(None).pods is None


def test_a_line_of_a_cluster_has_no_pods_where_none_are_counted() -> None:
    assert "pods" not in line_of("shop", session(None))
    assert "pods" not in line_of("shop", None)
    assert line_of("shop", session(ClusterReport("shop", 5, pods=PodCounts())))["pods"] == {
        "running": 0,
        "waiting": 0,
        "stuck": 0,
    }
