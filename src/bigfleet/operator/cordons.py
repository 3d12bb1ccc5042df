"""Writes that cordon and uncordon Nodes: one at a time per Node, tried again until it is so.

What a Node should be, `drains` says; here lies only what is under way and what failed. A Node that
is as it should be is not written.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bigfleet.kube.names import RECLAIM
from bigfleet.kube.objects import Node
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.operator.drain_steps import Cordon, Uncordon, is_cordoned_by_us, is_marked

#: From the first failure; doubled by each, as long as a grace of ten minutes has room for.
PAUSES = Backoff(1.0, 15.0)


@dataclass(slots=True)
class _Failure:
    until: Instant
    times: int
    text: str


class Cordons:
    def __init__(self, draw: Callable[[], float]) -> None:
        self._draw = draw
        #: Names of Nodes whose write has no answer yet.
        self._writing: set[str] = set()
        self._failures: dict[str, _Failure] = {}

    def cordon(self, node: Node, mark: str, at: Instant) -> Iterator[Cordon]:
        """`mark` empty: any mark of ours will do."""
        name, found = node.metadata.name, node.metadata.annotations.get(RECLAIM)
        if is_cordoned_by_us(node) and mark in ("", found):
            self._failures.pop(name, None)
        elif self._may_write(name, at):
            self._writing.add(name)
            yield Cordon(node, mark or found or "draining")

    def uncordon(self, node: Node, at: Instant) -> Iterator[Uncordon]:
        name = node.metadata.name
        if not is_marked(node):
            self._failures.pop(name, None)
        elif self._may_write(name, at):
            self._writing.add(name)
            yield Uncordon(node)

    def on_written(self, name: str) -> None:
        self._writing.discard(name)
        self._failures.pop(name, None)

    def on_failed(self, name: str, text: str, at: Instant) -> None:
        self._writing.discard(name)
        times = self._failures[name].times + 1 if name in self._failures else 1
        until = at + round(PAUSES.seconds(times) * (0.5 + self._draw()) * SECOND)
        self._failures[name] = _Failure(until, times, text)

    def on_disconnected(self) -> None:
        """Calls under way were cancelled; their answers never come."""
        self._writing.clear()
        self._failures.clear()

    def forget(self, name: str) -> None:
        """The Node is gone."""
        self._failures.pop(name, None)

    def why_not_written(self, name: str) -> str:
        """What the last attempt met; empty: none has failed since the last success."""
        return self._failures[name].text if name in self._failures else ""

    def due(self) -> Iterator[tuple[Instant, str]]:
        """When which Node may be tried again."""
        return ((f.until, n) for n, f in self._failures.items() if n not in self._writing)

    def _may_write(self, name: str, at: Instant) -> bool:
        if name in self._writing:
            return False
        return name not in self._failures or at >= self._failures[name].until
