"""One SQLite file of ours: opened durable and private, and told apart from other programs'.

A commit is on disk when it returns. A file that is damaged, foreign or of a later version is
refused and left as it is.
"""

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PASSING = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY})
#: No room: on the disk, within the quota of its owner, or within the process's own limit.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_ONE_PAGE = bytes(4096)


@dataclass(frozen=True, slots=True)
class FileKind:
    """What makes a file ours."""

    #: Four letters, as a number.
    application_id: int
    version: int
    #: As in: it is not a state of a shard.
    name: str
    #: Statements that make the tables, each ended by a semicolon.
    tables: str


class FileRefused(Exception):
    """Why the file cannot be used, as the end of a sentence about it."""

    def __init__(self, problem: str, *, passing: bool = False) -> None:
        super().__init__(problem)
        #: It is the disk, not the file: try again later.
        self.passing = passing


def opened(path: Path, kind: FileKind) -> sqlite3.Connection:
    """The file, checked; made where there is none. To be used by one thread at a time."""
    try:
        # The mode is set before SQLite writes, and its side files take it over.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        os.chmod(path, 0o600)
        connection = sqlite3.connect(
            path, timeout=1.0, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as problem:
        raise FileRefused(str(problem), passing=is_passing(problem)) from problem
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _make_or_check(connection, kind)
    except sqlite3.Error as problem:
        connection.close()
        raise FileRefused(str(problem), passing=is_passing(problem)) from problem
    except FileRefused:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Whole and on disk when left; where anything is raised inside or by the disk, nothing."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A roll-back that fails too leaves nothing behind either: nothing was committed.
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


def is_passing(problem: Exception) -> bool:
    """Whether it is the disk rather than the file."""
    if isinstance(problem, sqlite3.Error):
        # The low byte is the kind; SQLite's own calls have one, misuse of the module has none.
        return getattr(problem, "sqlite_errorcode", 0) & 0xFF in _PASSING
    return False


def disk_problem(path: Path, problem: Exception) -> str:
    """Why the file could not be written; a full disk is called that.

    SQLite says "disk I/O error" for most of what the system refuses, so a page is written beside
    the file to hear the system's own word.
    """
    if isinstance(problem, OSError):
        return _system_problem(problem)
    kind = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if kind == sqlite3.SQLITE_FULL:
        return "the disk is full"
    if kind != sqlite3.SQLITE_IOERR:
        return str(problem)
    try:
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            probe.write(_ONE_PAGE)
            probe.flush()
    except OSError as refused:
        return _system_problem(refused)
    return str(problem)


def _system_problem(problem: OSError) -> str:
    said = problem.strerror or str(problem)
    return f"the disk is full ({said})" if problem.errno in _NO_ROOM else said


def _make_or_check(connection: sqlite3.Connection, kind: FileKind) -> None:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        connection.executescript(
            f"BEGIN; PRAGMA application_id = {kind.application_id}; "
            f"PRAGMA user_version = {kind.version}; {kind.tables} COMMIT;"
        )
        return
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != kind.application_id:
        raise FileRefused(f"it is not a {kind.name}")
    if version != kind.version:
        known = f"it has schema {version}, this program knows {kind.version}"
        raise FileRefused(f"{known}; run the version that wrote it")
    findings = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
    if findings != ["ok"]:
        raise FileRefused(f"it is damaged: {'; '.join(findings)}")
