"""Marks requests Acknowledged in the cluster, several at a time.

A request that is gone needs no mark. One that could not be marked waits for the next roll-up: the
shard knows of it all the same, so nothing is urgent.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem, NotFound
from bigfleet.kube.api import NOT_LEADING
from bigfleet.kube.calls import Body, Calls
from bigfleet.kube.kinds import CAPACITY_REQUESTS
from bigfleet.kube.objects import ObjectKey
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.operator.acknowledgements import Acknowledgements
from bigfleet.operator.rollup import ACKNOWLEDGED


@dataclass(slots=True)
class _Batch:
    """The requests of one acknowledgement."""

    acked_at: Instant
    left: int


class AcknowledgeRequests:
    def __init__(
        self,
        calls: Calls,
        acknowledgements: Acknowledgements,
        clock: Clock,
        log: Log,
        counts: Counts,
        *,
        concurrency: int = 16,
    ) -> None:
        self._calls = calls
        self._acknowledgements = acknowledgements
        self._clock = clock
        self._log = log
        self._counts = counts
        self._concurrency = concurrency
        #: Statuses that were complained of since the last success; all fail of one cause.
        self._complained: set[int] = set()
        self._due: asyncio.Queue[tuple[ObjectKey, _Batch]] = asyncio.Queue()

    def acknowledge(self, keys: Iterable[ObjectKey]) -> None:
        """Never blocks; what `Acknowledgements.on_acked` returned."""
        due = list(keys)
        batch = _Batch(self._clock.now(), len(due))
        for key in due:
            self._due.put_nowait((key, batch))

    async def run(self) -> None:
        """For ever. What is not written when it is cancelled waits for another acknowledgement."""
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(self._concurrency):
                    workers.create_task(self._work())
        finally:
            self.cut_off()

    def cut_off(self) -> None:
        """What has not begun is not written without a session; it is due again in the next one."""
        while not self._due.empty():
            self._acknowledgements.wait_again(self._due.get_nowait()[0])

    async def _work(self) -> None:
        while True:
            key, batch = await self._due.get()
            await self._mark(key, batch.acked_at)
            batch.left -= 1
            if batch.left == 0:
                seconds = (self._clock.now() - batch.acked_at) / SECOND
                self._counts.observe("acknowledge_duration_seconds", seconds)

    async def _mark(self, key: ObjectKey, at: Instant) -> None:
        labels = self._acknowledgements.buckets_of(key)
        if labels is None:
            return
        marked = False
        try:
            await self._calls.merge_patch(
                CAPACITY_REQUESTS,
                key.name,
                _acknowledged(at, *labels),
                key.namespace,
                subresource="status",
            )
            marked = True
            self._complained.clear()
            self._counts.add("acknowledged_total")
        except NotFound:
            marked = True
        except ApiProblem as problem:
            if problem.reason != NOT_LEADING and problem.status not in self._complained:
                self._complained.add(problem.status)
                text = f"{key} could not be marked Acknowledged, and others may share its fate"
                self._log.warning(
                    "acknowledge_failed",
                    msg=f"{text}: {problem.text}",
                    request=str(key),
                    status=problem.status,
                )
        finally:
            if not marked:
                self._acknowledgements.wait_again(key)


def _acknowledged(at: Instant, interruption: str, reclamation: str) -> Body:
    return {
        "status": {
            "phase": ACKNOWLEDGED,
            # Times of the API have whole seconds.
            "acknowledgedAt": instant_text(at // SECOND * SECOND),
            "interruptionPenaltyBucket": interruption,
            "reclamationPenaltyBucket": reclamation,
        }
    }
