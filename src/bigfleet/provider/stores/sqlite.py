"""The durable store: one SQLite file, one row per machine, mark and operation.

Records are BLOBs, so that every byte a shard gave us comes back. A commit is one transaction,
synced before it returns.

The tables of a state file, and how a file is told apart from a new, a foreign or a broken one.

Next to the state file lies `<file>.lock`. It is held by the running process, and it remembers that
the file once was complete: a state file that is empty although it had content is damaged, not new.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from bigfleet.edge.sqlite_files import disk_problem
from bigfleet.provider.ledger.fences import KeptMark, Mark, MarkKey
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.stores.store import (
    Batch,
    JournalRow,
    LoadedState,
    MachineRow,
    StoreDamaged,
    StoreFailed,
    StoreInUse,
)

SCHEMA_VERSION = 1
#: 'bflt': says whose file this is.
APPLICATION_ID = 0x62666C74

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE machines (
    slot INTEGER PRIMARY KEY, id TEXT NOT NULL, revision INTEGER NOT NULL,
    record BLOB NOT NULL, standing BLOB NOT NULL
);
CREATE TABLE marks (
    shard_id TEXT NOT NULL, machine_id TEXT NOT NULL,
    epoch INTEGER NOT NULL, sequence INTEGER NOT NULL, touched_at INTEGER NOT NULL,
    PRIMARY KEY (shard_id, machine_id)
) WITHOUT ROWID;
CREATE TABLE journal (
    number INTEGER PRIMARY KEY, operation_id TEXT NOT NULL UNIQUE,
    machine_id TEXT NOT NULL, kind TEXT NOT NULL,
    shard_id TEXT NOT NULL, cluster_id TEXT NOT NULL, grace_seconds INTEGER NOT NULL, blob BLOB,
    accepted_at INTEGER NOT NULL, started_at INTEGER NOT NULL, deadline INTEGER NOT NULL,
    attempt INTEGER NOT NULL, note TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
    finished_at INTEGER NOT NULL
);
CREATE INDEX owed ON journal (number) WHERE outcome = '';
CREATE INDEX ended ON journal (finished_at) WHERE outcome <> '';
"""


def _hint(path: Path) -> str:
    return (
        f"Restore a backup made by `bigfleet provider state backup`, or save what is readable with "
        f"`sqlite3 {path} .recover`. To begin with an empty fleet on purpose, move {path} and "
        f"{lock_path(path)} away."
    )


def lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


class FileLock:
    """Held for the life of the process; the kernel drops it with the process."""

    def __init__(self, path: Path) -> None:
        self._path = lock_path(path)
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise StoreInUse(
                f"{path} is in use by another provider; one process has one state file"
            ) from None

    @property
    def remembers_content(self) -> bool:
        return os.fstat(self._handle).st_size > 0

    def remember_content(self, incarnation: str) -> None:
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{incarnation}\n".encode(), 0)
        os.fsync(self._handle)

    def release(self) -> None:
        os.close(self._handle)


def connect(path: Path) -> sqlite3.Connection:
    """Durable at every commit: WAL with a sync of the log each time."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def opened(path: Path, lock: FileLock, new_incarnation: str) -> sqlite3.Connection:
    """The file, checked; created if there is none."""
    # The mode is set before SQLite writes, and its side files take it over.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    os.chmod(path, 0o600)
    empty = path.stat().st_size == 0
    if empty and lock.remembers_content:
        raise StoreDamaged(f"{path} is empty but has had content. {_hint(path)}")
    try:
        connection = connect(path)
    except sqlite3.DatabaseError as error:
        raise StoreDamaged(f"{path} cannot be read: {error}. {_hint(path)}") from error
    try:
        if empty:
            _create(connection, new_incarnation)
            lock.remember_content(new_incarnation)
        else:
            _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection, incarnation: str) -> None:
    connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [("schema", SCHEMA_VERSION), ("incarnation", incarnation), ("revision", 0), ("counter", 0)],
    )
    # Into the file itself: an empty file beside a log would count as lost.
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _check(connection: sqlite3.Connection, path: Path) -> None:
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        findings = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
        version = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    except sqlite3.DatabaseError as error:
        raise StoreDamaged(f"{path} cannot be read: {error}. {_hint(path)}") from error
    if findings != ["ok"]:
        raise StoreDamaged(f"{path} is damaged: {'; '.join(findings)}. {_hint(path)}")
    if application != APPLICATION_ID or version is None:
        raise StoreDamaged(f"{path} is not a provider's state file. {_hint(path)}")
    if version[0] != SCHEMA_VERSION:
        raise StoreDamaged(
            f"{path} has schema version {version[0]}, this program knows {SCHEMA_VERSION}; "
            "run the version that wrote it, or export and import the state"
        )


def copied(path: Path, target: Path) -> None:
    """An online copy, consistent while the provider writes on."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)


