"""One pod: what is there, what should be there, and the calls that make them the same.

The law: a pod that is demand has exactly one CapacityRequest of ours; one that is not has none; and
as long as it is not known which, what is there stays. Nothing here waits or calls; a second look
after the calls finds nothing to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256

import msgspec

from bigfleet.kube.names import (
    AFFINITY_TERM,
    BOOKED_SHARE,
    OWNED_BY_BUFFER,
    OWNED_BY_POD,
    OWNED_BY_PROVISIONING_REQUEST,
)
from bigfleet.kube.objects import ObjectKey
from bigfleet.model.machines import Instant
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.pod_demand import IS_DEMAND, NotDemand, NotYetKnown, Standing
from bigfleet.podwatch.records import BookedShare, OwnRequest, WatchedPod

#: Leaves room for the digest in the 253 characters of a name.
_LONGEST_PREFIX = 240


class PodOutcome(Enum):
    """How a look at a pod ended; the label of the counter."""

    CREATED = "cr_created"
    EXISTS = "cr_exists"
    GONE = "pod_gone"
    TERMINAL = "pod_terminal"
    NOT_DEMAND = "pod_not_demand"
    NOT_YET_KNOWN = "pod_not_yet_known"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose end is the end of the object, by garbage collection."""

    api_version: str
    kind: str
    name: str
    uid: str

    def reference(self) -> dict[str, object]:
        """As an object names it that belongs to it."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }


@dataclass(frozen=True, slots=True)
class Create:
    key: ObjectKey
    #: What the name is made of; the server may make another one of it.
    prefix: str
    label: str
    owner: Owner
    spec: bytes
    #: Which of several alternatives it asks for; empty: there is one.
    term: str = ""
    #: Of a booking.
    share: BookedShare | None = None

    def body(self, *, named: bool = True) -> dict[str, object]:
        """With `named` a second create of the same object is refused by the server."""
        meta: dict[str, object] = {
            "generateName": self.prefix,
            "namespace": self.key.namespace,
            "labels": {self.label: self.owner.uid},
            "ownerReferences": [self.owner.reference()],
        }
        annotations = {AFFINITY_TERM: self.term, BOOKED_SHARE: str(self.share or "")}
        if told := {name: text for name, text in annotations.items() if text}:
            meta["annotations"] = told
        if named:
            meta["name"] = self.key.name
        return {"metadata": meta, "spec": msgspec.json.decode(self.spec)}


@dataclass(frozen=True, slots=True)
class Patch:
    request: OwnRequest
    patch: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Delete:
    request: OwnRequest


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Delete, once the server itself has said that the owner is gone: a cache may be late."""

    request: OwnRequest


@dataclass(frozen=True, slots=True)
class Release:
    """Delete, once everything around the pod has been heard of: the pod is there, and no demand."""

    request: OwnRequest


@dataclass(frozen=True, slots=True)
class TakeOver:
    """A request of a booking becomes that of a pod in one write: it is never both, nor neither."""

    request: OwnRequest
    #: What would be made for the pod if there were no booking.
    create: Create

    def patch(self) -> dict[str, object]:
        """Refused by the server where the request has changed since it was seen."""
        create, request = self.create, self.request
        meta: dict[str, object] = {
            "resourceVersion": request.resource_version,
            "labels": {OWNED_BY_PROVISIONING_REQUEST: None, create.label: create.owner.uid},
            "ownerReferences": [create.owner.reference()],
        }
        if create.term:
            meta["annotations"] = {AFFINITY_TERM: create.term}
        return {"metadata": meta, **spec_patch(request.body.spec, create.spec)}


Instruction = Create | Patch | Delete | Withdraw | Release | TakeOver


@dataclass(frozen=True, slots=True)
class WantedRequest:
    """What the request of a pod should say."""

    spec: bytes
    #: As in Create.
    term: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    outcome: PodOutcome
    instructions: tuple[Instruction, ...] = ()
    #: When to look again though nothing changed; None: never.
    again_at: Instant | None = None
    #: What is to be told besides the notes of the pod itself.
    notes: tuple[PodNote, ...] = ()
    #: Why it is not demand; empty: it is, or that is not known.
    why: str = ""


