"""The rows in one file on this machine: one process leads, always; a second one cannot start.

A thread of its own reads and writes, so that the loop never waits for the disk. While the disk
refuses nothing changes, `trouble` says why, and every second it is tried again. A disk that says
nothing at all is trouble too.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from bigfleet.coordinator.stores.contract import (
    Deposed,
    LatestHeard,
    Leader,
    Leadership,
    LoadedRows,
    RowChange,
    StoreDown,
    StoreRefused,
)
from bigfleet.coordinator.stores.rows import latest
from bigfleet.coordinator.stores.sqlite_file import FILE, CoordinatorFile
from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.files import DirLock
from bigfleet.edge.sqlite_files import FileRefused, disk_problem
from bigfleet.model.errors import StartRefused
from bigfleet.model.machines import Instant

RETRY_SECONDS = 1.0
#: Silence of the disk that is trouble: all rows of a large fleet are read in less.
SILENCE_SECONDS = 5.0
#: What the thread may take to end what it is at when the store is closed.
CLOSE_SECONDS = 2.0
_T = TypeVar("_T")


class SqliteStore:
    backend = "sqlite"
    most_changes: int | None = None

    def __init__(self, data_dir: Path, me: Leader, clock: Clock) -> None:
        self.path = data_dir / FILE
        self._me = me
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "coordinator-db")
        self._lock: DirLock | None = None
        self._file: CoordinatorFile | None = None
        self._heard = LatestHeard()
        #: Done with why, when the reign is over; None: it has not begun.
        self._over: asyncio.Future[str] | None = None
        self._trouble = ""
        #: Since when each piece of work for the thread that has not ended is waited for.
        self._waiting: list[Instant] = []
        #: Tries while there is trouble.
        self._trying: asyncio.Task[None] | None = None

    async def open(self) -> None:
        try:
            self._lock = self._lock or DirLock(self.path.parent, "coordinator")
            self._file = await self._in_thread(lambda: CoordinatorFile(self.path))
        except StartRefused as refused:
            raise StoreRefused(str(refused)) from refused
        except FileRefused as refused:
            if refused.passing:
                raise self._down(str(refused)) from refused
            raise StoreRefused(unusable(self.path, str(refused))) from refused

    async def campaign(self) -> Leadership:
        await self.resign()
        try:
            term = await self._written(self._opened().begin_reign)
        except FileRefused as refused:
            raise StoreRefused(unusable(self.path, str(refused))) from refused
        self._heard = replace(self._heard, term=term)
        self._over = asyncio.get_running_loop().create_future()
        return Leadership(term)

    async def load(self) -> LoadedRows:
        self._check_leads()
        loaded = await self._on_disk(self._opened().load)
        self._heard = replace(self._heard, revision=loaded.revision)
        return loaded

    async def commit(self, changes: Sequence[RowChange]) -> int:
        rows = latest(changes)
        self._check_leads()
        file = self._opened()
        revision = await self._written(lambda: file.commit(rows))
        self._heard = replace(self._heard, revision=revision)
        return revision

    def still_leads(self) -> bool:
        return self._over is not None and not self._over.done()

    async def until_deposed(self) -> str:
        if self._over is None:
            return "this replica does not lead"
        return await asyncio.shield(self._over)

    async def resign(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_result("this replica resigned")

    def leader(self) -> Leader | None:
        return self._me if self.still_leads() else None

    def heard(self) -> LatestHeard:
        return self._heard

    def trouble(self) -> str:
        silence = (self._clock.now() - self._waiting[0]) / SECOND if self._waiting else 0.0
        if silence < SILENCE_SECONDS:
            return self._trouble
        return (
            f"{self.path} has not been read or written for {silence:.0f} s: its disk does not "
            "answer; see to it, or move the data dir to another"
        )

    async def close(self) -> None:
        """Within seconds: a disk that hangs blocks only the store's thread."""
        await self.resign()
        if self._trying is not None:
            self._trying.cancel()
            with suppress(asyncio.CancelledError):
                await self._trying
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._file is not None:
                    await self._in_thread(self._file.close)
        self._file = None
        self._thread.shutdown(wait=False)
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # -- the disk --------------------------------------------------------------------------------

    async def _written(self, work: Callable[[], _T]) -> _T:
        done = await self._on_disk(work)
        self._trouble = ""
        return done

    async def _on_disk(self, work: Callable[[], _T]) -> _T:
        try:
            return await self._in_thread(work)
        except sqlite3.Error as problem:
            down = self._down(await self._in_thread(partial(disk_problem, self.path, problem)))
            if self._trying is None or self._trying.done():
                self._trying = asyncio.create_task(self._try_again())
            raise down from problem

    async def _try_again(self) -> None:
        """Until the disk takes what is written; needs no call from outside."""
        while self._trouble:
            await self._clock.sleep(RETRY_SECONDS)
            try:
                await self._in_thread(self._opened().try_to_write)
                self._trouble = ""
            except sqlite3.Error:
                continue

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        began = self._clock.now()
        self._waiting.append(began)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting.remove(began)

    def _opened(self) -> CoordinatorFile:
        if self._file is None:
            raise StoreDown(f"{self.path} is not open")
        return self._file

    def _check_leads(self) -> None:
        if not self.still_leads():
            why = self._over.result() if self._over is not None else "it has never led"
            raise Deposed(f"this replica does not lead: {why}")

    def _down(self, said: str) -> StoreDown:
        self._trouble = (
            f"{self.path} cannot be written: {said}; nothing was changed. Free the disk or mend "
            "it: it is tried again every second"
        )
        return StoreDown(self._trouble)


def unusable(path: Path, problem: str) -> str:
    return (
        f"{path} cannot be used: {problem}. It says which shard owns what and must not be lost: "
        f"save what is readable with `sqlite3 {path} .recover`, or move {path.name}, "
        f"{path.name}-wal and {path.name}-shm away and restore the last snapshot"
    )
