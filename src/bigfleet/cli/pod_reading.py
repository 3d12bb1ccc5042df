"""What an API server knows of one pod or one CapacityRequest, read once.

Whether a pod is demand is the pod controller's own rule, and what a request asks for the
operator's: both are asked here, never written again.
"""

from dataclasses import dataclass, field, replace
from typing import TypeVar

from bigfleet.cli.suggestions import nearest
from bigfleet.explain.pod_facts import (
    ControllerFacts,
    NodeFacts,
    PodFacts,
    RequestFacts,
    ToldEvent,
    UpcomingFacts,
)
from bigfleet.kube.answers import ApiProblem, NotFound
from bigfleet.kube.api import Api
from bigfleet.kube.kinds import CAPACITY_REQUESTS, EVENTS, LEASES, NODES, PODS, UPCOMING_NODES, Kind
from bigfleet.kube.names import (
    AFFINITY_TERM,
    MACHINE_ID,
    OWNED_BY_POD,
    PODWATCH_LEASE,
    provider_id_ends,
)
from bigfleet.kube.objects import CapacityRequest, Lease, Node, Pod, UpcomingNode
from bigfleet.model.instants import instant_of
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.operator.translator import Untranslatable, translate
from bigfleet.podwatch.book import UNJUDGED_GRACE_SECONDS
from bigfleet.podwatch.fleet_nodes import FleetNodes, machine_facts, node_facts
from bigfleet.podwatch.pod_demand import (
    NotDemand,
    NotYetKnown,
    PodWait,
    Standing,
    standing_on,
    standing_without_node,
)
from bigfleet.podwatch.records import Bodies, Policy, WatchedPod, watched_pod

T = TypeVar("T", Pod, CapacityRequest, UpcomingNode)
#: Pods among which names like one that is wrong are looked for.
_LOOKED_AT = 1000
_PAGE = 500
#: Who writes the Events that are told.
_OURS = "bigfleet"


def _age(request: CapacityRequest) -> tuple[str, str]:
    """The pod controller keeps the oldest."""
    return request.metadata.creation_timestamp or "", request.metadata.name


class UnknownObject(Exception):
    """A sentence with the nearest names."""


@dataclass(frozen=True, slots=True)
class ClusterSight:
    """As the fields of ChainFacts say."""

    pod: PodFacts | None = None
    request: RequestFacts | None = None
    requests_unread: str = ""
    controller: ControllerFacts | None = None
    controller_unread: str = ""
    upcoming: dict[str, UpcomingFacts] = field(default_factory=dict)
    upcoming_unread: str = ""
    node: NodeFacts | None = None


@dataclass(frozen=True, slots=True)
class _Upcoming:
    nodes: tuple[UpcomingNode, ...] = ()
    unread: str = ""

    def machine_of(self, node: Node) -> str:
        """By nodeRef, by provider id, by the Node's own label; empty: it is not of the fleet."""
        ends = set(provider_id_ends(node.spec.provider_id))
        for each in self.nodes:
            ref, machine = each.status.node_ref, each.metadata.annotations.get(MACHINE_ID, "")
            by_name = ref is not None and ref.name == node.metadata.name
            if by_name and ref is not None and ref.uid in ("", node.metadata.uid):
                return machine
            if each.status.provider_id and each.status.provider_id in ends:
                return machine
        return node.metadata.labels.get(MACHINE_ID, "")

    def by_machine(self) -> dict[str, UpcomingFacts]:
        return {
            each.metadata.annotations.get(MACHINE_ID, ""): UpcomingFacts(
                each.metadata.name,
                each.status.phase,
                each.status.node_ref.name if each.status.node_ref is not None else "",
                each.status.last_error,
            )
            for each in self.nodes
        }


