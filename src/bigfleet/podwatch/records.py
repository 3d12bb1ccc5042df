"""What is kept of each pod and of each CapacityRequest of ours: little, and equal specs once.

Also decided here: which pods are looked at. A pod that is pinned to a node asks for no machine;
one of an excluded namespace is left to others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from bigfleet.kube.names import (
    AFFINITY_TERM,
    BOOKED_SHARE,
    OWNED_BY_BUFFER,
    OWNED_BY_POD,
    OWNED_BY_PROVISIONING_REQUEST,
)
from bigfleet.kube.objects import CapacityRequest, ObjectKey, Pod
from bigfleet.kube.provisioning_requests import consumed_by
from bigfleet.model.quantities import BadQuantity
from bigfleet.podwatch.notes import PodNote, shared
from bigfleet.podwatch.penalties import NO_PENALTIES, Defaults, Penalties, annotated
from bigfleet.podwatch.pod_demand import PodWait
from bigfleet.podwatch.requests import (
    RequestBodies,
    RequestTemplate,
    asking_of,
    canonical,
    is_pinned,
)
from bigfleet.podwatch.taints import FleetTaint
from bigfleet.podwatch.volumes import PodClaim, claims_of

ACKNOWLEDGED = "Acknowledged"
_UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Body:
    """A spec as canonical JSON; there is one for all objects that share it."""

    spec: bytes


class Bodies:
    """Equal specs become one object, which goes with the last that uses it."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, Body] = WeakValueDictionary()

    def of(self, spec: bytes) -> Body:
        body = self._known.get(spec)
        if body is None:
            body = Body(spec)
            self._known[spec] = body
        return body

    def __len__(self) -> int:
        return len(self._known)


@dataclass(frozen=True, slots=True)
class WatchedPod:
    key: ObjectKey
    uid: str
    #: It has ended, so it needs nothing any more.
    terminal: bool
    #: Specs without penalties, one for each alternative; none: it ended, or is unreadable.
    alternatives: tuple[Body, ...] = ()
    penalties: Penalties = NO_PENALTIES
    priority_class: str = ""
    notes: tuple[PodNote, ...] = ()
    #: Its requests cannot be read; a note says why.
    is_unreadable: bool = False
    #: Why no machine of the fleet would take it.
    impossible: PodNote | None = None
    #: Empty: it waits.
    node: str = ""
    wait: PodWait = PodWait.UNJUDGED
    claims: tuple[PodClaim, ...] = ()
    #: The UID of its controller, else its own.
    owner: str = ""
    #: The ProvisioningRequest of its namespace whose booking it uses; empty: none.
    consumes: str = ""
    #: The class it says that request has; empty: it does not say.
    consumes_class: str = ""

    def spec(self, defaults: Defaults, number: int = 0) -> bytes | None:
        if not self.alternatives:
            return None
        return self.with_its_penalties(self.alternatives[number].spec, defaults)

    def with_its_penalties(self, spec: bytes, defaults: Defaults) -> bytes:
        default = defaults.get(self.priority_class, NO_PENALTIES)
        return with_penalties(spec, self.penalties.otherwise(default))


class DemandSource(Enum):
    """What a CapacityRequest of ours was made for; the value is its label."""

    POD = OWNED_BY_POD
    BUFFER = OWNED_BY_BUFFER
    PROVISIONING_REQUEST = OWNED_BY_PROVISIONING_REQUEST


class BookedShare(NamedTuple):
    """Which share of a booking a request is: `number` of `podSets[pod_set]`, both from 0."""

    pod_set: int
    number: int

    def __str__(self) -> str:
        return f"{self.pod_set}/{self.number}"


@dataclass(frozen=True, slots=True)
class OwnRequest:
    key: ObjectKey
    uid: str
    #: Of the pod, the buffer or the ProvisioningRequest.
    owner: str
    #: Empty: it does not say.
    owner_name: str
    source: DemandSource
    body: Body
    acknowledged: bool
    #: RFC 3339, as the server wrote it.
    created: str
    deleting: bool
    #: Which alternative it asks for, as its annotation says: `2/3`; empty: it does not say.
    term: str = ""
    #: Of a booking, also once a pod has taken it over.
    share: BookedShare | None = None
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    excluded_namespaces: frozenset[str] = frozenset()
    include_daemonsets: bool = False
    taints: tuple[FleetTaint, ...] = ()

    def why_not_watched(self, pod: Pod) -> str | None:
        if pod.metadata.namespace in self.excluded_namespaces:
            return f"namespace {pod.metadata.namespace} is excluded"
        if not self.include_daemonsets and is_bound_to_one_node(pod):
            return "it belongs to one node, which it cannot leave"
        return None


