"""Commit, then publish: nothing is visible before it is durable, and revisions follow commits.

Write sets queue up behind the running transaction and go into the next one together. A failed
transaction leaves memory as it was; after three failures in ten seconds all writes are refused
until a probe has written again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.driver import stopwatch
from bigfleet.edge.logs import Log, NullLog
from bigfleet.model.machines import Instant
from bigfleet.provider.ledger.entries import FRESH, Entry, Standing
from bigfleet.provider.ledger.fences import Fences, KeptMark, Mark, MarkKey
from bigfleet.provider.ledger.published import Published, PublishedMachines, SharedMaps
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.metrics import CALLS, ProviderMetrics
from bigfleet.provider.stores.store import (
    Batch,
    JournalRow,
    LoadedState,
    MachineRow,
    Store,
    StoreFailed,
)
from bigfleet.wire.machines import list_entry, record_of
from bigfleet.wire.provider_records import machine_bytes

T = TypeVar("T")

#: Write sets in one transaction.
GROUP = 256
FAILURES, WINDOW = 3, 10 * SECOND
PROBE_SECONDS = 1.0
#: How long an ended operation's blob may still be found in the store's log.
ERASE_SECONDS = 1.0
_FRESH_BYTES = msgspec.msgpack.encode(FRESH)
#: How long a finished operation can be looked up, and how often the older ones are swept.
JOURNAL_LIFE, SWEEP_EVERY = 7 * 24 * 3600 * SECOND, SECOND


@dataclass(frozen=True, slots=True)
class WriteSet:
    #: Entries whose record changed: each gets a revision and is shown.
    shown: Sequence[Entry] = ()
    #: Entries of which only the standing changed.
    kept: Sequence[Entry] = ()
    retired: Sequence[str] = ()
    mark: tuple[MarkKey, Mark] | None = None
    dropped_marks: Sequence[MarkKey] = ()
    journal: Sequence[JournalRow] = ()


@dataclass(frozen=True, slots=True)
class _Prepared:
    batch: Batch
    published: list[Published]


class EntryListener(Protocol):
    def consider(self, entry: Entry) -> None:
        """Called with every published entry."""
        ...


class Committer:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        metrics: ProviderMetrics,
        *,
        before_commit: Callable[[], None],
        operation_prefix: str,
        journal_rows: int,
        log: Log | None = None,
    ) -> None:
        self.published = PublishedMachines()
        self.fences = Fences(self.published.__contains__)
        self.incarnation = ""
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._before_commit = before_commit
        self._prefix = operation_prefix
        self._journal_rows = journal_rows
        self._log = log or NullLog()
        #: Why the last write failed; empty: it did not.
        self.trouble = ""
        self._counter = 0
        self._next_slot = 0
        self._queue: deque[tuple[WriteSet, asyncio.Future[None]]] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._prober: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "store") if store.blocking else None
        #: Marks that fell out of memory and are still in the store.
        self._dropped: list[MarkKey] = []
        self._failures: deque[Instant] = deque(maxlen=FAILURES)
        self._swept_at: Instant = 0
        self._eraser: asyncio.Task[None] | None = None
        self._listeners: list[EntryListener] = []
        metrics.add_gauges_of(self)

    def add_listener(self, listener: EntryListener) -> None:
        self._listeners.append(listener)

    def refresh_gauges(self) -> None:
        counts = self._metrics.counts
        counts.set("revision", self.published.head)
        for (state, capacity_type), count in self.published.counts.items():
            counts.set("machines", count, state=state.label, capacity_type=capacity_type.label)

    async def load(self) -> tuple[JournalRow, ...]:
        """Opens the store and takes over what it has; the operations still owed."""
        loaded = await self.in_store_thread(self._load)
        return loaded.pending

    def _load(self) -> LoadedState:
        loaded = self._store.load()
        self.incarnation = loaded.incarnation
        self._counter = loaded.counter
        maps = SharedMaps()
        rows = (_published_of(row, maps) for row in loaded.machines)
        self.published.restore(rows, loaded.revision)
        self._dropped += self.fences.restore(loaded.marks)
        self._next_slot = self.published.next_slot
        return loaded

    async def in_store_thread(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def mint(self) -> str:
        """A fresh operation id; it becomes durable with the write set that uses it.

        The counter begins anew with a fresh store, the substrate's memory does not: the store's own
        name keeps the ids of two stores apart.
        """
        self._counter += 1
        return f"{self._prefix}-{self.incarnation}-{self._counter}"

    @property
    def counter(self) -> int:
        """The number of the last operation id."""
        return self._counter

    def count_from(self, counter: int) -> None:
        """Ids up to this number were given out elsewhere."""
        self._counter = max(self._counter, counter)

    def take_slot(self) -> int:
        self._next_slot += 1
        return self._next_slot - 1

    @property
    def writable(self) -> bool:
        """Whether the last write succeeded."""
        return not self._failures

    @property
    def read_only(self) -> bool:
        failures = self._failures
        return len(failures) == FAILURES and failures[-1] - failures[0] <= WINDOW

    async def commit(self, write: WriteSet) -> None:
        """Returns when it is durable and visible; StoreFailed when it is neither."""
        if self._thread is None:
            prepared = self._prepared([write])
            self._wrote(self._try(prepared.batch), prepared, [write])
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((write, future))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_queued())
        await future

    async def require_writable(self) -> None:
        """Raises StoreFailed where a commit would fail now.

        A file is not written where nothing has changed, so the number of an operation is given up.
        """
        if self._thread is not None:
            self._counter += 1
        await self.commit(WriteSet())

    async def commit_at_last(self, write: Callable[[], WriteSet | None]) -> None:
        """Commits what `write` says, asked anew before each try, until the store takes it."""
        while (current := write()) is not None:
            try:
                return await self.commit(current)
            except StoreFailed:
                await self._clock.sleep(PROBE_SECONDS)
        return None

    async def _write_queued(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            taken = [self._queue.popleft() for _ in range(min(GROUP, len(self._queue)))]
            writes = [write for write, _ in taken]
            failed: Exception | None = None
            try:
                prepared = self._prepared(writes)
                failure = await loop.run_in_executor(self._thread, self._try, prepared.batch)
                self._wrote(failure, prepared, writes)
            except Exception as problem:  # noqa: BLE001 - the waiting calls must hear of it
                failed = problem
            for _, future in taken:
                if future.done():
                    continue
                if failed is not None:
                    future.set_exception(failed)
                else:
                    future.set_result(None)

    def _prepared(self, writes: Sequence[WriteSet]) -> _Prepared:
        revision, now = self.published.head, self._clock.now()
        shown, rows, freed = [], [], []
        for write in writes:
            for entry in write.shown:
                revision += 1
                published, row = _serialised(
                    Entry(entry.record, entry.slot, revision, entry.standing)
                )
                shown.append(published)
                rows.append(row)
            for machine_id in write.retired:
                revision += 1
                freed.append(self._slot(machine_id))
            rows += [self._row_kept(entry) for entry in write.kept]
        marks = tuple(KeptMark(*write.mark, now) for write in writes if write.mark)
        dropped = [key for write in writes for key in write.dropped_marks]
        sweep = now - self._swept_at > SWEEP_EVERY
        batch = Batch(
            revision,
            self._counter,
            tuple(rows),
            tuple(freed),
            marks,
            (*self._dropped, *dropped),
            tuple(row for write in writes for row in write.journal),
            now - JOURNAL_LIFE if sweep else 0,
            self._journal_rows,
        )
        return _Prepared(batch, shown)

    def _slot(self, machine_id: str) -> int:
        entry = self.published.entry(machine_id)
        assert entry is not None, machine_id
        return entry.slot

    def _row_kept(self, entry: Entry) -> MachineRow:
        return MachineRow(
            entry.id,
            entry.slot,
            entry.revision,
            machine_bytes(entry.record),
            _standing_bytes(entry.standing),
        )

    def _try(self, batch: Batch) -> StoreFailed | None:
        """In the store's thread; a failure is handed back rather than raised through it."""
        try:
            self._before_commit()
            began = stopwatch()
            try:
                self._store.commit(batch)
            finally:
                self._metrics.counts.observe("store_commit_seconds", stopwatch() - began, CALLS)
        except StoreFailed as failed:
            return failed
        return None

    def _wrote(
        self, failed: StoreFailed | None, prepared: _Prepared, writes: Sequence[WriteSet]
    ) -> None:
        now = self._clock.now()
        if failed is not None:
            self._failures.append(now)
            self._metrics.counts.add("store_failures_total")
            self._in_trouble(str(failed))
            if self.read_only and (self._prober is None or self._prober.done()):
                self._prober = asyncio.create_task(self._probe())
            raise failed
        self._failures.clear()
        self._in_trouble("")
        if prepared.batch.forget_before:
            self._swept_at = now
        self._dropped = []
        if any(row.kind is Kind.CONFIGURE and row.outcome for row in prepared.batch.journal):
            self._erase_soon()
        for write in writes:
            self._take_over(write, now)
        for published in prepared.published:
            self.published.publish(published)
            for listener in self._listeners:
                listener.consider(published.entry)
        self.published.head = prepared.batch.revision

    def _in_trouble(self, why: str) -> None:
        """Told when it begins and when it ends, not with every write in between."""
        was, self.trouble = self.trouble, why
        if why and not was:
            text = f"{why}; calls that must be written are refused until it can be"
            self._log.error("store.failed", text=text)
        elif was and not why:
            self._log.info("store.recovered", text="the state is written again")

    def _take_over(self, write: WriteSet, now: Instant) -> None:
        for machine_id in write.retired:
            self.published.retire(machine_id, self.published.head)
            self._dropped += self.fences.retire(machine_id, now)
        for entry in write.kept:
            self.published.keep(entry)
        if write.mark is not None:
            self._dropped += self.fences.advance(*write.mark, now)

    def _erase_soon(self) -> None:
        """A blob's time is over; many that end together are erased together."""
        if self._thread is not None and (self._eraser is None or self._eraser.done()):
            self._eraser = asyncio.create_task(self._erase())

    async def _erase(self) -> None:
        await self._clock.sleep(ERASE_SECONDS)
        try:
            await self.in_store_thread(self._store.erase)
        except StoreFailed:
            self._metrics.counts.add("store_failures_total")

    async def _probe(self) -> None:
        """While read-only only the probe writes; its first success ends that."""
        while self.read_only:
            await self._clock.sleep(PROBE_SECONDS)
            try:
                await self.require_writable()
            except StoreFailed:
                continue

    async def close(self) -> None:
        for task in (self._prober, self._eraser):
            if task is not None:
                task.cancel()
        if self._writer is not None:
            await asyncio.wait([self._writer])
        await self.in_store_thread(self._store.close)
        if self._thread is not None:
            self._thread.shutdown(wait=False)


def _serialised(entry: Entry) -> tuple[Published, MachineRow]:
    record = machine_bytes(entry.record)
    standing = _standing_bytes(entry.standing)
    row = MachineRow(entry.record.id, entry.slot, entry.revision, record, standing)
    return Published(entry, list_entry(record)), row


def _standing_bytes(standing: Standing) -> bytes:
    return _FRESH_BYTES if standing is FRESH else msgspec.msgpack.encode(standing)


def _published_of(row: MachineRow, maps: SharedMaps) -> Published:
    standing = FRESH
    if row.standing != _FRESH_BYTES:
        standing = msgspec.msgpack.decode(row.standing, type=Standing)
    entry = Entry(maps.record(record_of(row.record)), row.slot, row.revision, standing)
    return Published(entry, list_entry(row.record))
