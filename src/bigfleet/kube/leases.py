"""Who of several replicas acts: the holder of a Lease.

Law: no two hold at once, as long as clocks run at about the same speed; what they show does not
matter. The holder counts from the moment it SENT the last renewal that was confirmed, and stops
`renew_deadline` later by itself, even if an answer comes after that. Others count from the moment
they last SAW the lease change, which is later, and wait `duration`, which is longer. `identity`
must be unlike that of any other process, also of an earlier one of the same name.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from bigfleet.edge.clock import SECOND, Clock, Timer
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem, Conflict, NotFound, Unreachable
from bigfleet.kube.calls import Body, Calls
from bigfleet.kube.kinds import LEASES
from bigfleet.kube.objects import Lease
from bigfleet.model.machines import Instant

R = TypeVar("R")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Election:
    def __init__(
        self,
        calls: Calls,
        clock: Clock,
        draw: Callable[[], float],
        log: Log,
        *,
        name: str,
        namespace: str,
        identity: str,
        duration: float = 15,
        renew_deadline: float = 10,
        retry: float = 2,
    ) -> None:
        if not retry < renew_deadline < duration:
            text = f"retry {retry:g}s, renew deadline {renew_deadline:g}s, duration {duration:g}s"
            raise ValueError(f"lease times must rise in this order, each above the last: {text}")
        self._calls = calls
        self._clock = clock
        self._draw = draw
        self._log = log
        self._name = name
        self._namespace = namespace
        self._identity = identity
        self._duration = duration
        self._renew_deadline = round(renew_deadline * SECOND)
        self._retry = retry
        #: An attempt that takes longer is given up, so that others fit before the deadline.
        self._patience = renew_deadline / 2
        #: A lease of any holder was seen or written.
        self.observed = False
        #: We hold up to here, exclusively; None: we do not.
        self._held_until: Instant | None = None
        self._timer: Timer | None = None
        self._turned = asyncio.Event()
        #: As last read or written; None: read before writing.
        self._lease: Lease | None = None
        self._seen_version = ""
        self._seen_at: Instant = 0

    @property
    def holding(self) -> bool:
        """By the clock, not by a timer: it never outlives the deadline, not even after a pause."""
        return self._held_until is not None and self._clock.now() < self._held_until

    async def wait_held(self) -> None:
        while not self.holding:
            self._turned.clear()
            await self._turned.wait()

    async def wait_lost(self) -> None:
        while self.holding:
            self._turned.clear()
            await self._turned.wait()

    async def run(self) -> None:
        """Until cancelled; then the lease is given back, if it is ours. Stop acting before."""
        try:
            while True:
                await self._attempt()
                await self._clock.sleep(self._retry * (0.8 + 0.4 * self._draw()))
        finally:
            await self._release()

    async def _attempt(self) -> None:
        try:
            try:
                await self._bounded(self._acquire_or_renew())
            except (NotFound, Conflict):
                # Another was faster, or a write of ours arrived whose answer did not: look.
                self._lease = None
                await self._bounded(self._acquire_or_renew())
        except Conflict:
            self._lease = None
        except ApiProblem as problem:
            self._lease = None
            self._log.warning("lease_call_failed", lease=self._name, why=problem.text)

    async def _acquire_or_renew(self) -> None:
        lease = self._lease if self.holding else None
        if lease is None:
            try:
                lease = await self._calls.get(LEASES, self._name, self._namespace)
            except NotFound:
                self._lose("the lease was deleted")
                sent = self._clock.now()
                body = {"metadata": {"name": self._name}, "spec": self._spec(None, sent)}
                self._confirmed(sent, await self._calls.create(LEASES, body, self._namespace))
                return
            self._note(lease)
        if self._is_of_another(lease):
            self._lose(f"{lease.spec.holder_identity} holds the lease")
            if not self._is_abandoned(lease):
                return
        sent = self._clock.now()
        self._confirmed(sent, await self._write(lease, self._spec(lease, sent)))

    async def _write(self, lease: Lease, spec: Body) -> Lease:
        meta = {"name": self._name, "resourceVersion": lease.metadata.resource_version}
        body = {"metadata": meta, "spec": spec}
        return await self._calls.replace(LEASES, self._name, body, self._namespace)

    def _note(self, lease: Lease) -> None:
        self.observed = True
        if lease.metadata.resource_version != self._seen_version:
            self._seen_version = lease.metadata.resource_version
            self._seen_at = self._clock.now()

    def _is_of_another(self, lease: Lease) -> bool:
        return lease.spec.holder_identity not in (None, "", self._identity)

    def _is_abandoned(self, lease: Lease) -> bool:
        seconds = max(self._duration, lease.spec.lease_duration_seconds or 0)
        return self._clock.now() - self._seen_at >= round(seconds * SECOND)

    def _confirmed(self, sent: Instant, lease: Lease) -> None:
        self._note(lease)
        self._lease = lease
        was_holding = self.holding
        self._held_until = sent + self._renew_deadline
        if not self.holding:
            self._lose("the confirmation came too late")
            return
        self._set_timer((self._held_until - self._clock.now()) / SECOND)
        if not was_holding:
            self._log.info("lease_acquired", lease=self._name, identity=self._identity)
        self._turned.set()

    def _set_timer(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_later(seconds, self._expire)

    def _expire(self) -> None:
        if not self.holding:
            self._lose("no renewal was confirmed in time")

    def _lose(self, why: str = "") -> None:
        """Without a reason it was given up, which is nothing to warn of."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held_until is not None:
            self._held_until = None
            if why:
                self._log.warning("lease_lost", lease=self._name, identity=self._identity, why=why)
        self._turned.set()

    async def _release(self) -> None:
        """First we no longer hold, then others are told."""
        was_holding = self.holding
        self._lose()
        if not was_holding:
            return
        try:
            try:
                await self._bounded(self._give_back())
            except Conflict:
                # That renewal came between our reading and our writing.
                await self._bounded(self._give_back())
        except ApiProblem as problem:
            self._log.warning("lease_not_released", lease=self._name, why=problem.text)

    async def _give_back(self) -> None:
        # Read anew: a renewal may have been on its way when we were stopped.
        lease = await self._calls.get(LEASES, self._name, self._namespace)
        if lease.spec.holder_identity == self._identity:
            spec = {**self._spec(lease, self._clock.now()), "holderIdentity": ""}
            await self._write(lease, {**spec, "leaseDurationSeconds": 1})

    def _spec(self, lease: Lease | None, at: Instant) -> dict[str, object]:
        spec = lease.spec if lease is not None else None
        is_ours = spec is not None and spec.holder_identity == self._identity
        transitions = (spec.lease_transitions or 0) if spec is not None else 0
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": round(self._duration),
            "acquireTime": spec.acquire_time if spec and is_ours else micro_time(at),
            "renewTime": micro_time(at),
            "leaseTransitions": transitions if is_ours or spec is None else transitions + 1,
        }

    async def _bounded(self, call: Coroutine[Any, Any, R]) -> R:
        task = asyncio.ensure_future(call)
        late = False

        def give_up() -> None:
            nonlocal late
            late = True
            task.cancel()

        timer = self._clock.call_later(self._patience, give_up)
        try:
            return await task
        except asyncio.CancelledError:
            if not late:
                raise
            text = f"no answer within {self._patience:g}s"
            raise Unreachable(0, "Unreachable", text) from None
        finally:
            timer.cancel()


def micro_time(at: Instant) -> str:
    """As the API has it in leases: always six digits of a second."""
    moment = _EPOCH + timedelta(microseconds=at // 1000)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}Z"
