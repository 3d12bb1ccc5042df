"""Which pods are asked to leave, and when one that may not is asked again.

A pod is known by its UID: one of the same name that came after it is another pod. An eviction that
was taken is asked again only if the pod, long after, still shows no sign of ending.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from bigfleet.edge.counts import Counts
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.operator.blocked_drains import Obstacle, obstacle_of
from bigfleet.operator.drain_steps import Evict
from bigfleet.operator.pods_on_nodes import PodOnNode

#: Far above the lag of a watch.
TAKEN_SECONDS = 30.0


@dataclass(slots=True)
class _Attempt:
    #: None while an answer is awaited.
    next_at: Instant | None = None


class Evictions:
    def __init__(self, draw: Callable[[], float], counts: Counts) -> None:
        self._draw = draw
        self._counts = counts
        #: By Node, then by the pod's UID; of no Node without one.
        self._attempts: dict[str, dict[str, _Attempt]] = {}
        #: By the pod's UID: what its last attempt met.
        self.obstacles: dict[str, Obstacle] = {}

    def ask(self, instruction_id: str, pods: Collection[PodOnNode], at: Instant) -> Iterator[Evict]:
        for pod in self.due_of(pods, at):
            self._attempts.setdefault(pod.node, {})[pod.uid] = _Attempt()
            yield Evict(instruction_id, pod)

    def due_of(self, pods: Collection[PodOnNode], at: Instant) -> list[PodOnNode]:
        """Those that are not asked already, nor were refused just now."""
        return [pod for pod in pods if not pod.is_deleting and self._is_due(pod, at)]

    def only(self, nodes: Collection[str], left: Collection[PodOnNode]) -> None:
        """`left` are all pods to be moved from `nodes`; others of those nodes are forgotten."""
        self._prune(nodes, {pod.uid for pod in left})

    def on_evicted(self, pod: PodOnNode, at: Instant) -> None:
        self.obstacles.pop(pod.uid, None)
        self._again(pod, TAKEN_SECONDS, at)

    def on_blocked(self, pod: PodOnNode, text: str, retry_seconds: float, at: Instant) -> None:
        obstacle = obstacle_of(text)
        if obstacle.budgets:
            self._counts.add("eviction_blocked_total", budget_namespace=pod.key.namespace)
        self._met(pod, obstacle, retry_seconds, at)

    def on_failed(self, pod: PodOnNode, text: str, retry_seconds: float, at: Instant) -> None:
        self._met(pod, Obstacle(text), retry_seconds, at)

    def on_disconnected(self) -> None:
        """Calls under way were cancelled; their answers never come."""
        self._attempts.clear()
        self.obstacles.clear()

    def forget(self, nodes: Collection[str]) -> None:
        self._prune(nodes, frozenset())

    def due(self) -> Iterator[Instant]:
        for attempts in self._attempts.values():
            yield from (a.next_at for a in attempts.values() if a.next_at is not None)

    def _is_due(self, pod: PodOnNode, at: Instant) -> bool:
        known = self._attempt(pod)
        return known is None or (known.next_at is not None and at >= known.next_at)

    def _met(self, pod: PodOnNode, obstacle: Obstacle, seconds: float, at: Instant) -> None:
        if self._attempt(pod) is not None:
            self.obstacles[pod.uid] = obstacle
        self._again(pod, seconds * (0.75 + 0.5 * self._draw()), at)

    def _again(self, pod: PodOnNode, seconds: float, at: Instant) -> None:
        if (attempt := self._attempt(pod)) is not None:
            attempt.next_at = at + round(seconds * SECOND)

    def _attempt(self, pod: PodOnNode) -> _Attempt | None:
        return self._attempts.get(pod.node, {}).get(pod.uid)

    def _prune(self, nodes: Collection[str], but: Collection[str]) -> None:
        for node in nodes:
            attempts = self._attempts.get(node, {})
            for uid in [uid for uid in attempts if uid not in but]:
                del attempts[uid]
                self.obstacles.pop(uid, None)
            if not attempts:
                self._attempts.pop(node, None)
