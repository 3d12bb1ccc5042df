"""The data dir of a shard: its epoch, and `state.db` with the little it keeps through a restart.

Tables of keys and values in one SQLite file. A thread of its own writes; rows that wait are
replaced by newer ones of the same key, so what waits is never more than what is kept. While the
disk refuses, the rows wait on, `trouble` says why, and every second is a new try. A write that
a caller waits for is tried once: it is on disk, or it is refused and never written.
"""

import sqlite3
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from bigfleet.edge.files import write_whole
from bigfleet.edge.sqlite_files import FileKind, FileRefused, disk_problem, opened, transaction
from bigfleet.model.errors import StartRefused
from bigfleet.shard.effects import Stored

STATE_FILE = "state.db"
STATE = FileKind(
    # 'bfsh'
    application_id=0x62667368,
    version=1,
    name="state of a shard",
    tables="CREATE TABLE kept (part TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, "
    "PRIMARY KEY (part, key)) WITHOUT ROWID;",
)
RETRY_SECONDS = 1.0

#: Hears, in the store's thread, of trouble and (empty) of its end.
Trouble = Callable[[str], None]
_Waiting = dict[tuple[str, str], bytes | None]
#: New values by table and key; None deletes the row.
Changes = Mapping[tuple[str, str], bytes | None]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Rows that are written now or never."""

    rows: Changes
    outcome: "Future[None]"


class StateStore:
    def __init__(
        self,
        data_dir: Path,
        on_trouble: Trouble = lambda text: None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """Opens or makes the file and reads it whole; raises StartRefused."""
        self.path = data_dir / STATE_FILE
        #: Why rows do not reach the disk; empty: they do.
        self.trouble = ""
        self._on_trouble = on_trouble
        self._retry_seconds = retry_seconds
        self._connection = _opened(self.path)
        self.rows: Stored = _read(self._connection, self.path)
        self._changed = threading.Condition()
        #: What is not on disk yet, newest value of each key; None deletes.
        self._waiting: _Waiting = {}
        #: Told when everything that waited when they were asked for is on disk.
        self._promised: list[Future[None]] = []
        self._attempts: list[_Attempt] = []
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="state-db", daemon=True)
        self._thread.start()

    @property
    def degraded(self) -> bool:
        return bool(self.trouble)

    def write(self, table: str, key: str, value: bytes | None) -> None:
        """Never blocks on the disk; None deletes the row."""
        with self._changed:
            self._waiting[table, key] = value
            self._changed.notify()

    def synced(self) -> "Future[None]":
        """Done when everything written so far is on disk."""
        promise: Future[None] = Future()
        with self._changed:
            if self._closing:
                promise.set_exception(OSError(f"{self.path} is closed"))
            else:
                self._promised.append(promise)
                self._changed.notify()
        return promise

    def attempt(self, rows: Changes) -> "Future[None]":
        """Done when the rows, and everything written before, are on disk.

        OSError: none of these rows is there, or will be; what was written before waits on. No other
        part writes these keys until it is done.
        """
        attempt = _Attempt(rows, Future())
        with self._changed:
            if self._closing:
                attempt.outcome.set_exception(OSError(f"{self.path} is closed"))
            else:
                self._attempts.append(attempt)
                self._changed.notify()
        return attempt.outcome

    def close(self, patience_seconds: float = 5.0) -> bool:
        """Writes what waits, once more; False where the disk refused or took too long."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(patience_seconds)
        return not self._thread.is_alive() and not self._waiting

    # -- the thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        while self._step():
            pass
        self._connection.close()

    def _step(self) -> bool:
        """One batch; False: there is no more."""
        with self._changed:
            while not (self._waiting or self._promised or self._attempts or self._closing):
                self._changed.wait()
            batch, self._waiting = self._waiting, {}
            promised, self._promised = self._promised, []
            attempts, self._attempts = self._attempts, []
            closing = self._closing
        problem = self._commit(_with_attempts(batch, attempts))
        if problem is None:
            # The end of trouble is told before a caller can ask about it.
            self._say("")
            for promise in (*promised, *(each.outcome for each in attempts)):
                _fulfil(promise)
            return not closing or bool(self._waiting)
        self._say(f"{self.path}: {disk_problem(self.path, problem)}")
        _break([each.outcome for each in attempts], OSError(self.trouble))
        with self._changed:
            self._waiting = batch | self._waiting
            self._promised = promised + self._promised
            if self._closing:
                late = [each.outcome for each in self._attempts]
                _break([*self._promised, *late], OSError(self.trouble))
                return False
            self._changed.wait_for(lambda: self._closing or self._attempts, self._retry_seconds)
        return True

    def _commit(self, batch: _Waiting) -> Exception | None:
        if not batch:
            return None
        connection = self._connection
        kept = [(table, key, value) for (table, key), value in batch.items() if value is not None]
        gone = [pair for pair, value in batch.items() if value is None]
        try:
            with transaction(connection):
                connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", kept)
                connection.executemany("DELETE FROM kept WHERE part = ? AND key = ?", gone)
        except (sqlite3.Error, OSError) as problem:
            return problem
        return None

    def _say(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._on_trouble(trouble)


def _with_attempts(batch: _Waiting, attempts: list[_Attempt]) -> _Waiting:
    """In the order they were asked for: attempts are newer than what waits."""
    rows = dict(batch)
    for attempt in attempts:
        rows |= attempt.rows
    return rows


def _fulfil(promise: "Future[None]") -> None:
    if promise.set_running_or_notify_cancel():
        promise.set_result(None)


def _break(promised: "list[Future[None]]", problem: Exception) -> None:
    for promise in promised:
        if promise.set_running_or_notify_cancel():
            promise.set_exception(problem)


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return opened(path, STATE)
    except FileRefused as refused:
        raise _refused(path, str(refused)) from refused


def _read(connection: sqlite3.Connection, path: Path) -> Stored:
    rows: dict[str, dict[str, bytes]] = {}
    try:
        for part, key, value in connection.execute("SELECT part, key, value FROM kept"):
            rows.setdefault(part, {})[key] = bytes(value)
    except sqlite3.Error as problem:
        connection.close()
        raise _refused(path, str(problem)) from problem
    return rows


def _refused(path: Path, problem: str) -> StartRefused:
    return StartRefused(
        f"{path} cannot be used: {problem}. Losing it is safe: move {path.name}, {path.name}-wal "
        f"and {path.name}-shm away and start again. Pauses set by RPC are then lifted, open drains "
        "follow what the provider says, and with a coordinator nothing is owned until it answers"
    )


EPOCH_FILE = "epoch"
_HIGHEST = 2**62


def next_epoch(data_dir: Path) -> int:
    """One more than the last start had, durable when this returns; raises StartRefused.

    Providers refuse what comes from a lower one, so it is on disk before anything is sent with it.
    """
    path = data_dir / EPOCH_FILE
    epoch = _last_epoch(path) + 1
    try:
        write_whole(path, f"{epoch}\n".encode())
    except OSError as problem:
        raise StartRefused(
            f"{path} cannot be written: {problem.strerror}; without a new epoch this shard could "
            "be taken for its former self, so free the disk or mend the rights and start again"
        ) from problem
    return epoch


def _last_epoch(path: Path) -> int:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return 0
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path, str(problem)) from problem
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and 0 < int(digits) < _HIGHEST):
        raise _unreadable(path, f"it holds {text[:40]!r}, not a number above 0")
    return int(digits)


def _unreadable(path: Path, problem: str) -> StartRefused:
    return StartRefused(
        f"{path} cannot be read: {problem}. It holds the number of this shard's last start; with a "
        "lower one every provider refuses it. Write a number into it that is surely higher than "
        "the last (the metric bigfleet_shard_epoch and every provider's log have it), then start "
        "again"
    )
