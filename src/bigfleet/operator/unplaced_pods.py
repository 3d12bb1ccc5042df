"""Which pods are covered and not placed, and the report of the cluster to its shard.

Covered: the pod's CapacityRequest is acknowledged, and its Need is satisfied by machines that are
all there. Such a pod waits for something BigFleet cannot give: a taint, a volume, an affinity, a
Node that is not ready. The scheduler's own words say which.

A reply may have been computed before the shard knew of a pod's request, and the scheduler needs a
moment. So a pod counts from the second reply on after it was first seen waiting: that one was asked
for a whole interval later. Without a fresh reply nothing is known of any Need, and no pod counts.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bigfleet.kube.objects import Node, ObjectKey
from bigfleet.model.cluster_reports import (
    MOST_EXAMPLES,
    MOST_MACHINES,
    MOST_NAMED_NEEDS,
    STALE_AFTER,
    ClusterReport,
    ClusterReportReply,
    DemandSource,
    LostMachine,
    NeedSources,
    NeedStanding,
    PodCounts,
    RefusedReclaim,
    StuckNeed,
    UnplacedPod,
    cut_text,
)
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.operator.pods_on_nodes import PodOnNode

ACKNOWLEDGED = "Acknowledged"
#: Replies after which one has been computed with the pod's request in sight.
_REPLIES_TO_BE_SURE = 2


class Request(Protocol):
    """Of a CapacityRequest."""

    @property
    def phase(self) -> str: ...

    @property
    def pod_uid(self) -> str:
        """Of the pod it was made for; empty where podwatch did not make it."""

    @property
    def source(self) -> DemandSource: ...


@dataclass(frozen=True, slots=True)
class MachineSight:
    """What their Nodes say of the fleet's machines, all of them sorted."""

    empty: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    lost: tuple[LostMachine, ...] = ()


@dataclass(frozen=True, slots=True)
class CacheContents:
    """What the caches show now."""

    requests: Mapping[ObjectKey, Request]
    #: Pods without a Node that neither ended nor are being deleted.
    unscheduled: Iterable[PodOnNode]
    #: The phase of each UpcomingNode.
    upcoming_phases: Iterable[str]
    nodes: Iterable[Node]
    nodes_missing: int = 0
    crs_skipped: int = 0
    machines: MachineSight = MachineSight()
    stuck: tuple[StuckNeed, ...] = ()
    #: Needs the reply must speak of.
    ask: tuple[tuple[str, str], ...] = ()
    refused: tuple[RefusedReclaim, ...] = ()
    #: None: they are not counted.
    pods: PodCounts | None = None


@dataclass(frozen=True, slots=True)
class CoveredPod:
    key: ObjectKey
    uid: str
    request: ObjectKey
    need: NeedKey
    #: The scheduler's words; empty where it has said nothing yet.
    text: str


@dataclass(frozen=True, slots=True)
class PodsReport:
    report: ClusterReport
    #: Every pod that is covered and not placed, by name.
    covered: tuple[CoveredPod, ...]


