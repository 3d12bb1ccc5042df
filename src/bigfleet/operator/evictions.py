"""Which pods are asked to leave, and when one that may not is asked again.

A pod is known by its UID: one of the same name that came after it is another pod. An eviction that
was taken is asked again only if the pod, long after, still shows no sign of ending.

PodDisruptionBudgets: which pods each covers, and how many it lets go now.

The server refuses what a budget forbids in any case. Here it is only read, so that no Node is
cordoned whose pods may not go.

Why a node could not be emptied, in words: which budgets held which pods.

The API server answers a blocked eviction with 429, and only its text names the budget. A 429
without one means that the server is asked too fast, and is not about a budget.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bigfleet.edge.counts import Counts
from bigfleet.kube.objects import LabelSelector, ObjectKey, PodDisruptionBudget, selects
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.operator.drain_steps import Evict
from bigfleet.operator.pods_on_nodes import PodOnNode, PodsOnNodes
from bigfleet.placement.admission import Budget
from bigfleet.placement.records import PodView


@dataclass(frozen=True, slots=True)
class HeldBudget:
    """What is kept of one."""

    selector: LabelSelector | None
    allowed: int


def held_budget(budget: PodDisruptionBudget) -> HeldBudget:
    return HeldBudget(budget.spec.selector, budget.status.disruptions_allowed)


class DisruptionBudgets:
    def __init__(self, pods: PodsOnNodes) -> None:
        self._pods = pods
        #: By namespace, then by name; of no namespace without one.
        self._in_namespace: dict[str, dict[str, HeldBudget]] = {}

    def put(self, key: ObjectKey, budget: HeldBudget) -> None:
        self._in_namespace.setdefault(key.namespace, {})[key.name] = budget

    def remove(self, key: ObjectKey) -> None:
        names = self._in_namespace.get(key.namespace, {})
        names.pop(key.name, None)
        if not names:
            self._in_namespace.pop(key.namespace, None)

    def budget_of(self, pod: PodView) -> Budget | None:
        """The tightest budget over this pod; None: it has none, or is not known."""
        namespace, _, name = pod.key.partition("/")
        budgets = self._in_namespace.get(namespace)
        known = self._pods.get(ObjectKey(namespace, name)) if budgets else None
        if not budgets or known is None:
            return None
        covering = [
            Budget(f"{namespace}/{name}", each.allowed)
            for name, each in sorted(budgets.items())
            if each.selector is not None and selects(each.selector, known.labels)
        ]
        return min(covering, key=lambda each: each.allowed, default=None)


_BUDGET = re.compile(r"disruption budget ([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?) ([^.]+)")
#: An Event's text may have 1024 bytes.
PODS_NAMED = 5
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What the last attempt to evict a pod met."""

    text: str
    #: Names of budgets in the pod's namespace, with the server's words about each.
    budgets: tuple[tuple[str, str], ...] = ()


def obstacle_of(answer: str) -> Obstacle:
    return Obstacle(answer, tuple((m[1], m[2].strip()) for m in _BUDGET.finditer(answer)))


def text_of_pods(left: Sequence[PodOnNode], met: Mapping[str, Obstacle]) -> str:
    """`met` is by the pod's UID; a pod without an obstacle was asked and has not ended."""
    named = [f"{pod.key} ({_why(pod, met.get(pod.uid))})" for pod in left[:PODS_NAMED]]
    if len(left) > PODS_NAMED:
        named.append(f"and {len(left) - PODS_NAMED} more")
    return shortened(", ".join(named))


def _why(pod: PodOnNode, obstacle: Obstacle | None) -> str:
    if pod.is_deleting:
        return "asked to end, still running"
    if obstacle is None:
        return "not evicted yet"
    if obstacle.budgets:
        space = pod.key.namespace
        held = [f"budget {space}/{name} {words}" for name, words in obstacle.budgets]
        return "held by " + " and ".join(held)
    return obstacle.text


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


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
