"""The way out of FAILED, which only the provider itself has.

After a hold it is found out what became of the host: gone, and the machine is a slot again; there
and clean, and it is Idle; still bound, and it is drained first. Three tries with a doubling hold,
then an operator is waited for.
"""

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.logs import Log
from bigfleet.model.machines import Instant, MachineState
from bigfleet.provider.backend import (
    BOUND,
    GONE,
    UNKNOWN,
    Condition,
    Host,
    HostStatus,
    Operation,
)
from bigfleet.provider.calls import BackendCalls
from bigfleet.provider.committer import Committer
from bigfleet.provider.ledger.entries import (
    Entry,
    heal_tried,
    next_generation,
    recovered_as_idle,
    recovered_as_slot,
    renamed,
)
from bigfleet.provider.ledger.transitions import Kind, reason_of
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.operations.attempts import done_by
from bigfleet.provider.operations.limits import LimitedContext, Limits
from bigfleet.provider.options import FailedExit, ProviderOptions
from bigfleet.provider.own_changes import Changes
from bigfleet.provider.reconciling.reconciler import Reconciler

T = TypeVar("T")

TRIES = 3


class Healer:
    def __init__(
        self,
        calls: BackendCalls,
        committer: Committer,
        changes: Changes,
        reconciler: Reconciler,
        limits: Limits,
        clock: Clock,
        options: ProviderOptions,
        metrics: ProviderMetrics,
        log: Log,
    ) -> None:
        self._calls = calls
        self._committer = committer
        self._changes = changes
        self._reconciler = reconciler
        self._limits = limits
        self._clock = clock
        self._options = options
        self._metrics = metrics
        self._log = log
        self._due: list[tuple[Instant, str]] = []
        self._sooner = asyncio.Event()
        self._trying: set[str] = set()
        for entry in committer.published.entries():
            self.consider(entry)
        committer.add_listener(self)

    def consider(self, entry: Entry) -> None:
        """Told of every published entry; plans a try for those that failed."""
        if entry.state is MachineState.FAILED and entry.standing.heals < TRIES:
            tried = entry.standing.heals > 0
            self._plan(entry, self._clock.now() if tried else entry.standing.failed_at)

    def _plan(self, entry: Entry, since: Instant) -> None:
        hold = self._options.timing.hold(reason_of(entry.record.last_error))
        due = since + round(hold * 2.0**entry.standing.heals * SECOND)
        heapq.heappush(self._due, (due, entry.id))
        self._sooner.set()

    async def run(self) -> None:
        """For ever; tries run side by side."""
        async with asyncio.TaskGroup() as tries:
            while True:
                self._sooner.clear()
                while self._due and self._due[0][0] <= self._clock.now():
                    _, machine_id = heapq.heappop(self._due)
                    tries.create_task(self._try(machine_id))
                await self._wait()

    async def _wait(self) -> None:
        timer = None
        if self._due:
            seconds = (self._due[0][0] - self._clock.now()) / SECOND
            timer = self._clock.call_later(seconds, self._sooner.set)
        try:
            await self._sooner.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _try(self, machine_id: str) -> None:
        if machine_id in self._trying:
            return
        self._trying.add(machine_id)
        try:
            await self.heal(machine_id)
        except Exception as error:  # noqa: BLE001 - one machine's trouble must not end the healer
            self._log.warning("heal.failed", machine=machine_id, text=str(error))
            entry = self._failed(machine_id)
            if entry is not None and entry.standing.heals < TRIES:
                self._plan(entry, self._clock.now())
        finally:
            self._trying.discard(machine_id)

    def _failed(self, machine_id: str) -> Entry | None:
        entry = self._committer.published.entry(machine_id)
        return entry if entry is not None and entry.state is MachineState.FAILED else None

    async def heal(self, machine_id: str) -> str:
        """One try; says what the machine is afterwards: `slot`, `idle`, `retired`, `failed`."""
        entry = self._failed(machine_id)
        if entry is None:
            return ""
        status = await self._status(entry)
        if status.host is None and entry.record.host is None and status is not GONE:
            status = UNKNOWN  # a host without a name cannot be shown as Idle
        match status.condition:
            case Condition.GONE:
                return await self._host_gone(entry)
            case Condition.UNKNOWN:
                self._plan(entry, self._clock.now())
                return "failed"
            case Condition.RUNNING | Condition.BOUND:
                return await self._clean(entry, status)

    async def _clean(self, entry: Entry, status: HostStatus) -> str:
        # Counted before it is tried: a try that kills the process is a try.
        await self._changes.change(entry.id, lambda e: heal_tried(e) if _same(e, entry) else e)
        tried = self._failed(entry.id)
        if tried is None:
            return ""
        if status.condition is Condition.BOUND:
            await self._drain(tried)
        if self._calls.can_reset:
            work = self._calls.reset(tried.substrate_record)
            await self._bounded(work, self._options.timing.drain)
        provider = self._options.provider
        return await self._leave(
            tried, lambda e: recovered_as_idle(e, status.host, provider), "idle"
        )

    async def _drain(self, entry: Entry) -> None:
        machine = entry.substrate_record
        seconds = self._options.timing.drain
        op = Operation(
            Kind.DRAIN,
            machine,
            self._committer.mint(),
            attempt=1,
            deadline=self._clock.now() + round(seconds * SECOND),
            cluster_id=machine.cluster,
            context=LimitedContext(self._limits),
        )
        await self._bounded(self._calls.drain(op), seconds)

    async def _host_gone(self, entry: Entry) -> str:
        if entry.record.host is not None and not self._calls.can_delete:
            if await self._changes.retire(entry.id, MachineState.FAILED):
                self._healed(entry.id, "retired")
            return "retired"
        return await self._leave(entry, recovered_as_slot, "slot")

    async def _leave(self, entry: Entry, recover: Callable[[Entry], Entry], to: str) -> str:
        if self._options.failed_exit is FailedExit.NEW_ID:
            successor = renamed(
                recover(entry), next_generation(entry.id), self._committer.take_slot()
            )
            left = await self._changes.retire(entry.id, MachineState.FAILED, successor)
        else:
            left = await self._changes.change(
                entry.id, lambda e: recover(e) if _same(e, entry) else e
            )
        if left:
            self._healed(entry.id, to)
        return to

    async def adopt(self, machine_id: str) -> bool:
        """An operator trusts the host: Idle."""
        entry = self._failed(machine_id)
        if entry is None or entry.record.host is None:
            return False
        provider = self._options.provider
        await self._leave(entry, lambda e: recovered_as_idle(e, None, provider), "idle")
        return True

    async def forget(self, machine_id: str) -> bool:
        """An operator gives the host up: a slot."""
        entry = self._failed(machine_id)
        if entry is None:
            return False
        self._log.warning("host.abandoned", machine=machine_id, host=str(entry.record.host))
        await self._leave(entry, recovered_as_slot, "slot")
        return True

    def _healed(self, machine_id: str, to: str) -> None:
        self._metrics.counts.add("healed_total", to=to)
        self._log.info("machine.healed", machine=machine_id, to=to)

    async def _status(self, entry: Entry) -> HostStatus:
        if not self._calls.can_inspect:
            return await self._status_described(entry)
        inspection = self._calls.inspect(entry.substrate_record)
        return await self._bounded(inspection, self._options.timing.describe)

    async def _status_described(self, entry: Entry) -> HostStatus:
        """Without `inspect`: what a describe made after the failure shows."""
        described = await self._reconciler.described_after(entry.standing.failed_at)
        if described is None:
            return UNKNOWN
        instance = described.instances.get(entry.substrate_id)
        host: Host | None = instance.host if instance is not None else None
        if host is None:
            return GONE if described.complete else UNKNOWN
        return BOUND if entry.record.cluster else HostStatus.running(host)

    async def _bounded(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        return await done_by(self._clock, self._clock.now() + round(seconds * SECOND), work)


def _same(entry: Entry, failure: Entry) -> bool:
    """Whether this is still that failure, and not another or an operator's doing."""
    return (
        entry.state is MachineState.FAILED
        and entry.standing.failed_at == failure.standing.failed_at
    )