def decide(
    pod: WatchedPod | None,
    wanted: WantedRequest | None,
    have: Sequence[OwnRequest],
    *,
    expected: bool,
    standing: Standing = IS_DEMAND,
) -> Decision:
    """`wanted` None: its requests cannot be read. `expected`: a request was made that the cache
    has not shown. `have` is everything with the label of that pod, in any order.
    """
    there = requests_there(have)
    if pod is None:
        return Decision(PodOutcome.GONE, tuple(Withdraw(request) for request in there))
    if pod.terminal:
        return Decision(PodOutcome.TERMINAL, tuple(Delete(request) for request in there))
    if isinstance(standing, NotDemand):
        steps_back = tuple(Release(request) for request in there)
        return Decision(PodOutcome.NOT_DEMAND, steps_back, why=standing.why)
    if wanted is None:
        return Decision(PodOutcome.ERROR)
    again_at = standing.until if isinstance(standing, NotYetKnown) else None
    if not there:
        if expected or have:
            return Decision(PodOutcome.EXISTS, (), again_at)
        if isinstance(standing, NotYetKnown):
            return Decision(PodOutcome.NOT_YET_KNOWN, (), again_at)
        return Decision(PodOutcome.CREATED, (request_of_pod(pod, wanted.spec, wanted.term),))
    kept, *younger = there
    steps: list[Instruction] = [Delete(request) for request in younger]
    if patch := request_patch(kept, wanted):
        steps.append(Patch(kept, patch))
    return Decision(PodOutcome.EXISTS, tuple(steps), again_at)


def requests_there(have: Sequence[OwnRequest]) -> list[OwnRequest]:
    """Those that are not being deleted, the one that stays first."""
    return sorted((r for r in have if not r.deleting), key=lambda r: (r.created, r.key.name))


def request_of_pod(pod: WatchedPod, spec: bytes, term: str = "") -> Create:
    prefix = f"cr-pod-{pod.key.name}-"[:_LONGEST_PREFIX]
    key = ObjectKey(pod.key.namespace, prefix + digest_of(pod.uid))
    owner = Owner("v1", "Pod", pod.key.name, pod.uid)
    return Create(key, prefix, OWNED_BY_POD, owner, spec, term)


def chunk_of_buffer(namespace: str, owner: Owner, number: int, spec: bytes) -> Create:
    """Chunks are alike; each has its number, so that none is made twice."""
    prefix = f"cr-buffer-{owner.name}-"[:_LONGEST_PREFIX]
    key = ObjectKey(namespace, f"{prefix}{digest_of(f'{owner.uid}/{number}')}")
    return Create(key, prefix, OWNED_BY_BUFFER, owner, spec)


def share_of_booking(namespace: str, owner: Owner, share: BookedShare, spec: bytes) -> Create:
    prefix = f"cr-provreq-{owner.name}-"[:_LONGEST_PREFIX]
    key = ObjectKey(namespace, f"{prefix}{digest_of(f'{owner.uid}/{share}')}")
    return Create(key, prefix, OWNED_BY_PROVISIONING_REQUEST, owner, spec, share=share)


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:10]


def request_patch(request: OwnRequest, wanted: WantedRequest) -> dict[str, object]:
    """Empty: it says so already."""
    patch: dict[str, object] = {}
    if request.body.spec != wanted.spec:
        patch |= spec_patch(request.body.spec, wanted.spec)
    if wanted.term and request.term != wanted.term:
        patch["metadata"] = {"annotations": {AFFINITY_TERM: wanted.term}}
    return patch


def spec_patch(have: bytes, want: bytes) -> dict[str, object]:
    return {"spec": merge_patch_of(msgspec.json.decode(have), msgspec.json.decode(want))}


def merge_patch_of(have: object, want: Mapping[str, object]) -> dict[str, object]:
    """What RFC 7396 makes `want` out of `have`: None removes a field."""
    before = have if isinstance(have, dict) else {}
    patch: dict[str, object] = {name: None for name in before if name not in want}
    for name, value in want.items():
        if name in before and before[name] == value:
            continue
        if isinstance(value, dict):
            patch[name] = merge_patch_of(before.get(name), value)
        else:
            patch[name] = value
    return patch