_COLUMNS = (
    "operation_id, machine_id, kind, shard_id, cluster_id, grace_seconds, blob, accepted_at, "
    "started_at, deadline, attempt, note, outcome, reason, finished_at"
)
_UPSERT_JOURNAL = f"""
INSERT INTO journal ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (operation_id) DO UPDATE SET
    blob = excluded.blob, started_at = excluded.started_at, deadline = excluded.deadline,
    attempt = excluded.attempt, note = excluded.note, outcome = excluded.outcome,
    reason = excluded.reason, finished_at = excluded.finished_at
"""
_FORGET_OLD = """
DELETE FROM journal WHERE number IN
    (SELECT number FROM journal WHERE outcome <> '' AND finished_at < ? LIMIT ?)
"""
#: Numbers rise by one with every operation, so the newest number says which rows are too many.
_FORGET_EXCESS = """
DELETE FROM journal WHERE number IN
    (SELECT number FROM journal
     WHERE outcome <> '' AND number <= (SELECT max(number) FROM journal) - ? LIMIT ?)
"""
#: Rows forgotten in one transaction: a week of them must not stop the provider. At one sweep a
#: second this is more than twice what can be accepted in the same time.
_FORGET_AT_ONCE = 2500
_NO_VALUES: Mapping[str, object] = {}


class SQLiteStore:
    blocking = True

    def __init__(self, path: Path | str, new_incarnation: str) -> None:
        self.path = Path(path)
        self._new_incarnation = new_incarnation
        self._lock: FileLock | None = None
        self._opened: sqlite3.Connection | None = None

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            raise StoreFailed(f"{self.path} is not open")
        return self._opened

    def load(self) -> LoadedState:
        self._lock = FileLock(self.path)
        try:
            self._opened = opened(self.path, self._lock, self._new_incarnation)
            return self._loaded()
        except BaseException:
            self.close()
            raise

    def _loaded(self) -> LoadedState:
        meta = dict(self._connection.execute("SELECT key, value FROM meta").fetchall())
        machines = self._connection.execute(
            "SELECT id, slot, revision, record, standing FROM machines"
        )
        marks = self._connection.execute(
            "SELECT shard_id, machine_id, epoch, sequence, touched_at FROM marks"
        )
        return LoadedState(
            meta["incarnation"],
            meta["revision"],
            meta["counter"],
            tuple(map(MachineRow._make, machines)),
            tuple(KeptMark(MarkKey(s, m), Mark(e, n), at) for s, m, e, n, at in marks),
            tuple(_rows(self._connection, "WHERE outcome = '' ORDER BY number")),
        )

    def commit(self, batch: Batch) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._write(connection, batch)
            connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            self._roll_back()
            raise StoreFailed(f"{self.path}: {disk_problem(self.path, error)}") from error

    def _roll_back(self) -> None:
        connection = self._connection
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise StoreFailed(f"{self.path}: cannot roll back: {error}") from error

    def _write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        connection.executemany(
            "UPDATE meta SET value = ? WHERE key = ?",
            [(batch.revision, "revision"), (batch.counter, "counter")],
        )
        connection.executemany(
            "DELETE FROM machines WHERE slot = ?", [(slot,) for slot in batch.freed_slots]
        )
        connection.executemany(
            "INSERT OR REPLACE INTO machines (slot, id, revision, record, standing) "
            "VALUES (?, ?, ?, ?, ?)",
            [(m.slot, m.id, m.revision, m.record, m.standing) for m in batch.machines],
        )
        connection.executemany(
            "DELETE FROM marks WHERE shard_id = ? AND machine_id = ?", batch.dropped_marks
        )
        connection.executemany(
            "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?)",
            [(*kept.key, *kept.mark, kept.touched_at) for kept in batch.marks],
        )
        connection.executemany(_UPSERT_JOURNAL, [_journal_values(row) for row in batch.journal])
        if batch.forget_before:
            connection.execute(_FORGET_OLD, (batch.forget_before, _FORGET_AT_ONCE))
            if batch.keep_rows:
                connection.execute(_FORGET_EXCESS, (batch.keep_rows, _FORGET_AT_ONCE))

    def journal(
        self, limit: int = 1000, machine_id: str = "", *, running: bool = False
    ) -> list[JournalRow]:
        """By a connection of its own: a long look back must not keep the writer waiting."""
        rest = (
            "WHERE (:machine = '' OR machine_id = :machine) AND (outcome = '' OR NOT :running) "
            "ORDER BY number DESC LIMIT :limit"
        )
        values = {"machine": machine_id, "running": running, "limit": limit}
        with closing(sqlite3.connect(self.path)) as reader:
            return list(_rows(reader, rest, values))

    def erase(self) -> None:
        """Free pages of the file are zeroed as they are freed; the log keeps what was written until
        it is taken over and cut. While a reader is at it that cannot be; the next time will do.
        """
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (sqlite3.Error, OSError) as error:
            raise StoreFailed(f"{self.path}: {error}") from error

    def backup(self, target: Path) -> None:
        copied(self.path, target)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _rows(
    connection: sqlite3.Connection, rest: str, values: Mapping[str, object] = _NO_VALUES
) -> Iterator[JournalRow]:
    for row in connection.execute(f"SELECT {_COLUMNS} FROM journal {rest}", values):
        yield JournalRow(row[0], row[1], Kind(row[2]), *row[3:])


def _journal_values(row: JournalRow) -> tuple[object, ...]:
    return (
        row.operation_id,
        row.machine_id,
        row.kind.value,
        row.shard_id,
        row.cluster_id,
        row.grace_seconds,
        row.blob,
        row.accepted_at,
        row.started_at,
        row.deadline,
        row.attempt,
        row.note,
        row.outcome,
        row.reason,
        row.finished_at,
    )
