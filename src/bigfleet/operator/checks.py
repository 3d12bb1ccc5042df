"""The last look before a Node is called empty: at the server itself, not at a cache.

A watch whose line lost its other end looks fresh until its silence is noticed, so a cache may lack
a pod or a Node that has been there for a minute, and show a cordon that is not there any more. What
the server has is taken as left until it is asked again, after a pause: the cache may stay blind for
longer than a pod lives. An answer counts only for what was asked last.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.operator.drain_steps import Check, ServerCheck
from bigfleet.operator.pods_on_nodes import PodOnNode, PodsOnNodes

#: What a Node can be called; a machine's id may be anything.
_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


def names_for_nodes(names: Collection[str]) -> set[str]:
    """Those a Node can have; the server refuses to look for others."""
    return {name for name in names if _NODE_NAME.fullmatch(name)}


@dataclass(slots=True)
class _Asking:
    #: None while no answer is awaited.
    asked: Check | None = None
    next_at: Instant = 0
    #: Why the last answer was none, or not enough.
    trouble: str = ""


@dataclass(slots=True)
class Checks:
    draw: Callable[[], float]
    #: By instruction; of those that were not asked, or whose answer was good, none.
    _asking: dict[str, _Asking] = field(default_factory=dict)
    #: By Node: what the server had to evict when it was last asked; of no Node without any.
    _found: dict[str, list[PodOnNode]] = field(default_factory=dict)

    def ask(self, check: Check, at: Instant) -> Iterator[Check]:
        """Unless this is under way, or one before it was no good just now."""
        asking = self._asking.setdefault(check.instruction_id, _Asking())
        if asking.asked != check and at >= asking.next_at:
            asking.asked = check
            yield check

    def is_asked(self, check: Check) -> bool:
        asking = self._asking.get(check.instruction_id)
        return asking is not None and asking.asked == check

    def on_checked(
        self, check: Check, found: ServerCheck, retry_seconds: float, at: Instant
    ) -> Check | None:
        """The check, if it was asked and found nothing that would have to be waited for."""
        if not self.is_asked(check):
            return None
        left = [p for p in found.pods if p.why_not_evicted is None and p.node in check.nodes]
        for name in check.nodes:
            self.forget_node(name)
        for pod in left:
            self._found.setdefault(pod.node, []).append(pod)
        if not (left or found.nodes or found.uncordoned):
            del self._asking[check.instruction_id]
            return check
        text = f"the server has {_unheard_of(found, left)}, and the cache did not know"
        self._again(check, text, retry_seconds, at)
        return None

    def on_failed(self, check: Check, text: str, retry_seconds: float, at: Instant) -> None:
        if self.is_asked(check):
            self._again(check, f"the server could not be asked: {text}", retry_seconds, at)

    def found_on(self, node: str, cached: PodsOnNodes) -> list[PodOnNode]:
        """Pods to be moved that the cache has not heard of; of those it has, it knows more."""
        found = self._found.get(node)
        if not found:
            return []
        known = {pod.uid for pod in cached.all_on(node).values()}
        return [pod for pod in found if pod.uid not in known]

    def why_not_done(self, instruction_id: str) -> str:
        """Empty: nothing was asked."""
        asking = self._asking.get(instruction_id)
        if asking is None:
            return ""
        return asking.trouble or "the server has not answered whether any pod is left"

    def forget(self, instruction_id: str, nodes: Collection[str]) -> None:
        self._asking.pop(instruction_id, None)
        for name in nodes:
            self.forget_node(name)

    def forget_node(self, name: str) -> None:
        self._found.pop(name, None)

    def on_disconnected(self) -> None:
        """Calls under way were cancelled; their answers never come."""
        self._asking.clear()
        self._found.clear()

    def due(self) -> Iterator[Instant]:
        return (a.next_at for a in self._asking.values() if a.asked is None)

    def _again(self, check: Check, trouble: str, seconds: float, at: Instant) -> None:
        pause = round(seconds * (0.75 + 0.5 * self.draw()) * SECOND)
        self._asking[check.instruction_id] = _Asking(None, at + pause, trouble)


def _unheard_of(found: ServerCheck, left: Collection[PodOnNode]) -> str:
    if found.nodes:
        return " and ".join(found.nodes)
    if left:
        return "pods on " + " and ".join(sorted({pod.node for pod in left}))
    return " and ".join(node.metadata.name for node in found.uncordoned) + " uncordoned"
