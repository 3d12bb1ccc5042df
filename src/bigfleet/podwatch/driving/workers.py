"""Workers at a queue: each takes one object at a time and looks at it; failures come again.

Only the replica that writes has work: offers are dropped while `allowed` is false, and `begin`
offers everything once it is true.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

from bigfleet.edge.clock import SECOND, Clock, next_turn
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem, Refused
from bigfleet.kube.api import NOT_LEADING
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant
from bigfleet.podwatch.work_queue import PASSING, REFUSED, WorkQueue

K = TypeVar("K", bound=str)

#: Enough to keep the paced line to the API server busy.
WORKERS = 16


class NotLeading(Exception):
    """The lease was lost while an object was looked at; its new holder does the work."""


class Workers(Generic[K]):
    def __init__(
        self,
        name: str,
        look: Callable[[K], Awaitable[None]],
        everything: Callable[[], Iterable[K]],
        clock: Clock,
        draw: Callable[[], float],
        log: Log,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._name = name
        self._look = look
        self._everything = everything
        self._clock = clock
        self._log = log
        self._failed = failed
        self._queue: WorkQueue[K] = WorkQueue(draw)
        self._wake = asyncio.Event()
        self._allowed = False

    def __len__(self) -> int:
        return len(self._queue)

    def begin(self) -> None:
        self._allowed = True
        self._offer_everything()

    def end(self) -> None:
        self._allowed = False
        self._queue.clear()

    def offer(self, key: K) -> None:
        if self._allowed:
            self._queue.offer(key)
            self._wake.set()

    def offer_at(self, key: K, at: Instant) -> None:
        if self._allowed:
            self._queue.offer_at(key, at)
            self._wake.set()

    def offer_everything(self) -> None:
        if self._allowed:
            self._offer_everything()

    async def run(self, workers: int = WORKERS) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = self._queue.take(self._clock.now())
            if key is None:
                await self._pause()
                continue
            await self._look_at(key)
            # Most looks find nothing to do and never wait.
            await next_turn()

    async def _look_at(self, key: K) -> None:
        try:
            await self._look(key)
        except NotLeading:
            self._queue.done(key)
        except ApiProblem as problem:
            if problem.reason == NOT_LEADING:
                self._queue.done(key)
                return
            # Of a thousand that fail alike one line tells.
            subject = f"{self._name} {problem.status} {problem.reason}"
            waits = REFUSED if isinstance(problem, Refused) else PASSING
            self._again(key, str(problem), subject, waits)
        except Exception as problem:  # noqa: BLE001 - a fault with one object must not stop the others
            self._again(key, repr(problem), key, PASSING)
        else:
            self._queue.done(key)

    def _again(self, key: K, why: str, subject: str, waits: Backoff) -> None:
        self._failed()
        wait = self._queue.failed(key, self._clock.now(), waits)
        text = f"{self._name} {key}: {why}; tried again in {wait:.1f} s"
        self._log.warning("podwatch.failed", msg=text, subject=subject)

    async def _pause(self) -> None:
        """Until something is offered, or something that waits has its time."""
        if self._queue.missed:
            self._queue.missed = False
            self._offer_everything()
            return
        self._wake.clear()
        due = self._queue.next_due()
        if due is None:
            await self._wake.wait()
            return
        seconds = max(0.0, (due - self._clock.now()) / SECOND)
        timer = self._clock.call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _offer_everything(self) -> None:
        for key in list(self._everything()):
            self._queue.offer(key)
        self._wake.set()
