"""The time one replica leads over etcd: a lease kept alive, and its end however it comes.

Once it may have run out it is over, also where etcd would still grant more: callers have been told
meanwhile that this replica does not lead.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from bigfleet.edge.clock import SECOND, Clock, Timer
from bigfleet.model.machines import Instant
from bigfleet.wire.etcd.client import EtcdClient
from bigfleet.wire.etcd.records import EtcdDown, EtcdRefused, Read

#: Of the TTL: three keep-alives may be lost before the lease is.
_RENEWED_AFTER = 0.3
#: Of the TTL: between a keep-alive that is due and the end there is time to ask three endpoints.
_TRY = 0.2


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """How long the holder of a lease may act on it, by its own clock alone.

    Law: never longer than etcd keeps the lease. etcd counts from when it heard a keep-alive, and
    that is not before it was sent; so the holder counts from the sending of the last one that was
    answered.
    """

    #: When the last keep-alive that was answered had been sent, or the lease asked for.
    sent_at: Instant
    ttl_seconds: float

    @property
    def ends_at(self) -> Instant:
        return self.sent_at + round(self.ttl_seconds * SECOND)

    @property
    def try_seconds(self) -> float:
        """What one endpoint gets to answer."""
        return self.ttl_seconds * _TRY

    def runs(self, now: Instant) -> bool:
        return now < self.ends_at

    def seconds_left(self, now: Instant) -> float:
        return max(0.0, (self.ends_at - now) / SECOND)

    def seconds_to_renewal(self, now: Instant) -> float:
        """0: it is due."""
        due = self.sent_at + round(self.ttl_seconds * _RENEWED_AFTER * SECOND)
        return max(0.0, (due - now) / SECOND)


#: Between two rounds of endpoints that all fail at once.
_PAUSE_SECONDS = 0.1


class EtcdLeadership:
    def __init__(
        self,
        client: EtcdClient,
        clock: Clock,
        key: bytes,
        lease: int,
        created: int,
        tenure: LeaseTimes,
        told: Callable[[str], None],
    ) -> None:
        """Keeps the lease from now on; `told` hears why it cannot be, or (empty) that it can."""
        self._client = client
        self._clock = clock
        self._key = key
        self.lease = lease
        #: Revision of the key's creation: what makes this reign another than every other.
        self.created = created
        #: Revision of the key's last writing; None: a commit was sent and it is unknown whether it
        #: happened, or may yet.
        self.fence: int | None = created
        #: Done with why, when it is over.
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._told = told
        self._why_not_kept = ""
        self._tenure = tenure
        self._timer = self._alarm()
        self._task = asyncio.create_task(self._keep())

    def is_held(self) -> bool:
        """Safe to call from any thread."""
        return not self.over.done() and self._tenure.runs(self._clock.now())

    def why_lost(self) -> str | None:
        """None: it is held. What has run out is over when this has been asked."""
        if not self.over.done() and not self._tenure.runs(self._clock.now()):
            self._lapse()
        return self.over.result() if self.over.done() else None

    def end(self, why: str) -> None:
        """The first reason counts."""
        if self.over.done():
            return
        self.over.set_result(why)
        self._timer.cancel()
        if asyncio.current_task() is not self._task:
            self._task.cancel()

    async def ended(self) -> None:
        """Nothing of it runs any more; it must be over."""
        with suppress(asyncio.CancelledError):
            await self._task

    async def _keep(self) -> None:
        while self.is_held():
            await self._clock.sleep(self._tenure.seconds_to_renewal(self._clock.now()))
            try:
                await self._renew()
                self._why_not_kept = ""
            except (EtcdDown, EtcdRefused) as problem:
                self._why_not_kept = str(problem)
                await self._clock.sleep(_PAUSE_SECONDS)
            self._told(self._why_not_kept)

    async def _renew(self) -> None:
        sent_at = self._clock.now()
        ttl_seconds = await self._client.keep_alive(self.lease, self._tenure.try_seconds)
        if ttl_seconds <= 0:
            self.end("its lease was gone when it was to be renewed")
        elif self.is_held():
            self._tenure = LeaseTimes(sent_at, ttl_seconds)
            self._timer.cancel()
            self._timer = self._alarm()
            await self._check()

    async def _check(self) -> None:
        """The lease is there; a person may have deleted the key by hand."""
        rows = (await self._client.read(Read(self._key))).rows
        if not rows or rows[0].created != self.created:
            self.end("its key in etcd was deleted")

    def _alarm(self) -> Timer:
        left = self._tenure.seconds_left(self._clock.now())
        # A clock may wake us a little early.
        return self._clock.call_later(left, self._on_alarm)

    def _on_alarm(self) -> None:
        if self.why_lost() is None:
            self._timer = self._alarm()

    def _lapse(self) -> None:
        why = f": {self._why_not_kept}" if self._why_not_kept else ""
        self.end(f"its lease could not be kept for {self._tenure.ttl_seconds:g} seconds{why}")
