"""A leader's own timers: the tick of every second, the sweeps, the snapshots.

Each is one at a time; one that fails is logged, and the next one comes.
"""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.driving.leading_replica import LeadingReplica
from bigfleet.coordinator.membership import expiries
from bigfleet.coordinator.rebalancing import quotas, sweeps
from bigfleet.coordinator.snapshots import copied, export, file_bytes, holds_anything
from bigfleet.edge.clock import Clock
from bigfleet.edge.files import sync_folder, write_whole
from bigfleet.edge.logs import Log
from bigfleet.model.coordinator_calls import NotLeader
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.coordinator_handlers import Snapshot

LATEST = "latest"
ENDING = ".snapshot"
#: An hour of them at the default interval.
KEPT = 12


class SnapshotFolder:
    """Whole files only, a link to the latest, and not too many of them."""

    def __init__(self, folder: Path, replica: str) -> None:
        """Replicas may share a folder; each writes under a name of its own first."""
        self._folder = folder
        self._unfinished = f".{replica}.new"

    def write(self, snapshot: Snapshot) -> Path:
        """Durable when it returns; raises OSError, and then `latest` is what it was."""
        self._folder.mkdir(parents=True, exist_ok=True)
        meta = snapshot.meta
        # The names sort by time.
        path = self._folder / f"{meta.created_unix_nanos:020d}-{meta.term}-{meta.index}{ENDING}"
        write_whole(path, file_bytes(snapshot), self._folder / self._unfinished)
        link = self._folder / f"{self._unfinished}.link"
        link.unlink(missing_ok=True)
        link.symlink_to(path.name)
        link.replace(self._folder / LATEST)
        sync_folder(self._folder)
        self._forget_old(path)
        return path

    def _forget_old(self, newest: Path) -> None:
        files = sorted(self._folder.glob(f"*{ENDING}"))
        for path in files[:-KEPT]:
            if path != newest:
                path.unlink(missing_ok=True)


TICK_SECONDS = 1.0
#: Between two pieces of a sweep: a call takes several turns of the event loop to be answered.
BREATH_SECONDS = 0.02

T = TypeVar("T")


class Duties:
    def __init__(self, leading: LeadingReplica, backend: str, clock: Clock, log: Log) -> None:
        self._leading = leading
        self._backend = backend
        self._clock = clock
        self._log = log
        #: When the newest snapshot of this reign was made, or the reign began: one that is never
        #: made grows old too. None: none is to be made.
        self.saved_at: Instant | None = None

    def begun(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """What runs while this replica leads, begun anew with every reign."""
        return self._seconds(), self._sweeps(), self._snapshots()

    async def snapshot(self) -> Snapshot:
        """Of everything that is committed now; raises Rejected."""
        leading, at = self._leading, self._clock.now()
        book = leading.book()
        if not holds_anything(book.tables):
            raise Rejected(Code.NOT_FOUND, "nothing is stored yet: no shard has ever reported")
        tables, revision = copied(book.tables), leading.revision
        # In a thread: a large state would hold up other calls for too long.
        made = await asyncio.to_thread(export, tables, revision, self._backend, at)
        leading.require_leader()
        return made

    async def _seconds(self) -> None:
        while True:
            await self._clock.sleep(TICK_SECONDS)
            await self._done("tick", expiries.tick)
            await self._done("quotas", quotas.tick)
            await self._done("transfers", sweeps.settle)

    async def _sweeps(self) -> None:
        while True:
            await self._clock.sleep(self._leading.settings.rebalance.interval)
            sweep = sweeps.Sweep()
            # Calls that come meanwhile are answered between two pieces.
            while await self._done("rebalance", sweep.piece) is False:
                await self._clock.sleep(BREATH_SECONDS)

    async def _snapshots(self) -> None:
        wanted = bool(self._leading.settings.snapshot_dir)
        self.saved_at = self._clock.now() if wanted else None
        while True:
            await self._clock.sleep(self._leading.settings.snapshot_interval)
            folder = self._leading.settings.snapshot_dir
            if folder:
                await self._saved(SnapshotFolder(Path(folder), self._leading.settings.id))

    async def _saved(self, folder: SnapshotFolder) -> None:
        try:
            made = await self.snapshot()
            await asyncio.to_thread(folder.write, made)
        except Rejected as problem:
            if problem.code is Code.NOT_FOUND:
                # There is nothing yet that a snapshot could miss.
                self.saved_at = self._clock.now()
            else:
                self._log.warning("coordinator.snapshot", msg=f"no snapshot: {problem}")
        except OSError as problem:
            text = f"no snapshot: {problem}; the next one is tried in time"
            self._log.error("coordinator.snapshot", msg=text)
        else:
            self.saved_at = made.meta.created_unix_nanos

    async def _done(self, name: str, operation: Callable[[Book, Draft], T]) -> T | None:
        """What it returned; None where it failed."""
        try:
            return await self._leading.transact(operation)
        except NotLeader:
            return None
        except Rejected as problem:
            self._log.warning("coordinator.duty", msg=f"{name}: {problem}", subject=name)
        except Exception as problem:  # noqa: BLE001 - the next one comes; nothing was changed
            self._log.error("coordinator.duty", msg=f"{name} failed: {problem!r}", subject=name)
        return None
