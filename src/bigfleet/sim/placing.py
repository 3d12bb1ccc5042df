"""The scheduler model: which pods go to which Ready nodes, first fit decreasing.

Pods of higher priority come first, then larger ones; nodes are taken in the order of their names.
A gang starts whole, in one domain of its topology key, or waits. Pods are never moved and never
thrown out for others: that is BigFleet's business between clusters and nobody's within one here.
"""

from collections.abc import Iterable, Sequence

from bigfleet.model.requirements import Requirement
from bigfleet.sim.nodes import Node
from bigfleet.sim.workloads import Workload


def place(pending: Iterable[tuple[Workload, int]], nodes: Iterable[Node]) -> dict[str, int]:
    """Puts as many pending pods as fit; how many were placed, by workload."""
    waiting = sorted(pending, key=_decreasing)
    open_nodes = sorted((n for n in nodes if n.schedulable and n.has_room), key=lambda n: n.name)
    placed: dict[str, int] = {}
    for workload, pods in waiting:
        if workload.profile.same is not None:
            count = _place_gang(workload, workload.profile.same, pods, open_nodes)
        else:
            count = _place_each(workload, pods, open_nodes)
        if count:
            placed[workload.name] = count
            open_nodes = [node for node in open_nodes if node.has_room]
    return placed


def _decreasing(pending: tuple[Workload, int]) -> tuple[int, tuple[int, ...], str]:
    workload, _ = pending
    sizes = tuple(-amount for _, amount in workload.request.amounts)
    return (-workload.profile.priority, sizes, workload.name)


def _place_each(workload: Workload, pods: int, nodes: Sequence[Node]) -> int:
    left = pods
    for node in nodes:
        if not left:
            break
        room = min(left, node.room_for(workload.request))
        if room and node.matches(workload.profile):
            node.take(workload.name, workload.request, room)
            left -= room
    return pods - left


def _place_gang(workload: Workload, same: Requirement, pods: int, nodes: Sequence[Node]) -> int:
    """Whole, into the tightest domain that holds it."""
    domains: dict[str, list[Node]] = {}
    rooms: dict[str, int] = {}
    for node in nodes:
        room = node.room_for(workload.request)
        if room and node.matches(workload.profile):
            value = node.labels[same.key]
            domains.setdefault(value, []).append(node)
            rooms[value] = rooms.get(value, 0) + room
    fitting = [value for value, room in rooms.items() if room >= pods]
    if not fitting:
        return 0
    tightest = min(fitting, key=lambda value: (rooms[value], value))
    return _place_each(workload, pods, domains[tightest])
