"""Which pods and volumes are on which Node, which pods can be evicted, which found no Node at all.

A pod is kept as a few strings, so that the cache of a large cluster stays small. Not moved are pods
of a DaemonSet (they would come back to the same Node), mirror pods (the API cannot end them) and
pods that have ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from bigfleet.kube.objects import Meta, ObjectKey, Pod, VolumeAttachment
from bigfleet.model.cluster_reports import PodCounts
from bigfleet.model.instants import instant_of
from bigfleet.model.machines import Instant
from bigfleet.operator.other_autoscalers import autoscaler_of_pod
from bigfleet.operator.pod_shapes import NO_SHAPE, PodShape, shape_of
from bigfleet.placement.records import do_not_disrupt


class NotMoved(StrEnum):
    """Why a pod is not evicted."""

    DAEMON_SET = "of a DaemonSet"
    MIRROR = "a mirror pod"
    TERMINAL = "ended"


@dataclass(frozen=True, slots=True)
class PodOnNode:
    key: ObjectKey
    uid: str
    #: Empty until the scheduler has placed it.
    node: str = ""
    #: None: an eviction can move it.
    why_not_evicted: NotMoved | None = None
    is_terminal: bool = False
    #: Asked to end; it still runs.
    is_deleting: bool = False
    #: The scheduler's words, while it has no Node.
    why_unscheduled: str = ""
    #: UID of its controller; empty for a pod without one.
    owner_uid: str = ""
    #: The autoscaler it is part of; empty: none.
    autoscaler: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Since when the scheduler finds no place for it; None: it has not said so.
    unschedulable_since: Instant | None = None
    #: The annotation by which it must not be moved; empty: none.
    do_not_disrupt: str = ""
    shape: PodShape = NO_SHAPE

    @property
    def is_running(self) -> bool:
        """On a Node, not ended, and not one that follows its Node."""
        return bool(self.node) and self.why_not_evicted is None

    @property
    def is_unscheduled(self) -> bool:
        return not self.node and not self.is_terminal and not self.is_deleting

    def as_pod(self) -> Pod:
        """What an eviction names."""
        name = self.key
        return Pod(metadata=Meta(name=name.name, namespace=name.namespace, uid=self.uid))


def pod_on_node(pod: Pod) -> PodOnNode:
    meta = pod.metadata
    return PodOnNode(
        key=meta.key,
        uid=meta.uid,
        node=pod.spec.node_name,
        why_not_evicted=_why_not_evicted(pod),
        is_terminal=pod.is_terminal,
        is_deleting=meta.deletion_timestamp is not None,
        why_unscheduled="" if pod.spec.node_name else _why_unscheduled(pod),
        owner_uid=next((o.uid for o in meta.owner_references if o.controller), ""),
        autoscaler=autoscaler_of_pod(pod),
        labels=_shared_labels(tuple(sorted(meta.labels.items()))),
        unschedulable_since=None if pod.spec.node_name else _unschedulable_since(pod),
        do_not_disrupt=do_not_disrupt(meta.annotations),
        shape=shape_of(pod),
    )


@lru_cache(maxsize=4096)
def _shared_labels(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """One mapping for all pods with the same labels: most are replicas."""
    return dict(items)


def _why_not_evicted(pod: Pod) -> NotMoved | None:
    if pod.is_terminal:
        return NotMoved.TERMINAL
    if pod.is_mirror:
        return NotMoved.MIRROR
    if pod.is_of_daemon_set:
        return NotMoved.DAEMON_SET
    return None


def _why_unscheduled(pod: Pod) -> str:
    conditions = pod.status.conditions
    said = (c.message for c in conditions if c.type == "PodScheduled" and c.status == "False")
    return next(said, "")


def _unschedulable_since(pod: Pod) -> Instant | None:
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.status == "False":
            said_so = each.reason == "Unschedulable"
            return instant_of(each.last_transition_time or "") or 0 if said_so else None
    return None


_NOTHING: Mapping[ObjectKey, PodOnNode] = {}


class PodsOnNodes:
    """Fed by a cache of pods; whether that cache is complete and fresh, others know."""

    def __init__(self) -> None:
        self._pods: dict[ObjectKey, PodOnNode] = {}
        self._on_node: dict[str, dict[ObjectKey, PodOnNode]] = {}
        #: How many of those on a Node are of each namespace; none is 0.
        self._placed_of: dict[str, int] = {}
        self._running = 0
        #: Waiting for a place, by name.
        self.unscheduled: dict[ObjectKey, PodOnNode] = {}
        #: Pods of other autoscalers, by name.
        self.autoscalers: dict[ObjectKey, PodOnNode] = {}

    def put(self, pod: PodOnNode) -> None:
        self.remove(pod.key)
        self._pods[pod.key] = pod
        self._running += pod.is_running
        if pod.autoscaler:
            self.autoscalers[pod.key] = pod
        if pod.node:
            self._on_node.setdefault(pod.node, {})[pod.key] = pod
            self._placed_of[pod.key.namespace] = self._placed_of.get(pod.key.namespace, 0) + 1
        elif pod.is_unscheduled:
            self.unscheduled[pod.key] = pod

    def remove(self, key: ObjectKey) -> None:
        known = self._pods.pop(key, None)
        self.unscheduled.pop(key, None)
        self.autoscalers.pop(key, None)
        if known is not None:
            self._running -= known.is_running
        if known is not None and known.node:
            rest = self._on_node[known.node]
            del rest[key]
            if not rest:
                del self._on_node[known.node]
            self._placed_of[key.namespace] -= 1
            if not self._placed_of[key.namespace]:
                del self._placed_of[key.namespace]

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def counts(self) -> PodCounts:
        return PodCounts(self._running, len(self.unscheduled))

    def get(self, key: ObjectKey) -> PodOnNode | None:
        return self._pods.get(key)

    def has_placed(self, namespace: str) -> bool:
        """Whether any pod of the namespace lies on a Node."""
        return namespace in self._placed_of

    def all_on(self, node: str) -> Mapping[ObjectKey, PodOnNode]:
        return self._on_node.get(node, _NOTHING)

    def is_empty(self, node: str) -> bool:
        """Whether it runs nothing but pods that follow Nodes, or have ended."""
        pods = self._on_node.get(node, _NOTHING).values()
        return all(pod.why_not_evicted is not None for pod in pods)

    def left_on(self, node: str) -> list[PodOnNode]:
        """Pods a drain has to wait for, those that are ending included; in a stable order."""
        pods = self._on_node.get(node, _NOTHING).values()
        return sorted((p for p in pods if p.why_not_evicted is None), key=lambda p: p.key)


def node_of_attachment(attachment: VolumeAttachment) -> str | None:
    """What is kept of one; None: nothing."""
    return attachment.spec.node_name or None


class AttachedVolumes:
    """VolumeAttachments, by the Node they name.

    A cache that was never filled has none, so an operator without the right to read them does not
    wait for them.
    """

    def __init__(self) -> None:
        #: By Node, names of VolumeAttachments; of no Node without one.
        self._on_node: dict[str, set[str]] = {}

    def put(self, name: str, node: str) -> None:
        self._on_node.setdefault(node, set()).add(name)

    def remove(self, name: str, node: str) -> None:
        names = self._on_node.get(node, set())
        names.discard(name)
        if not names:
            self._on_node.pop(node, None)

    def count_on(self, node: str) -> int:
        return len(self._on_node.get(node, ()))
