"""A small scheduler: binds waiting pods to usable Nodes, pod by pod, as kube-scheduler does.

Pods of higher priority come first, then those that have waited longer, as given. Among the Nodes a
pod fits on, the policy decides: the first by name, or the one with the most left (kube-scheduler's
default). A pod that fits nowhere is judged unschedulable, in a real scheduler's words, and waits.
Nothing is preempted or moved; gangs are pods like others, near to each other where they say so.

Pods that are alike share one heap of the Nodes that suit them. Within a pass room only shrinks, so
a Node that comes up with an old score is scored again, and one that no longer fits is dropped.

How a gang is placed: whole, in the tightest domain of its topology key that holds it, or not.

kube-scheduler itself places pods one by one; clusters that train have a plug-in that does this.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heappop, heapreplace

from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.packing import TrialPlacements
from bigfleet.placement.records import NodeView, PodView


class Policy(StrEnum):
    FIRST_FIT = "first-fit"
    LEAST_ALLOCATED = "least-allocated"


@dataclass(frozen=True, slots=True)
class Binding:
    pod: str
    node: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The pod fits on no Node."""

    pod: str
    text: str


@dataclass(frozen=True, slots=True)
class Placements:
    bindings: tuple[Binding, ...]
    unschedulable: tuple[Judgement, ...]


def schedule(
    occupancy: Occupancy, pods: Iterable[PodView], policy: Policy = Policy.LEAST_ALLOCATED
) -> Placements:
    """One pass over these waiting pods; the occupancy itself is not changed.

    A scheduler binds to every usable, uncordoned Node, also to one with an instruction that has not
    been acted on.
    """
    names = open_nodes(occupancy)
    scoring = _Scoring(TrialPlacements(occupancy.rooms, names), occupancy.nodes, policy)
    bindings: list[Binding] = []
    refused: list[Judgement] = []
    known: dict[object, _Candidates] = {}
    for pod in sorted(pods, key=lambda each: -each.priority):
        alike = (pod.requests, pod.requirements, pod.groups, pod.apart, pod.near)
        candidates = known.get(alike)
        # Whom a pod must be near to may come within the pass.
        if candidates is None or pod.near:
            candidates = known[alike] = _Candidates(scoring, names, pod)
        name = candidates.best(pod)
        if name is None:
            refused.append(Judgement(pod.uid, candidates.verdict(pod)))
        else:
            scoring.trial.take(pod, name)
            bindings.append(Binding(pod.uid, name))
    return Placements(tuple(bindings), tuple(refused))


def open_nodes(occupancy: Occupancy) -> list[str]:
    """Nodes a scheduler binds to, by name."""
    return sorted(
        name
        for name, node in occupancy.nodes.items()
        if node.machine and node.is_usable and not node.cordoned
    )


class _Scoring:
    def __init__(
        self, trial: TrialPlacements, nodes: Mapping[str, NodeView], policy: Policy
    ) -> None:
        self.trial = trial
        self.nodes = nodes
        self._policy = policy

    def fits(self, pod: PodView, name: str) -> bool:
        trial = self.trial
        return trial.room(name).holds(pod.requests) and trial.why_not(pod, name) is None

    def score(self, name: str) -> float:
        """The lowest is taken, of equal ones the first by name."""
        return 0.0 if self._policy is Policy.FIRST_FIT else -self.trial.room(name).free_share()


class _Candidates:
    """Nodes for pods that are alike, best first."""

    def __init__(self, scoring: _Scoring, names: list[str], pod: PodView) -> None:
        self._scoring = scoring
        self._names = names
        self._heap = [
            (scoring.score(name), at) for at, name in enumerate(names) if scoring.fits(pod, name)
        ]
        heapify(self._heap)
        self._verdict = ""

    def best(self, pod: PodView) -> str | None:
        heap = self._heap
        while heap:
            score, at = heap[0]
            name = self._names[at]
            if not self._scoring.fits(pod, name):
                heappop(heap)
                continue
            now = self._scoring.score(name)
            if now == score:
                return name
            heapreplace(heap, (now, at))
        return None

    def verdict(self, pod: PodView) -> str:
        """The same for all pods that are alike and come after."""
        if not self._verdict:
            self._verdict = _words(self._scoring, pod)
        return self._verdict


def _words(scoring: _Scoring, pod: PodView) -> str:
    """`0/3 nodes are available: 2 Insufficient cpu, 1 node(s) were unschedulable.`"""
    counts = Counter(_why_not(scoring, pod, node) for node in scoring.nodes.values())
    head = f"0/{len(scoring.nodes)} nodes are available"
    told = sorted(f"{count} {why}" for why, count in counts.items())
    return f"{head}: {', '.join(told)}." if told else f"{head}."


def _why_not(scoring: _Scoring, pod: PodView, node: NodeView) -> str:
    if not node.is_usable:
        return "node(s) had untolerated taint {node.kubernetes.io/not-ready: }"
    if node.cordoned:
        return "node(s) were unschedulable"
    room = scoring.trial.room(node.name)
    if not node.machine or any(not r.met_by(room.labels.get(r.key)) for r in pod.requirements):
        return "node(s) didn't match Pod's node affinity/selector"
    for name, amount in pod.requests.amounts:
        if amount > 0 and room.free.get(name, 0) < amount:
            return f"Insufficient {name}"
    if room.pods_left <= 0:
        return "Too many pods"
    return "node(s) didn't match pod affinity/anti-affinity rules"


def place_gang(occupancy: Occupancy, members: Sequence[PodView]) -> tuple[Mapping[str, str], str]:
    """A Node for every member by uid, or nothing and why; members are alike."""
    if not members:
        return {}, ""
    first = members[0]
    key = first.near[0].topology_key
    seats: dict[str, list[str]] = {}
    for name in open_nodes(occupancy):
        value = occupancy.nodes[name].labels.get(key)
        room = occupancy.rooms[name]
        if value is None or room.why_not(first) is not None:
            continue
        room = room.copy()
        domain = seats.setdefault(value, [])
        while len(domain) < len(members) * 2 and room.why_not(first) is None:
            domain.append(name)
            room.take(first)
    fitting = [value for value, names in seats.items() if len(names) >= len(members)]
    if not fitting:
        most = max(map(len, seats.values()), default=0)
        return {}, f"no {key} has room for the {len(members)} pods of the gang; one has {most}"
    tightest = min(fitting, key=lambda value: (len(seats[value]), value))
    return {pod.uid: name for pod, name in zip(members, seats[tightest], strict=False)}, ""
