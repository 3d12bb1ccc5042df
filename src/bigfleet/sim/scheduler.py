"""A small scheduler: binds waiting pods to usable Nodes, pod by pod, as kube-scheduler does.

Pods of higher priority come first, then those that have waited longer, as given. Among the Nodes a
pod fits on, the policy decides: the first by name, or the one with the most left (kube-scheduler's
default). A pod that fits nowhere is judged unschedulable and waits. Nothing is preempted or moved;
gangs are pods like others, near to each other where they say so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.packing import Trial
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
    names = sorted(n for n, node in occupancy.nodes.items() if _is_open(node))
    trial = Trial(occupancy.rooms, names)
    bindings: list[Binding] = []
    refused: list[Judgement] = []
    hopeless: set[object] = set()
    for pod in sorted(pods, key=lambda each: -each.priority):
        alike = (pod.requests, pod.requirements, pod.groups, pod.apart, pod.near)
        name = None if alike in hopeless else _chosen(trial, pod, names, occupancy, policy)
        if name is None:
            # Room only shrinks within a pass; a pod that others must be near to may change it.
            if not pod.near:
                hopeless.add(alike)
            refused.append(Judgement(pod.uid, _words(pod, names)))
        else:
            trial.take(pod, name)
            bindings.append(Binding(pod.uid, name))
    return Placements(tuple(bindings), tuple(refused))


def _is_open(node: NodeView) -> bool:
    return bool(node.machine) and node.is_usable and not node.cordoned


def _chosen(
    trial: Trial, pod: PodView, names: list[str], occupancy: Occupancy, policy: Policy
) -> str | None:
    best, most = None, -1.0
    for name in names:
        if not trial.room(name).holds(pod.requests) or trial.why_not(pod, name) is not None:
            continue
        if policy is Policy.FIRST_FIT:
            return name
        free = _free_share(trial, name, occupancy.nodes[name])
        if free > most:
            best, most = name, free
    return best


def _free_share(trial: Trial, name: str, node: NodeView) -> float:
    """The mean over cpu and memory of what is free, as the default score reckons."""
    free = trial.room(name).free
    shares = [
        free.get(dimension, 0) / whole
        for dimension, whole in node.allocatable.amounts
        if whole > 0 and dimension in ("cpu", "memory")
    ]
    return sum(shares) / len(shares) if shares else 0.0


def _words(pod: PodView, names: list[str]) -> str:
    return f"0/{len(names)} nodes are available for {pod.key}"