class PodReader:
    def __init__(self, api: Api, cluster: str, at: Instant) -> None:
        self._api = api
        self._cluster = cluster
        self._at = at

    async def of_pod(self, namespace: str, name: str) -> ClusterSight:
        """Raises UnknownObject, and ApiProblem where the pod cannot be read."""
        try:
            pod = await self._api.get(PODS, name, namespace)
        except NotFound:
            raise await self._unknown(PODS, namespace, name) from None
        owned_by = f"{OWNED_BY_POD}={pod.metadata.uid}"
        unread = ""
        try:
            found = await self._api.list_page(CAPACITY_REQUESTS, namespace, label_selector=owned_by)
            requests = sorted(found.items, key=_age)
        except NotFound:
            requests, unread = [], "the cluster has no CapacityRequests: bigfleet operator crds"
        except ApiProblem as problem:
            requests, unread = [], problem.text
        return await self._sight(pod, requests, unread)

    async def of_request(self, namespace: str, name: str) -> ClusterSight:
        """Raises UnknownObject, and ApiProblem where the request cannot be read."""
        try:
            request = await self._api.get(CAPACITY_REQUESTS, name, namespace)
        except NotFound:
            raise await self._unknown(CAPACITY_REQUESTS, namespace, name) from None
        return await self._sight(await self._pod_of(request), [request], "")

    async def _sight(
        self, pod: Pod | None, requests: list[CapacityRequest], unread: str
    ) -> ClusterSight:
        upcoming = await self._upcoming()
        node = await self._node(pod, upcoming) if pod is not None else None
        request = await self._request(requests) if requests else None
        told = await self._pod(pod, upcoming, node) if pod is not None else None
        controller, why = None, ""
        if request is None and not unread:
            controller, why = await self._controller()
        return ClusterSight(
            told,
            request,
            unread,
            controller,
            why,
            upcoming.by_machine(),
            upcoming.unread,
            node[1] if node is not None else None,
        )

    # -- pods ------------------------------------------------------------------------------------

    async def _pod(
        self, pod: Pod, upcoming: _Upcoming, node: tuple[Node | None, NodeFacts] | None
    ) -> PodFacts:
        said = next((c for c in pod.status.conditions if c.type == "PodScheduled"), None)
        waits = not pod.spec.node_name and said is not None and said.status == "False"
        watched = watched_pod(pod, Policy(), Bodies())
        why, not_yet = self._why_no_demand(pod, watched, upcoming, node[0] if node else None)
        notes = watched.notes if watched is not None else ()
        return PodFacts(
            str(pod.metadata.key),
            pod.spec.node_name,
            pod.is_terminal,
            pod.metadata.deletion_timestamp is not None,
            said.message if said is not None and waits else "",
            watched is not None and watched.wait is PodWait.UNSCHEDULABLE,
            why,
            not_yet,
            tuple(ToldEvent(each.reason, each.text) for each in notes),
            await self._events(pod.metadata.namespace, pod.metadata.uid),
            tuple(each.name for each in watched.claims) if watched is not None else (),
            watched.consumes if watched is not None else "",
        )

    def _why_no_demand(
        self, pod: Pod, watched: WatchedPod | None, upcoming: _Upcoming, node: Node | None
    ) -> tuple[str, str]:
        """By the rules of the pod controller; both empty: it asks."""
        if watched is None:
            return Policy().why_not_watched(pod) or "", ""
        if pod.is_terminal:
            return "it has ended", ""
        if watched.is_unreadable:
            return next((note.text for note in watched.notes), ""), ""
        match self._standing(pod, watched, upcoming, node):
            case NotDemand(why):
                return why, ""
            case NotYetKnown():
                if pod.spec.node_name:
                    return "", f"it is not known whether {pod.spec.node_name} is of the fleet"
                wait = f"{UNJUDGED_GRACE_SECONDS:g} s"
                return "", f"the scheduler has not spoken of it, and it has {wait} to find room"
            case _:
                return "", ""

    def _standing(
        self, pod: Pod, watched: WatchedPod, upcoming: _Upcoming, node: Node | None
    ) -> Standing:
        if pod.spec.node_name:
            nodes = FleetNodes()
            nodes.are_told_apart = not upcoming.unread
            if node is not None:
                nodes.node_changed(node.metadata.name, node_facts(node), 0)
            for each in upcoming.nodes:
                nodes.machine_changed(each.metadata.name, machine_facts(each), 0)
            return standing_on(pod.spec.node_name, nodes, has_request=False, at=self._at)
        made = instant_of(pod.metadata.creation_timestamp or "")
        judged_by = (made or 0) + round(UNJUDGED_GRACE_SECONDS * SECOND)
        return standing_without_node(
            watched.wait, has_request=False, judged_by=judged_by, at=self._at
        )

    async def _node(self, pod: Pod, upcoming: _Upcoming) -> tuple[Node | None, NodeFacts] | None:
        name = pod.spec.node_name
        if not name:
            return None
        try:
            node = await self._api.get(NODES, name)
        except NotFound:
            return None, NodeFacts(name, is_there=False)
        except ApiProblem:
            return None, NodeFacts(name, self._named(name, upcoming))
        ready, cordoned = node.is_ready, node.spec.unschedulable
        return node, NodeFacts(name, upcoming.machine_of(node), True, ready, cordoned)

    def _named(self, node: str, upcoming: _Upcoming) -> str:
        """The machine whose UpcomingNode names this Node, which cannot be read itself."""
        known = upcoming.by_machine().items()
        return next((machine for machine, each in known if each.node == node), "")

    async def _pod_of(self, request: CapacityRequest) -> Pod | None:
        meta = request.metadata
        uid = meta.labels.get(OWNED_BY_POD, "")
        names = [each.name for each in meta.owner_references if each.uid == uid and uid]
        try:
            pod = await self._api.get(PODS, names[0], meta.namespace) if names else None
        except ApiProblem:
            return None
        return pod if pod is not None and pod.metadata.uid == uid else None

    # -- requests --------------------------------------------------------------------------------

    async def _request(self, requests: list[CapacityRequest]) -> RequestFacts:
        request = requests[0]
        meta, meaning = request.metadata, translate(bytes(request.spec))
        facts = RequestFacts(
            str(meta.key),
            next((f"{o.kind} {meta.namespace}/{o.name}" for o in meta.owner_references), ""),
            request.status.phase,
            meta.deletion_timestamp is not None,
            term=meta.annotations.get(AFFINITY_TERM, ""),
            others=len(requests) - 1,
            events=await self._events(meta.namespace, meta.uid),
        )
        if isinstance(meaning, Untranslatable):
            text = f"it cannot be told to a fleet: {meaning}"
            return replace(facts, untranslatable=text)
        key = NeedKey(self._cluster, meaning.profile.fingerprint, meaning.group)
        return replace(facts, unit=meaning.unit, key=key)

    # -- around them -----------------------------------------------------------------------------

    async def _upcoming(self) -> _Upcoming:
        try:
            return _Upcoming(await self._all(UPCOMING_NODES))
        except NotFound:
            return _Upcoming(unread="the cluster has no UpcomingNodes: bigfleet operator crds")
        except ApiProblem as problem:
            return _Upcoming(unread=problem.text)

    async def _all(self, kind: Kind[T]) -> tuple[T, ...]:
        found: list[T] = []
        token = ""
        while True:
            page = await self._api.list_page(kind, limit=_PAGE, continue_token=token)
            found += page.items
            token = page.continue_token
            if not token:
                return tuple(found)

    async def _events(self, namespace: str, uid: str) -> tuple[ToldEvent, ...]:
        """Those that BigFleet wrote, the last one first; none where they cannot be read."""
        if not uid:
            return ()
        try:
            page = await self._api.list_page(
                EVENTS, namespace, field_selector=f"involvedObject.uid={uid}"
            )
        except ApiProblem:
            return ()
        ours = [each for each in page.items if each.reporting_component.startswith(_OURS)]
        told = (ToldEvent(each.reason, each.message) for each in reversed(ours))
        return tuple(dict.fromkeys(told))

    async def _controller(self) -> tuple[ControllerFacts | None, str]:
        try:
            page = await self._api.list_page(
                LEASES, field_selector=f"metadata.name={PODWATCH_LEASE}"
            )
        except ApiProblem as problem:
            return None, problem.text
        return (self._lease(page.items[0]), "") if page.items else (None, "")

    def _lease(self, lease: Lease) -> ControllerFacts:
        spec, renewed = lease.spec, instant_of(lease.spec.renew_time or "")
        age = (self._at - renewed) / SECOND if renewed is not None else None
        return ControllerFacts(spec.holder_identity or "", age, spec.lease_duration_seconds or 15)

    async def _unknown(self, kind: Kind[T], namespace: str, name: str) -> UnknownObject:
        what = "pod" if kind.plural == PODS.plural else kind.kind
        text = f"no {what} {name} in namespace {namespace}"
        try:
            here = await self._api.list_page(kind, namespace, limit=_LOOKED_AT)
            if near := nearest(name, [each.metadata.name for each in here.items]):
                return UnknownObject(f"{text}; nearest are {', '.join(near)}")
            there = await self._api.list_page(kind, field_selector=f"metadata.name={name}")
        except ApiProblem:
            return UnknownObject(text)
        if homes := sorted({each.metadata.namespace for each in there.items}):
            return UnknownObject(f"{text}; there is one in namespace {', '.join(homes[:3])}")
        empty = "" if here.items else f"; the namespace has no {what} at all"
        return UnknownObject(f"{text}{empty}")
