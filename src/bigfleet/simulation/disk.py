"""A shard's state.db in virtual time: rows are written a little later, and a crash loses the rest.

As in the real one, rows that wait are replaced by newer ones of the same key, and a write that a
caller waits for is on disk when the caller hears of it. A full disk writes nothing.
"""

from collections.abc import Mapping
from concurrent.futures import Future

from bigfleet.model.machines import Instant
from bigfleet.shard.store import Changes
from bigfleet.simulation.schedule import Schedule

Tables = dict[str, dict[str, bytes]]
#: From a row to the disk that has it.
_WRITE_SECONDS = (0.002, 0.05)


class Disk:
    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self.tables: Tables = {}
        #: The number of the life that last ran on it.
        self.epoch = 0
        self.trouble = ""
        #: The text of the pause file, and since when it is there; None: there is none.
        self.pause_file: str | None = None
        self.paused_at: Instant | None = None
        self._waiting: dict[tuple[str, str], bytes | None] = {}
        self._promised: list[tuple[Changes, Future[None]]] = []
        self._is_due = False

    @property
    def rows(self) -> Mapping[str, Mapping[str, bytes]]:
        return {table: dict(rows) for table, rows in self.tables.items()}

    def row_soon(self, table: str, key: str) -> bytes | None:
        """On disk once everything that waits is written."""
        if (table, key) in self._waiting:
            return self._waiting[table, key]
        return self.tables.get(table, {}).get(key)

    def write(self, table: str, key: str, value: bytes | None) -> None:
        self._waiting[table, key] = value
        self._flush_soon()

    def attempt(self, rows: Changes) -> "Future[None]":
        promise: Future[None] = Future()
        self._promised.append((rows, promise))
        self._flush_soon()
        return promise

    def pause(self, text: str | None) -> None:
        """A person writes the pause file, or takes it away."""
        self.pause_file = text
        self.paused_at = None if text is None else self._schedule.now()

    def fill(self, *, full: bool) -> None:
        self.trouble = "no space left on device" if full else ""
        self._flush_soon()

    def crash(self) -> None:
        """What was not written is lost, and no caller waits for it any more."""
        self._waiting, self._promised = {}, []

    def lose(self) -> None:
        """No state.db; the epoch and the pause file are other files, and are kept."""
        self.crash()
        self.tables = {}

    def _flush_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            seconds = self._schedule.chance.uniform(*_WRITE_SECONDS)
            self._schedule.call_later(seconds, self._flush)

    def _flush(self) -> None:
        self._is_due = False
        promised, self._promised = self._promised, []
        if self.trouble:
            for _, promise in promised:
                promise.set_exception(OSError(self.trouble))
            return
        self._put(self._waiting)
        self._waiting = {}
        for rows, promise in promised:
            self._put(rows)
            promise.set_result(None)

    def _put(self, rows: Changes) -> None:
        for (table, key), value in rows.items():
            kept = self.tables.setdefault(table, {})
            kept.pop(key, None)
            if value is not None:
                kept[key] = value
