"""The tables of a state file, and how a file is told apart from a new, a foreign or a broken one.

Next to the state file lies `<file>.lock`. It is held by the running process, and it remembers that
the file once was complete: a state file that is empty although it had content is damaged, not new.
"""

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from bigfleet.provider.stores.store import StoreDamaged, StoreInUse

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
        raise StoreDamaged(f"{path} is no provider state. {_hint(path)}")
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
