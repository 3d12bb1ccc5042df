"""Which pods lie on which Nodes, what is left there, and which pods wait.

Kept pod by pod: a change costs what changed. Pods may be told before their Node and Nodes before
their pods. A pod that has ended is removed by the caller.
"""

from collections.abc import Collection, Iterator, Mapping

from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources
from bigfleet.placement.packing import NodeRoom, TrialPlacements
from bigfleet.placement.records import NodeView, PodView

_NO_PODS: Mapping[str, PodView] = {}
_NOTHING = Resources()
#: Sets of requirements remembered; a cluster has far fewer.
_MOST_MATCHINGS = 512


class Matching:
    """Machines that meet the same requirements, by name."""

    __slots__ = ("_newest", "all_usable", "nodes", "usable_at")

    def __init__(self, nodes: tuple[NodeView, ...]) -> None:
        self.nodes = nodes
        #: Those on their way out do not count.
        self.all_usable = all(node.is_usable or node.instruction for node in nodes)
        #: When the last of them became usable.
        self.usable_at = max((node.since for node in nodes if node.is_usable), default=0)
        self._newest: dict[Resources, NodeView | None] = {}

    def newest(self, unit: Resources) -> NodeView | None:
        """The last usable one that holds the unit."""
        if unit not in self._newest:
            fitting = (n for n in self.nodes if n.is_usable and n.declared.covers(unit))
            self._newest[unit] = max(fitting, key=lambda n: (n.since, n.name), default=None)
        return self._newest[unit]


class Occupancy:
    def __init__(self) -> None:
        self.pods: dict[str, PodView] = {}
        self.nodes: dict[str, NodeView] = {}
        #: By Node; only of Nodes that are known.
        self.rooms: dict[str, NodeRoom] = {}
        self._on_node: dict[str, dict[str, PodView]] = {}
        self._waiting: dict[NeedKey | None, dict[str, PodView]] = {}
        #: Requests of DaemonSet and mirror pods on each Node.
        self._followers: dict[str, Resources] = {}
        #: Since when a Node has had no pods but those that follow it.
        self._empty_since: dict[str, Instant] = {}
        #: Raised when Nodes come, go or change in anything but their pods.
        self.nodes_version = 0
        self._matching: dict[tuple[Requirement, ...], tuple[int, Matching]] = {}
        self._taking: tuple[int, tuple[str, ...]] = (-1, ())

    # -- changes ---------------------------------------------------------------------------------

    def put_pod(self, pod: PodView, at: Instant) -> None:
        known = self.pods.get(pod.uid)
        if known == pod:
            return
        if known is not None:
            self._withdraw(known, at)
        self.pods[pod.uid] = pod
        if not pod.node:
            self._waiting.setdefault(pod.need, {})[pod.uid] = pod
            return
        self._on_node.setdefault(pod.node, {})[pod.uid] = pod
        room = self.rooms.get(pod.node)
        if room is not None:
            room.take(pod)
        if pod.follows_node:
            self._follow(pod.node)
        else:
            self._empty_since.pop(pod.node, None)

    def remove_pod(self, uid: str, at: Instant) -> None:
        known = self.pods.pop(uid, None)
        if known is not None:
            self._withdraw(known, at)

    def put_node(self, node: NodeView, at: Instant) -> None:
        known = self.nodes.get(node.name)
        if known == node:
            return
        self.nodes[node.name] = node
        self.nodes_version += 1
        room = NodeRoom.of(node)
        for pod in self.pods_on(node.name).values():
            room.take(pod)
        self.rooms[node.name] = room
        if known is None or (node.is_usable and not known.is_usable):
            self._empty_since.pop(node.name, None)
            self._note_empty(node.name, at)

    def remove_node(self, name: str) -> None:
        """Its pods stay where they are said to be until they are removed."""
        if self.nodes.pop(name, None) is not None:
            del self.rooms[name]
            self._empty_since.pop(name, None)
            self.nodes_version += 1

    # -- questions -------------------------------------------------------------------------------

    def pods_on(self, node: str) -> Mapping[str, PodView]:
        return self._on_node.get(node, _NO_PODS)

    def movable_on(self, node: str) -> list[PodView]:
        """Pods that a drain has to move."""
        return [pod for pod in self.pods_on(node).values() if not pod.follows_node]

    def waiting(self, need: NeedKey | None) -> Mapping[str, PodView]:
        """Pods of the Need without a Node, by uid."""
        return self._waiting.get(need, _NO_PODS)

    def all_waiting(self) -> Iterator[PodView]:
        for pods in self._waiting.values():
            yield from pods.values()

    def needs_that_wait(self) -> list[NeedKey]:
        return [need for need in self._waiting if need is not None]

    def is_empty(self, node: str) -> bool:
        return not any(not pod.follows_node for pod in self.pods_on(node).values())

    def empty_since(self, node: str) -> Instant | None:
        """Since when it has had nothing to move; None: it has, or it is unknown."""
        return self._empty_since.get(node)

    def empty_nodes(self) -> Mapping[str, Instant]:
        return self._empty_since

    def followers_on(self, node: str) -> Resources:
        """Requests of the DaemonSet and mirror pods on it."""
        return self._followers.get(node, _NOTHING)

    def matching(self, requirements: tuple[Requirement, ...]) -> Matching:
        """Machines of the fleet whose labels meet these requirements."""
        known = self._matching.get(requirements)
        if known is not None and known[0] == self.nodes_version:
            return known[1]
        if len(self._matching) > _MOST_MATCHINGS:
            self._matching.clear()
        found = Matching(
            tuple(
                node
                for _, node in sorted(self.nodes.items())
                if node.machine and all(r.met_by(node.labels.get(r.key)) for r in requirements)
            )
        )
        self._matching[requirements] = (self.nodes_version, found)
        return found

    def taking_pods(self) -> tuple[str, ...]:
        """Nodes to which pods may move, by name."""
        if self._taking[0] != self.nodes_version:
            taking = tuple(sorted(n for n, node in self.nodes.items() if node.takes_pods))
            self._taking = (self.nodes_version, taking)
        return self._taking[1]

    def trial(self, *, without: Collection[str] = ()) -> TrialPlacements:
        """Tries placements on the Nodes that take pods, by name, except those named."""
        return TrialPlacements(
            self.rooms, (name for name in self.taking_pods() if name not in without)
        )

    def sizes(self) -> dict[str, int]:
        return {
            "pods": len(self.pods),
            "nodes": len(self.nodes),
            "waiting": sum(len(pods) for pods in self._waiting.values()),
            "matching": len(self._matching),
        }

    # -- within ----------------------------------------------------------------------------------

    def _withdraw(self, pod: PodView, at: Instant) -> None:
        if not pod.node:
            rest = self._waiting[pod.need]
            del rest[pod.uid]
            if not rest:
                del self._waiting[pod.need]
            return
        there = self._on_node[pod.node]
        del there[pod.uid]
        if not there:
            del self._on_node[pod.node]
        room = self.rooms.get(pod.node)
        if room is not None:
            room.take(pod, -1)
        if pod.follows_node:
            self._follow(pod.node)
        else:
            self._note_empty(pod.node, at)

    def _follow(self, node: str) -> None:
        total = Resources()
        for pod in self.pods_on(node).values():
            if pod.follows_node:
                total = total.plus(pod.requests)
        if total.amounts:
            self._followers[node] = total
        else:
            self._followers.pop(node, None)

    def _note_empty(self, node: str, at: Instant) -> None:
        if node in self.nodes and node not in self._empty_since and self.is_empty(node):
            self._empty_since[node] = at