def is_bound_to_one_node(pod: Pod) -> bool:
    return pod.is_of_daemon_set or pod.is_mirror or is_pinned(pod.spec.affinity)


def watched_pod(pod: Pod, policy: Policy, bodies: Bodies) -> WatchedPod | None:
    """None: it is not looked at."""
    if policy.why_not_watched(pod) is not None:
        return None
    meta = pod.metadata
    consumes, consumes_class = consumed_by(meta.annotations)
    if pod.is_terminal:
        return WatchedPod(
            meta.key, meta.uid, True, consumes=consumes, consumes_class=consumes_class
        )
    penalties, notes = annotated(meta.annotations)
    asking = _asking(pod, policy)
    return WatchedPod(
        meta.key,
        meta.uid,
        False,
        tuple(bodies.of(spec) for spec in asking.alternatives),
        penalties,
        pod.spec.priority_class_name,
        shared(notes + asking.notes),
        asking.is_unreadable,
        asking.impossible,
        pod.spec.node_name,
        _wait_of(pod),
        claims_of(meta.name, pod.spec.volumes),
        next((each.uid for each in meta.owner_references if each.controller), meta.uid),
        consumes,
        consumes_class,
    )


def own_request(request: CapacityRequest, bodies: Bodies) -> OwnRequest | None:
    """None: podwatch did not write it."""
    meta = request.metadata
    source = next((each for each in DemandSource if meta.labels.get(each.value)), None)
    if source is None:
        return None
    owner = meta.labels[source.value]
    return OwnRequest(
        meta.key,
        meta.uid,
        owner,
        next((each.name for each in meta.owner_references if each.uid == owner), ""),
        source,
        bodies.of(canonical(msgspec.json.decode(request.spec))),
        request.status.phase == ACKNOWLEDGED,
        meta.creation_timestamp or "",
        meta.deletion_timestamp is not None,
        meta.annotations.get(AFFINITY_TERM, ""),
        _share_of(meta.annotations.get(BOOKED_SHARE, "")),
        meta.resource_version,
    )


def _share_of(text: str) -> BookedShare | None:
    pod_set, _, number = text.partition("/")
    if not (pod_set.isdecimal() and number.isdecimal()):
        return None
    return BookedShare(int(pod_set), int(number))


def with_penalties(spec: bytes, penalties: Penalties) -> bytes:
    if penalties == NO_PENALTIES:
        return spec
    body = msgspec.json.decode(spec, type=dict[str, object])
    said: Mapping[str, str | None] = {
        "interruptionPenalty": penalties.interruption,
        "reclamationPenalty": penalties.reclamation,
    }
    return canonical(body | {name: text for name, text in said.items() if text is not None})


def _asking(pod: Pod, policy: Policy) -> RequestBodies:
    template = RequestTemplate(
        pod.spec,
        pod.spec.priority or 0,
        pod.metadata.labels,
        pod.metadata.namespace,
        pod.status,
        is_bound_to_one_node(pod),
    )
    try:
        return asking_of(template, policy.taints)
    except BadQuantity as problem:
        text = f"no capacity is requested for this pod: {problem}"
        return RequestBodies((), (PodNote("InvalidRequests", text),), is_unreadable=True)


def _wait_of(pod: Pod) -> PodWait:
    if pod.spec.node_name:
        return PodWait.UNJUDGED
    if pod.spec.scheduling_gates:
        return PodWait.GATED
    said = next((each for each in pod.status.conditions if each.type == "PodScheduled"), None)
    # A condition that still says SchedulingGated: the scheduler has not looked since the last went.
    judged = said is not None and said.status == "False" and said.reason == _UNSCHEDULABLE
    return PodWait.UNSCHEDULABLE if judged else PodWait.UNJUDGED
