"""First fit in decreasing size: which pods fit on which Nodes, and how many machines they take.

A `NodeRoom` is what is left on one Node and who is there. `TrialPlacements` tries placements on
rooms without changing them, so a check of a few pods among thousands of Nodes copies only what it
touches.

The check reads requests, the limit of pods, requirements, taints, and groups that must be apart or
near.
It does not read spread constraints, attach limits and preferences: the scheduler may refuse what
fits here, and what does not fit here the scheduler refuses too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TypeVar

from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.taints import Taint
from bigfleet.placement.records import NodeView, PodGroupTerm, PodView, taint_not_tolerated

K = TypeVar("K", bound=str | PodGroupTerm)
_SCORED = ("cpu", "memory")


class NodeRoom:
    """What is left on one Node."""

    __slots__ = (
        "far_apart",
        "free",
        "groups",
        "kept_away",
        "labels",
        "name",
        "pods_left",
        "taints",
        "whole",
    )

    def __init__(
        self,
        name: str,
        free: Resources,
        pods_left: int,
        labels: Mapping[str, str],
        taints: tuple[Taint, ...] = (),
    ) -> None:
        self.name = name
        self.whole = free
        #: Below zero where a Node holds more than it offers.
        self.free: dict[str, int] = dict(free.amounts)
        self.pods_left = pods_left
        self.labels = labels
        self.taints = taints
        #: Pods here by the groups they belong to, and by the groups that must stay away from them.
        self.groups: Counter[str] = Counter()
        self.kept_away: Counter[str] = Counter()
        #: The terms of pods here that reach beyond this Node.
        self.far_apart: Counter[PodGroupTerm] = Counter()

    @classmethod
    def of(cls, node: NodeView) -> "NodeRoom":
        """Of a Node without pods."""
        return cls(node.name, node.allocatable, node.pod_limit, node.labels, node.taints)

    def copy(self) -> "NodeRoom":
        twin = NodeRoom(self.name, Resources(), self.pods_left, self.labels, self.taints)
        twin.whole, twin.free = self.whole, dict(self.free)
        twin.groups = self.groups.copy()
        twin.kept_away = self.kept_away.copy()
        twin.far_apart = self.far_apart.copy()
        return twin

    def take(self, pod: PodView, by: int = 1) -> None:
        """One pod more; `by` -1: one pod less."""
        free = self.free
        for name, amount in pod.requests.amounts:
            free[name] = free.get(name, 0) - amount * by
        self.pods_left -= by
        for group in pod.groups:
            _count(self.groups, group, by)
        for term in pod.apart:
            if term.topology_key == HOSTNAME_KEY:
                _count(self.kept_away, term.group, by)
            else:
                _count(self.far_apart, term, by)

    def holds(self, requests: Resources) -> bool:
        free = self.free
        return all(amount <= 0 or free.get(name, 0) >= amount for name, amount in requests.amounts)

    def free_share(self) -> float:
        """The mean over cpu and memory of what is free, as the default scheduler scores Nodes."""
        free = self.free
        shares = [
            free.get(dimension, 0) / whole
            for dimension, whole in self.whole.amounts
            if whole > 0 and dimension in _SCORED
        ]
        return sum(shares) / len(shares) if shares else 0.0

    def why_not(self, pod: PodView) -> str | None:
        """What this Node alone has against the pod; None: nothing."""
        for name, amount in pod.requests.amounts:
            if amount > 0 and self.free.get(name, 0) < amount:
                return f"not enough {name}"
        if self.pods_left <= 0:
            return "no more pods on the Node"
        for requirement in pod.requirements:
            if not requirement.met_by(self.labels.get(requirement.key)):
                return f"another {requirement.key}"
        if self.taints and (taint := taint_not_tolerated(self.taints, pod)) is not None:
            return f"the taint {taint}, which it does not tolerate"
        for term in pod.apart:
            if term.topology_key == HOSTNAME_KEY and self.groups[term.group]:
                return "a pod it must not share a Node with"
        if self.kept_away and any(self.kept_away[group] for group in pod.groups):
            return "a pod that must not share a Node with it"
        return None


def _count(counts: Counter[K], key: K, by: int) -> None:
    counts[key] += by
    if not counts[key]:
        del counts[key]


@dataclass(frozen=True, slots=True)
class Packing:
    #: Name of the Node for each pod that fits, by uid.
    place_of: Mapping[str, str]
    #: Pods that do not fit, largest first.
    left: tuple[PodView, ...]


class TrialPlacements:
    """Placements that are tried and never made."""

    def __init__(self, rooms: Mapping[str, NodeRoom], open_nodes: Iterable[str]) -> None:
        """`rooms` of all Nodes, and the names of those that take pods, in the order to try them."""
        self._rooms = rooms
        self.open_nodes = list(open_nodes)
        self._changed: dict[str, NodeRoom] = {}
        #: Pods by group within each value of a topology key; made when first asked for.
        self._within: dict[str, dict[str, Counter[str]]] = {}
        self._has_far_terms = any(room.far_apart for room in rooms.values())

    def room(self, name: str) -> NodeRoom:
        return self._changed.get(name) or self._rooms[name]

    def take(self, pod: PodView, name: str) -> None:
        changed = self._changed.get(name)
        if changed is None:
            changed = self._changed[name] = self._rooms[name].copy()
        changed.take(pod)
        self._has_far_terms = self._has_far_terms or bool(changed.far_apart)
        for key, values in self._within.items():
            value = changed.labels.get(key)
            if value is not None:
                values.setdefault(value, Counter()).update(pod.groups)

    def leave(self, pod: PodView, name: str) -> None:
        """The pod is no longer counted where it is."""
        changed = self._changed.get(name)
        if changed is None:
            changed = self._changed[name] = self._rooms[name].copy()
        changed.take(pod, -1)
        self._within.clear()

    def place(self, pod: PodView, after: int = 0) -> int | None:
        """Takes the first open Node that fits, from this position on; its position."""
        for at in range(after, len(self.open_nodes)):
            name = self.open_nodes[at]
            room = self._changed.get(name) or self._rooms[name]
            if room.holds(pod.requests) and self.why_not(pod, name) is None:
                self.take(pod, name)
                return at
        return None

    def pack(self, pods: Iterable[PodView]) -> Packing:
        """First fit, largest first. Equal pods go on where the last one was placed."""
        place_of: dict[str, str] = {}
        left = []
        began: dict[object, int | None] = {}
        for pod in decreasing(pods, self._most_free()):
            alike = _alike(pod)
            after = began.get(alike, 0)
            at = None if after is None else self.place(pod, after)
            if not pod.near:
                began[alike] = at
            if at is None:
                left.append(pod)
            else:
                place_of[pod.uid] = self.open_nodes[at]
        return Packing(place_of, tuple(left))

    def pack_spreading(self, pods: Iterable[PodView]) -> Packing:
        """Largest first, each on the Node with the most left: what the default scheduler does."""
        place_of: dict[str, str] = {}
        left = []
        emptiest = [(-self.room(name).free_share(), name) for name in self.open_nodes]
        heapify(emptiest)
        for pod in decreasing(pods, self._most_free()):
            passed = []
            while emptiest:
                entry = heappop(emptiest)
                if self.why_not(pod, entry[1]) is None:
                    name = entry[1]
                    self.take(pod, name)
                    place_of[pod.uid] = name
                    heappush(emptiest, (-self.room(name).free_share(), name))
                    break
                passed.append(entry)
            else:
                left.append(pod)
            for entry in passed:
                heappush(emptiest, entry)
        return Packing(place_of, tuple(left))

    def why_not(self, pod: PodView, name: str) -> str | None:
        room = self.room(name)
        why = room.why_not(pod)
        if why is not None:
            return why
        for term in pod.apart:
            if term.topology_key != HOSTNAME_KEY and self._are_within(room, term):
                return f"a pod it must not share a {term.topology_key} with"
        if self._has_far_terms and pod.groups and self._is_kept_away(pod, room):
            return "a pod nearby that it must stay apart from"
        for term in pod.near:
            if not self._are_within(room, term) and not self._is_first(pod, term):
                return f"no pod to be near to in its {term.topology_key}"
        return None

    def _are_within(self, room: NodeRoom, term: PodGroupTerm) -> bool:
        if term.topology_key == HOSTNAME_KEY:
            return room.groups[term.group] > 0
        value = room.labels.get(term.topology_key)
        if value is None:
            return False
        counts = self._groups_by(term.topology_key).get(value)
        return counts is not None and counts[term.group] > 0

    def _is_kept_away(self, pod: PodView, room: NodeRoom) -> bool:
        for each in map(self.room, self._rooms):
            for term in each.far_apart:
                value = room.labels.get(term.topology_key)
                is_there = value is not None and each.labels.get(term.topology_key) == value
                if is_there and term.group in pod.groups:
                    return True
        return False

    def _is_first(self, pod: PodView, term: PodGroupTerm) -> bool:
        """No pod of the group is there yet, and the pod is a member of it itself."""
        return term.group in pod.groups and not any(
            self.room(name).groups[term.group] for name in self._rooms
        )

    def _groups_by(self, key: str) -> dict[str, Counter[str]]:
        known = self._within.get(key)
        if known is None:
            known = self._within[key] = {}
            for name in self._rooms:
                room = self.room(name)
                value = room.labels.get(key)
                if value is not None and room.groups:
                    known.setdefault(value, Counter()).update(room.groups)
        return known

    def _most_free(self) -> Resources:
        most: dict[str, int] = {}
        for name in self.open_nodes:
            for dimension, amount in self.room(name).free.items():
                if amount > most.get(dimension, 0):
                    most[dimension] = amount
        return Resources.of(most)


def _alike(pod: PodView) -> object:
    return (pod.requests, pod.requirements, pod.groups, pod.apart, pod.tolerations)


def decreasing(pods: Iterable[PodView], whole: Resources) -> list[PodView]:
    """Largest first by the greatest share of `whole`; equal ones by name."""
    return sorted(pods, key=lambda pod: (-share_of(pod.requests, whole), pod.key, pod.uid))


def share_of(requests: Resources, whole: Resources) -> float:
    """The greatest share of any dimension; what the whole does not have counts as all of it."""
    most = 0.0
    for name, amount in requests.amounts:
        if amount > 0:
            have = whole[name]
            most = max(most, amount / have if have > 0 else 1e9)
    return most


def machines_for(pods: Sequence[PodView], machine: NodeRoom) -> int:
    """How many empty machines of this kind the pods take; one that fits on none takes one alone.

    What a pod requires of labels is not asked: the engine picks machines that have them. Pods that
    must be near to each other are placed like any others.
    """
    rooms: list[NodeRoom] = []
    alone = 0
    began: dict[object, int] = {}
    for pod in decreasing(pods, Resources.of({n: max(0, a) for n, a in machine.free.items()})):
        alike = (pod.requests, pod.groups, pod.apart)
        at = began.get(alike, 0)
        while at < len(rooms) and _why_not_beside(rooms[at], pod) is not None:
            at += 1
        if at == len(rooms):
            fresh = machine.copy()
            if _why_not_beside(fresh, pod) is not None:
                alone += 1
                continue
            rooms.append(fresh)
        rooms[at].take(pod)
        began[alike] = at
    return len(rooms) + alone


def _why_not_beside(room: NodeRoom, pod: PodView) -> str | None:
    for name, amount in pod.requests.amounts:
        if amount > 0 and room.free.get(name, 0) < amount:
            return name
    if room.pods_left <= 0:
        return "pods"
    if any(term.topology_key == HOSTNAME_KEY and room.groups[term.group] for term in pod.apart):
        return "apart"
    if room.kept_away and any(room.kept_away[group] for group in pod.groups):
        return "kept away"
    return None
