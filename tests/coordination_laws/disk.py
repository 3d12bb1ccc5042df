"""A shard's state.db without a file: rows wait until they are written, and a crash loses them.

As the real one it is written behind the shard's back: rows that wait are replaced by newer ones of
the same key, all that wait are written at once, and the callers are told then. While it is full
nothing is written, and callers that wait are told nothing.
"""

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from bigfleet.shard.store import StateStore

Tables = dict[str, dict[str, bytes]]


class Disk(StateStore):
    def __init__(self, tables: Tables | None = None) -> None:
        self.path = Path("state.db")
        self.trouble = ""
        #: What is on disk.
        self.tables = {table: dict(rows) for table, rows in (tables or {}).items()}
        self.waiting: dict[tuple[str, str], bytes | None] = {}
        #: Writes wait for `flush`, for every caller.
        self.is_slow = False
        self._promised: list[Future[None]] = []

    @property
    def rows(self) -> Mapping[str, Mapping[str, bytes]]:  # type: ignore[override]
        return {table: dict(rows) for table, rows in self.tables.items()}

    @property
    def is_waited_for(self) -> bool:
        return bool(self._promised)

    def row(self, table: str, key: str) -> bytes | None:
        """On disk."""
        return self.tables.get(table, {}).get(key)

    def row_soon(self, table: str, key: str) -> bytes | None:
        """On disk, once everything that waits is written."""
        if (table, key) in self.waiting:
            return self.waiting[table, key]
        return self.row(table, key)

    def write(self, table: str, key: str, value: bytes | None) -> None:
        self.waiting[table, key] = value

    def synced(self) -> "Future[None]":
        promise: Future[None] = Future()
        self._promised.append(promise)
        if not self.is_slow:
            self.flush()
        return promise

    def close(self, patience_seconds: float = 5.0) -> bool:
        return True

    def evening(self) -> Tables:
        """All of it, written."""
        self.flush()
        return {table: dict(rows) for table, rows in self.tables.items()}

    # -- what the schedule does ------------------------------------------------------------------

    def fill(self, is_full: bool) -> None:
        self.trouble = "no space left on device" if is_full else ""

    def flush(self) -> None:
        """Written, and the callers that wait are told."""
        if self.trouble:
            return
        self.write_through()
        promised, self._promised = self._promised, []
        for promise in promised:
            promise.set_result(None)

    def write_through(self) -> None:
        """Written, and no caller has heard of it yet."""
        if self.trouble:
            return
        for (table, key), value in self.waiting.items():
            rows = self.tables.setdefault(table, {})
            rows.pop(key, None)
            if value is not None:
                rows[key] = value
        self.waiting = {}

    def give_up(self) -> None:
        """The caller has waited too long; the rows are written all the same, some time."""
        promised, self._promised = self._promised, []
        for promise in promised:
            promise.set_exception(TimeoutError("the disk took too long"))

    def crash(self) -> None:
        """What was not written is lost, and no caller waits for it any more."""
        self.waiting = {}
        promised, self._promised = self._promised, []
        for promise in promised:
            promise.cancel()
