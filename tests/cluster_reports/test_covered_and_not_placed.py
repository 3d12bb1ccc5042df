"""Pods that wait although their Need is served, and what the cluster reports of itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from bigfleet.kube.objects import Condition, Meta, Node, NodeStatus, ObjectKey
from bigfleet.model.actions import UnmetReason
from bigfleet.model.cluster_reports import (
    ClusterReport,
    ClusterReportReply,
    DemandSource,
    NeedSources,
    NeedStanding,
    UnplacedPod,
)
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.operator.held_requests import HeldRequest
from bigfleet.operator.pods_on_nodes import PodOnNode
from bigfleet.operator.unplaced_pods import CacheContents, CoveredPod, PodsReport, UnplacedPods

WEB = NeedKey("shop", "web", "")
DB = NeedKey("shop", "db", "gang")
SERVED = NeedStanding("web", "", True, None, "served by 3 machines")
TAINTED = "0/3 nodes are available: 3 node(s) had untolerated taint {dedicated: db}."


def pod(name: str, text: str = TAINTED) -> PodOnNode:
    return PodOnNode(ObjectKey("ns", name), f"uid-{name}", why_unscheduled=text)


def request(pod_name: str, phase: str = "Acknowledged") -> HeldRequest:
    return HeldRequest("r", b"{}", phase, f"uid-{pod_name}" if pod_name else "")


def node(name: str, *, ready: bool) -> Node:
    condition = Condition(type="Ready", status="True" if ready else "Unknown")
    return Node(metadata=Meta(name=name), status=NodeStatus(conditions=(condition,)))


@dataclass
class Cluster:
    """Looks every ten seconds, and is answered in between."""

    pods: Sequence[PodOnNode] = (pod("a"),)
    requests: dict[ObjectKey, HeldRequest] = field(
        default_factory=lambda: {ObjectKey("ns", "cr-a"): request("a")}
    )
    needs: dict[ObjectKey, NeedKey] = field(default_factory=lambda: {ObjectKey("ns", "cr-a"): WEB})
    at: int = 1000 * SECOND

    def __post_init__(self) -> None:
        self.placing = UnplacedPods("shop", self.needs.get)

    def look(self) -> PodsReport:
        self.at += 10 * SECOND
        return self.placing.look(CacheContents(self.requests, self.pods, (), ()), self.at)

    def answer(self, *standings: NeedStanding) -> None:
        self.placing.on_reply(ClusterReportReply(standings, 7, 1), self.at)

    def looks(self, count: int, *standings: NeedStanding) -> PodsReport:
        """The last of so many, all answered alike."""
        for _ in range(count - 1):
            self.look()
            self.answer(*standings)
        return self.look()


def test_a_pod_that_waits_while_its_need_is_served_is_named_with_the_schedulers_words() -> None:
    found = Cluster().looks(3, SERVED)
    name = ObjectKey("ns", "a")
    assert found.covered == (CoveredPod(name, "uid-a", ObjectKey("ns", "cr-a"), WEB, TAINTED),)
    assert found.report.pods_covered_not_placed == 1
    assert found.report.examples == (UnplacedPod("ns/a", WEB.need_id, TAINTED),)


STANDINGS = {
    "its need is short": replace(SERVED, satisfied=False, reason=UnmetReason.PRIORITY_STARVED),
    "machines are on their way": replace(SERVED, arriving=1),
    "only another need is served": replace(SERVED, fingerprint="other"),
    "only another gang of its kind is served": replace(SERVED, group="other"),
}


@pytest.mark.parametrize("standing", STANDINGS.values(), ids=STANDINGS)
def test_no_pod_is_covered_while(standing: NeedStanding) -> None:
    assert Cluster().looks(4, standing).covered == ()


def test_a_pod_without_an_acknowledged_request_is_not_covered() -> None:
    pending = Cluster(requests={ObjectKey("ns", "cr-a"): request("a", "Pending")})
    assert pending.looks(4, SERVED).covered == ()
    of_others = Cluster(requests={ObjectKey("ns", "cr-a"): request("")})
    assert of_others.looks(4, SERVED).covered == ()
    untranslatable = Cluster(needs={})
    assert untranslatable.looks(4, SERVED).covered == ()


def test_a_pod_counts_from_the_first_reply_that_surely_knew_its_request() -> None:
    """The one before was on its way while the request was new."""
    cluster = Cluster(pods=())
    cluster.looks(5, SERVED)
    cluster.pods = (pod("a"),)
    seen = [len(cluster.looks(2, SERVED).covered) for _ in range(2)]
    assert seen == [0, 1]


def test_a_pod_that_was_placed_meanwhile_waits_anew() -> None:
    cluster = Cluster()
    assert len(cluster.looks(3, SERVED).covered) == 1
    cluster.pods = ()
    cluster.answer(SERVED)
    assert cluster.look().covered == ()
    cluster.pods = (pod("a"),)
    cluster.answer(SERVED)
    assert cluster.look().covered == ()


def test_without_a_fresh_reply_no_pod_is_covered() -> None:
    cluster = Cluster()
    cluster.looks(3, SERVED)
    cluster.answer(SERVED)
    assert [len(cluster.look().covered) for _ in range(4)] == [1, 1, 0, 0]


def test_what_the_shard_said_is_forgotten_with_the_line() -> None:
    cluster = Cluster()
    cluster.looks(3, SERVED)
    assert cluster.placing.standing_of(WEB) == SERVED
    cluster.placing.on_disconnected()
    assert cluster.placing.standing_of(WEB) is None
    assert cluster.look().covered == ()
    cluster.answer(SERVED)
    assert cluster.look().covered == ()


def test_examples_show_every_need_before_a_second_pod_of_any() -> None:
    names = [f"web-{n:02}" for n in range(30)] + ["zdb"]
    keys = {name: ObjectKey("ns", f"cr-{name}") for name in names}
    cluster = Cluster(
        pods=[pod(name, "x" * 2000) for name in names],
        requests={keys[name]: request(name) for name in names},
        needs={keys[name]: DB if name == "zdb" else WEB for name in names},
    )
    report = cluster.looks(3, SERVED, NeedStanding("db", "gang", True)).report
    assert report.pods_covered_not_placed == 31
    assert [each.pod for each in report.examples[:3]] == ["ns/web-00", "ns/zdb", "ns/web-01"]
    assert len(report.examples) == 20
    assert len(report.examples[0].text) == 1024


def test_a_pod_with_two_requests_counts_once() -> None:
    first, second = ObjectKey("ns", "cr-a"), ObjectKey("ns", "cr-b")
    cluster = Cluster(
        requests={second: request("a"), first: request("a")}, needs={first: WEB, second: WEB}
    )
    [found] = cluster.looks(3, SERVED).covered
    assert found.request == first


def test_the_report_counts_what_the_caches_show() -> None:
    phases = ("Pending", "Acknowledged", "Acknowledged")
    sight = CacheContents(
        requests={ObjectKey("ns", str(n)): request("", phase) for n, phase in enumerate(phases)},
        unscheduled=(),
        upcoming_phases=("Ready", "Draining", "Ready"),
        nodes=[node("n-1", ready=True), node("n-2", ready=True), node("n-3", ready=False)],
        nodes_missing=4,
        crs_skipped=5,
    )
    assert UnplacedPods("shop", lambda _request: None).look(sight, 99).report == ClusterReport(
        cluster_id="shop",
        at=99,
        requests_by_phase={"Pending": 1, "Acknowledged": 2},
        upcoming_by_phase={"Ready": 2, "Draining": 1},
        nodes_ready=2,
        nodes_not_ready=1,
        nodes_missing=4,
        crs_skipped=5,
    )


def test_needs_that_not_only_pods_ask_for_are_told_with_their_requests() -> None:
    sources = (
        (WEB, DemandSource.POD),
        (WEB, DemandSource.BUFFER),
        (WEB, DemandSource.BUFFER),
        (DB, DemandSource.PROVISIONING_REQUEST),
        (NeedKey("shop", "other", ""), DemandSource.POD),
        # Untranslatable.
        (None, DemandSource.BUFFER),
    )
    keys = [ObjectKey("ns", f"cr-{number}") for number in range(len(sources))]
    pairs = list(zip(keys, sources, strict=True))
    requests = {key: replace(request(""), source=source) for key, (_, source) in pairs}
    needs = {key: need for key, (need, _) in pairs if need is not None}
    report = Cluster(requests=requests, needs=needs, pods=()).look().report
    assert report.sources == (NeedSources("db", "gang", 0, 0, 1), NeedSources("web", "", 1, 2, 0))
    asked_by = [each.sources for each in report.sources]
    assert asked_by == [("provisioning-request",), ("pod", "buffer")]
