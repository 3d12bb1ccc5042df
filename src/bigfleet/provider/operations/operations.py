"""All running operations: started at acceptance, resumed after a restart, settled at their end.

An end is applied only if the machine is still in that very operation; a later end is dropped. The
journal row gets its outcome in the same write as the record. After a restart every operation
without an outcome is taken up or ended.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.logs import Log
from bigfleet.model.provider_calls import ConfigureCall, DrainCall, Mutation
from bigfleet.provider.backend import Condition, HostStatus, Operation
from bigfleet.provider.committer import Committer, WriteSet
from bigfleet.provider.ledger.entries import Entry, completed, failed
from bigfleet.provider.ledger.transitions import Kind, Reason, without_blob
from bigfleet.provider.metrics import WORK, ProviderMetrics
from bigfleet.provider.operations.attempts import Attempts, End, Failed, Succeeded, done_by
from bigfleet.provider.operations.limits import (
    Cooldowns,
    Lane,
    LimitedContext,
    Limits,
    MachineLocks,
)
from bigfleet.provider.options import KeepBlobs, ProviderOptions
from bigfleet.provider.stores.store import JournalRow

_TOO_LATE = "the provider was down when the time was up"


@dataclass(slots=True)
class RunningOperation:
    row: JournalRow
    #: Not in the row where blobs are not persisted.
    blob: bytes = field(repr=False)
    entered: bool
    resumed: bool = False
    task: asyncio.Task[None] | None = None


@dataclass(frozen=True, slots=True)
class RunningContext(LimitedContext):
    """Keeps the notes of a running operation in its journal row."""

    running: RunningOperation
    log: Log

    def note(self, text: str) -> None:
        said = without_blob(text, self.running.blob)[:1024]
        self.running.row = replace(self.running.row, note=said)
        self.log.info("operation.note", operation=self.running.row.operation_id, note=said)


class Operations:
    def __init__(
        self,
        attempts: Attempts,
        committer: Committer,
        locks: MachineLocks,
        limits: Limits,
        clock: Clock,
        options: ProviderOptions,
        metrics: ProviderMetrics,
        log: Log,
    ) -> None:
        self._attempts = attempts
        self._committer = committer
        self._locks = locks
        self._limits = limits
        self._clock = clock
        self._options = options
        self._metrics = metrics
        self._log = log
        self._lanes = {kind: Lane(places, clock) for kind, places in options.places.items()}
        #: All and only the operations without an outcome, by id.
        self._running: dict[str, RunningOperation] = {}
        self.cooldowns = Cooldowns()

    def __len__(self) -> int:
        return len(self._running)

    def live(self, row: JournalRow) -> JournalRow:
        """The row as it stands now: notes of running work are stored only with its end."""
        running = self._running.get(row.operation_id)
        return running.row if running is not None else row

    def prepare(self, kind: Kind, call: Mutation, operation_id: str) -> RunningOperation:
        """The journal row of an operation about to be accepted; takes a free place if any."""
        now, timing = self._clock.now(), self._options.timing
        entered = self._lanes[kind].try_enter()
        grace = call.grace_period_seconds if isinstance(call, DrainCall) else 0
        patience = timing.of_work(kind, grace) if entered else timing.queue
        blob = call.bootstrap_blob if isinstance(call, ConfigureCall) else b""
        kept = blob if self._options.keep_blobs is KeepBlobs.IN_FLIGHT else None
        row = JournalRow(
            operation_id,
            call.machine_id,
            kind,
            call.token.shard_id,
            call.cluster_id if isinstance(call, ConfigureCall) else "",
            grace,
            kept if kind is Kind.CONFIGURE else None,
            accepted_at=now,
            started_at=now if entered else 0,
            deadline=now + round(patience * SECOND),
        )
        return RunningOperation(row, blob, entered)

    def abandon(self, running: RunningOperation) -> None:
        """The acceptance could not be made durable: it never happened."""
        if running.entered:
            self._lanes[running.row.kind].leave()

    def start(self, running: RunningOperation) -> None:
        self._running[running.row.operation_id] = running
        running.task = asyncio.create_task(self._run(running))

    def resume(self, row: JournalRow) -> None:
        """Takes up an operation an earlier life of the process left behind."""
        row = replace(row, attempt=row.attempt + 1)
        self.start(RunningOperation(row, row.blob or b"", entered=False, resumed=True))

    async def _run(self, running: RunningOperation) -> None:
        lane = self._lanes[running.row.kind]
        try:
            if running.resumed and running.row.deadline <= self._clock.now():
                await self._settle(running, Failed(Reason.INTERRUPTED, _TOO_LATE))
                return
            if not running.entered and not await self._enter(running):
                await self._settle(running, Failed(Reason.TIMEOUT, "no place became free in time"))
                return
            try:
                end = await self._worked(running)
            finally:
                lane.leave()
            await self._settle(running, end)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not leave it on its way
            self._log.error("operation.broken", id=running.row.operation_id, text=repr(error))
            await self._settle(running, Failed(Reason.ERROR, f"internal fault: {error!r}"))
        finally:
            self._running.pop(running.row.operation_id, None)

    async def _worked(self, running: RunningOperation) -> End:
        if not running.resumed:
            return await self._attempts.run(self._operation(running))
        row = running.row
        found = await self._inspected(running)
        bound = found is not None and found.condition is Condition.BOUND
        if row.kind is Kind.CONFIGURE and row.blob is None and not bound:
            return Failed(Reason.INTERRUPTED, "the provider restarted and the blob was not kept")
        return await self._attempts.run(self._operation(running), found=found)

    async def _inspected(self, running: RunningOperation) -> HostStatus | None:
        """What has become of the host meanwhile; None: unknown."""
        calls = self._attempts.calls
        if not calls.can_inspect:
            return None
        machine = self._operation(running).machine
        patience = self._clock.now() + round(self._options.timing.describe * SECOND)
        try:
            return await done_by(
                self._clock, min(patience, running.row.deadline), calls.inspect(machine)
            )
        except Exception as error:  # noqa: BLE001 - then the method is simply called again
            self._log.warning("inspect.failed", machine=machine.id, text=str(error))
            return None

    async def _enter(self, running: RunningOperation) -> bool:
        lane, row = self._lanes[running.row.kind], running.row
        self._queue(row.kind, 1)
        try:
            if not await lane.enter((row.deadline - self._clock.now()) / SECOND):
                return False
        finally:
            self._queue(row.kind, -1)
        running.entered = True
        if not row.started_at:
            now = self._clock.now()
            patience = self._options.timing.of_work(row.kind, row.grace_seconds)
            running.row = replace(row, started_at=now, deadline=now + round(patience * SECOND))
        if not row.started_at or running.resumed:
            await self._committer.commit_at_last(lambda: WriteSet(journal=(running.row,)))
        return True

    def _queue(self, kind: Kind, change: int) -> None:
        counts = self._metrics.counts
        counts.set("operation_queue", counts.of("operation_queue", kind=kind) + change, kind=kind)

    def _operation(self, running: RunningOperation) -> Operation:
        row = running.row
        entry = self._committer.published.entry(row.machine_id)
        assert entry is not None, row.machine_id
        return Operation(
            row.kind,
            entry.substrate_record,
            row.operation_id,
            row.attempt,
            row.deadline,
            row.shard_id,
            row.cluster_id,
            running.blob,
            dict(entry.record.shard_metadata),
            row.grace_seconds,
            context=RunningContext(self._limits, running, self._log),
        )

    async def _settle(self, running: RunningOperation, end: End) -> None:
        settled = False

        def write() -> WriteSet | None:
            nonlocal settled
            entry = self._committer.published.entry(running.row.machine_id)
            if entry is None or entry.running_id != running.row.operation_id:
                return None  # settled before: the host was reported gone
            settled = True
            after = self._after(entry, running, end)
            return WriteSet(shown=(after,), journal=(self._finished(running.row, end),))

        async with self._locks.hold(running.row.machine_id):
            await self._committer.commit_at_last(write)
        if settled:
            self._tell(running.row, end)

    def _after(self, entry: Entry, running: RunningOperation, end: End) -> Entry:
        row = running.row
        if isinstance(end, Succeeded):
            return completed(entry, row.kind, self._options.provider, end.created)
        noticed = end.reason is Reason.VANISHED and entry.standing.notice_at
        reason = Reason.SPOT if noticed else end.reason
        if reason in (Reason.STOCKOUT, Reason.QUOTA):
            self._rest(entry, end)
        return failed(entry, reason, end.text, self._clock.now())

    def _rest(self, entry: Entry, end: Failed) -> None:
        seconds = end.rest_seconds
        if seconds is None:
            seconds = self._options.timing.cool_down
        until = self._clock.now() + round(seconds * SECOND)
        self.cooldowns.rest(entry.offering, end.reason, end.text, until)

    def _finished(self, row: JournalRow, end: End) -> JournalRow:
        if isinstance(end, Failed):
            return row.finished("failed", end.reason.value, self._clock.now())
        return row.finished("succeeded", "", self._clock.now())

    def _tell(self, row: JournalRow, end: End) -> None:
        reason = end.reason.value if isinstance(end, Failed) else ""
        outcome = "failed" if reason else "succeeded"
        seconds = (self._clock.now() - row.accepted_at) / SECOND
        counts = self._metrics.counts
        counts.add("operations_total", kind=row.kind, outcome=outcome, reason=reason)
        counts.observe("operation_seconds", seconds, WORK, kind=row.kind)
        self._log.info(
            f"operation.{outcome}",
            operation=row.operation_id,
            machine=row.machine_id,
            kind=row.kind,
            reason=reason,
            text=end.text if isinstance(end, Failed) else "",
            seconds=seconds,
        )

    def ended_elsewhere(self, operation_id: str, end: End) -> tuple[JournalRow, ...]:
        """The journal's line where other code settles the machine of this operation."""
        running = self._running.get(operation_id)
        return (self._finished(running.row, end),) if running else ()

    def cancel(self, operation_id: str, end: End) -> None:
        """After `ended_elsewhere` was committed: the work is no longer wanted."""
        running = self._running.get(operation_id)
        if running is not None and running.task is not None:
            running.task.cancel()
            self._tell(running.row, end)

    async def finish(self, seconds: float) -> None:
        """Gives what runs that long, and leaves the rest to the journal."""
        waiting = {running.task for running in self._running.values() if running.task}
        if waiting and seconds > 0:
            late = asyncio.create_task(self._clock.sleep(seconds))
            while waiting and not late.done():
                await asyncio.wait({*waiting, late}, return_when=asyncio.FIRST_COMPLETED)
                waiting = {task for task in waiting if not task.done()}
            late.cancel()
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def resume(
    owed: Sequence[JournalRow],
    operations: Operations,
    committer: Committer,
    clock: Clock,
    log: Log,
) -> None:
    entries = {entry.running_id: entry for entry in committer.published.entries() if entry.running}
    for row in owed:
        if entries.pop(row.operation_id, None) is not None:
            log.info("operation.resumed", operation=row.operation_id, machine=row.machine_id)
            operations.resume(row)
        else:
            # The machine has moved on: nothing is left to do.
            done = row.finished("dropped", "", clock.now())
            await committer.commit(WriteSet(journal=(done,)))
    for entry in entries.values():
        text = "the provider restarted and knows nothing of the operation"
        lost = failed(entry, Reason.INTERRUPTED, text, clock.now())
        await committer.commit(WriteSet(shown=(lost,)))
