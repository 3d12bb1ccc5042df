"""Kubernetes Events: sentences on objects, as `kubectl describe` shows them.

Best effort, and never in the way: telling does not wait, the same sentence is written at most once
in ten minutes, what may not be written now waits, what cannot be written is dropped and counted.
"""

import asyncio
from collections import OrderedDict, deque
from typing import Literal, Protocol

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem
from bigfleet.kube.api import NOT_LEADING
from bigfleet.kube.calls import Calls
from bigfleet.kube.kinds import EVENTS
from bigfleet.kube.objects import Reference
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant

_QUEUE = 1000
_REMEMBERED = 20_000
_AGAIN_AFTER = 600 * SECOND
#: The API takes no longer ones.
_LONGEST_MESSAGE = 1024
_LONGEST_REASON = 128

EventType = Literal["Normal", "Warning"]


class TellsEvents(Protocol):
    def tell(self, about: Reference, kind: EventType, reason: str, message: str) -> None: ...


class Events:
    def __init__(
        self, calls: Calls, clock: Clock, log: Log, *, component: str, instance: str
    ) -> None:
        self._calls = calls
        self._clock = clock
        self._log = log
        self._component = component
        self._instance = instance
        self._waiting: deque[tuple[Reference, dict[str, object]]] = deque()
        self._filled = asyncio.Event()
        #: When each sentence was told, oldest first.
        self._told: OrderedDict[tuple[str, str, str], Instant] = OrderedDict()
        #: Not written, for want of room or because the server would not.
        self.dropped = 0

    def tell(self, about: Reference, kind: EventType, reason: str, message: str) -> None:
        """Never waits."""
        now = self._clock.now()
        key = (about.uid or f"{about.kind}/{about.namespace}/{about.name}", reason, message)
        self._forget(now)
        if key in self._told:
            return
        if len(self._waiting) >= _QUEUE:
            self.dropped += 1
            return
        self._told[key] = now
        self._waiting.append((about, self._body(about, kind, reason, message, now)))
        self._filled.set()

    async def run(self) -> None:
        """Writes what is told, for ever."""
        while True:
            self._filled.clear()
            while self._waiting:
                about, body = self._waiting.popleft()
                if not await self._write(about, body):
                    self._waiting.appendleft((about, body))
                    break
            await self._filled.wait()

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow; all of it is bounded."""
        return {"eventsWaiting": len(self._waiting), "eventsRemembered": len(self._told)}

    def resume(self) -> None:
        """Writes are allowed again."""
        self._filled.set()

    async def _write(self, about: Reference, body: dict[str, object]) -> bool:
        """False: writes are not allowed just now, so it waits."""
        try:
            await self._calls.create(EVENTS, body, about.namespace or "default")
        except ApiProblem as problem:
            if problem.reason == NOT_LEADING:
                return False
            self.dropped += 1
            self._log.warning(
                "event_dropped", about=about.name, reason=body["reason"], why=problem.text
            )
        return True

    def _forget(self, now: Instant) -> None:
        while self._told:
            key, at = next(iter(self._told.items()))
            if now - at < _AGAIN_AFTER and len(self._told) < _REMEMBERED:
                return
            del self._told[key]

    def _body(
        self, about: Reference, kind: EventType, reason: str, message: str, now: Instant
    ) -> dict[str, object]:
        # The API's short form: whole seconds.
        at = instant_text(now // SECOND * SECOND)
        words = {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "name": about.name,
            "namespace": about.namespace,
            "uid": about.uid,
        }
        cut = len(message) > _LONGEST_MESSAGE
        return {
            "metadata": {"generateName": f"{about.name}."},
            "involvedObject": {word: text for word, text in words.items() if text},
            "type": kind,
            "reason": reason[:_LONGEST_REASON],
            "message": f"{message[: _LONGEST_MESSAGE - 3]}..." if cut else message,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }
