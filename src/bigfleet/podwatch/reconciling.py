"""One pod: what is there, what should be there, and the calls that make them the same.

The law: a live pod has exactly one CapacityRequest of ours, for its whole life; every other pod
has none. Nothing here waits or calls; a second look after the calls finds nothing to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256

import msgspec

from bigfleet.kube.names import OWNED_BY_BUFFER, OWNED_BY_POD
from bigfleet.kube.objects import ObjectKey
from bigfleet.podwatch.records import OwnRequest, WatchedPod

#: Leaves room for the digest in the 253 characters of a name.
_LONGEST_PREFIX = 240


class Outcome(Enum):
    """How a look at a pod ended; the label of the counter."""

    CREATED = "cr_created"
    EXISTS = "cr_exists"
    GONE = "pod_gone"
    TERMINAL = "pod_terminal"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose end is the end of the object, by garbage collection."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Create:
    key: ObjectKey
    #: What the name is made of; the server may make another one of it.
    prefix: str
    label: str
    owner: Owner
    spec: bytes

    def body(self, *, named: bool = True) -> dict[str, object]:
        """With `named` a second create of the same object is refused by the server."""
        owner = {
            "apiVersion": self.owner.api_version,
            "kind": self.owner.kind,
            "name": self.owner.name,
            "uid": self.owner.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }
        meta: dict[str, object] = {
            "generateName": self.prefix,
            "namespace": self.key.namespace,
            "labels": {self.label: self.owner.uid},
            "ownerReferences": [owner],
        }
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


Instruction = Create | Patch | Delete | Withdraw


@dataclass(frozen=True, slots=True)
class Decision:
    outcome: Outcome
    instructions: tuple[Instruction, ...] = ()


def decide(
    pod: WatchedPod | None, spec: bytes | None, have: Sequence[OwnRequest], *, expected: bool
) -> Decision:
    """`spec`: what it should ask for. `expected`: a request was made that the cache has not shown.

    `have` is everything with the label of that pod, in any order.
    """
    there = sorted((r for r in have if not r.deleting), key=lambda r: (r.created, r.key.name))
    if pod is None:
        return Decision(Outcome.GONE, tuple(Withdraw(request) for request in there))
    if pod.terminal:
        return Decision(Outcome.TERMINAL, tuple(Delete(request) for request in there))
    if spec is None:
        return Decision(Outcome.ERROR)
    if not there:
        if expected or have:
            return Decision(Outcome.EXISTS)
        return Decision(Outcome.CREATED, (request_of_pod(pod, spec),))
    kept, *younger = there
    steps: list[Instruction] = [Delete(request) for request in younger]
    if kept.body.spec != spec:
        steps.append(Patch(kept, spec_patch(kept.body.spec, spec)))
    return Decision(Outcome.EXISTS, tuple(steps))


def request_of_pod(pod: WatchedPod, spec: bytes) -> Create:
    prefix = f"cr-pod-{pod.key.name}-"[:_LONGEST_PREFIX]
    key = ObjectKey(pod.key.namespace, prefix + digest_of(pod.uid))
    owner = Owner("v1", "Pod", pod.key.name, pod.uid)
    return Create(key, prefix, OWNED_BY_POD, owner, spec)


def chunk_of_buffer(namespace: str, owner: Owner, number: int, spec: bytes) -> Create:
    """Chunks are alike; each has its number, so that nobody makes one twice."""
    prefix = f"cr-buffer-{owner.name}-"[:_LONGEST_PREFIX]
    key = ObjectKey(namespace, f"{prefix}{digest_of(f'{owner.uid}/{number}')}")
    return Create(key, prefix, OWNED_BY_BUFFER, owner, spec)


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:10]


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