class UnplacedPods:
    def __init__(self, cluster: str, need_of: Callable[[ObjectKey], NeedKey | None]) -> None:
        """`need_of` a CapacityRequest; None: it is unknown or cannot be translated."""
        self._cluster = cluster
        self._need_of = need_of
        self._standings: dict[NeedKey, NeedStanding] = {}
        self._replied_at: Instant | None = None
        self._replies = 0
        #: By uid of every pod that waits with an acknowledged request: how many replies there had
        #: been when it was first seen so.
        self._waiting_since: dict[str, int] = {}

    def on_reply(self, reply: ClusterReportReply, at: Instant) -> None:
        self._standings = {each.key(self._cluster): each for each in reply.standings}
        self._replied_at = at
        self._replies += 1

    def on_disconnected(self) -> None:
        """Another shard may answer next, or this one with another past."""
        self._standings, self._waiting_since, self._replied_at = {}, {}, None

    def standing_of(self, need: NeedKey) -> NeedStanding | None:
        """As of the last reply; None: the shard has said nothing of it."""
        return self._standings.get(need)

    def look(self, sight: CacheContents, at: Instant) -> PodsReport:
        """Once per report."""
        waiting = {pod.uid: pod for pod in sight.unscheduled}
        requests = _acknowledged(sight.requests, waiting)
        before = self._waiting_since
        self._waiting_since = {uid: before.get(uid, self._replies) for uid in requests}
        covered = sorted(self._covered(waiting, requests, at), key=lambda each: each.key)
        ready = Counter(node.is_ready for node in sight.nodes)
        report = ClusterReport(
            cluster_id=self._cluster,
            at=at,
            requests_by_phase=Counter(request.phase for request in sight.requests.values()),
            upcoming_by_phase=Counter(sight.upcoming_phases),
            nodes_ready=ready[True],
            nodes_not_ready=ready[False],
            nodes_missing=sight.nodes_missing,
            pods_covered_not_placed=len(covered),
            examples=_examples(covered),
            crs_skipped=sight.crs_skipped,
            empty_machines=sight.machines.empty[:MOST_MACHINES],
            unusable_machines=sight.machines.unusable[:MOST_MACHINES],
            lost=sight.machines.lost[:MOST_MACHINES],
            stuck=sight.stuck,
            ask=sight.ask,
            refused=sight.refused,
            sources=self._sources(sight.requests),
            pods=sight.pods,
        )
        return PodsReport(report, tuple(covered))

    def _sources(self, requests: Mapping[ObjectKey, Request]) -> tuple[NeedSources, ...]:
        """Of Needs that not only pods ask for, in the order of their keys."""
        pods = DemandSource.POD
        special = {key for key, each in requests.items() if each.source is not pods}
        found: dict[NeedKey, Counter[DemandSource]] = {}
        for key in special:
            if (need := self._need_of(key)) is not None:
                found.setdefault(need, Counter())[requests[key].source] += 1
        if found:
            for key in requests.keys() - special:
                if (need := self._need_of(key)) in found:
                    found[need][pods] += 1
        return tuple(
            NeedSources(need.fingerprint, need.group, *(counts[each] for each in DemandSource))
            for need, counts in sorted(found.items())[:MOST_NAMED_NEEDS]
        )

    def _covered(
        self, waiting: Mapping[str, PodOnNode], requests: Mapping[str, ObjectKey], at: Instant
    ) -> Iterable[CoveredPod]:
        if self._replied_at is None or at - self._replied_at >= STALE_AFTER:
            return
        for uid, request in requests.items():
            if self._replies - self._waiting_since[uid] < _REPLIES_TO_BE_SURE:
                continue
            need = self._need_of(request)
            standing = self._standings.get(need) if need is not None else None
            if need is None or standing is None or not standing.satisfied or standing.arriving:
                continue
            pod = waiting[uid]
            yield CoveredPod(pod.key, uid, request, need, pod.why_unscheduled)


def _acknowledged(
    requests: Mapping[ObjectKey, Request], waiting: Mapping[str, PodOnNode]
) -> dict[str, ObjectKey]:
    """By the uid of their pods; of several for one pod the first by name."""
    found: dict[str, ObjectKey] = {}
    for key, request in requests.items():
        uid = request.pod_uid
        if uid in waiting and request.phase == ACKNOWLEDGED:
            found[uid] = min(key, found.get(uid, key))
    return found


def _examples(covered: Iterable[CoveredPod]) -> tuple[UnplacedPod, ...]:
    """A pod of every Need before a second one of any."""
    seen: Counter[NeedKey] = Counter()
    ranked = []
    for pod in covered:
        ranked.append((seen[pod.need], pod))
        seen[pod.need] += 1
    ranked.sort(key=lambda each: each[0])
    return tuple(
        UnplacedPod(str(pod.key), pod.need.need_id, cut_text(pod.text))
        for _, pod in ranked[:MOST_EXAMPLES]
    )
