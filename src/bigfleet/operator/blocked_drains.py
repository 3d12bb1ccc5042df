"""Why a node could not be emptied, in words: which budgets held which pods.

The API server answers a blocked eviction with 429, and only its text names the budget. A 429
without one means that the server is asked too fast, and is not about a budget.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bigfleet.operator.pods_on_nodes import PodOnNode

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
