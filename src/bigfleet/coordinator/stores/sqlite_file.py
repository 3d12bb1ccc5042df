"""`coordinator.db`: one table per kind of row, in one SQLite file. For one thread at a time.

Unlike a shard's, this file is not safe to lose: it is made whole under another name first, so one
that is empty has been damaged and is not mistaken for a new one.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from bigfleet.coordinator.stores.contract import LoadedRows, RowChange, Rows
from bigfleet.coordinator.stores.rows import HIDDEN, REVISION, TERM, first_of, term_bytes, term_of
from bigfleet.edge.files import sync_folder
from bigfleet.edge.sqlite_files import FileKind, FileRefused, opened, transaction

FILE = "coordinator.db"


def _table(name: str) -> str:
    # The key is what follows the table's name, with its slash: `seq` has an empty one.
    columns = "key TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL"
    return f'CREATE TABLE "{name}" ({columns}) WITHOUT ROWID;'


COORDINATOR = FileKind(
    # 'bfco'
    application_id=0x6266636F,
    version=1,
    name="state of a coordinator",
    tables=f"{_table(TERM)} {_table(REVISION)} INSERT INTO {REVISION} VALUES ('', '0');",
)


class CoordinatorFile:
    def __init__(self, path: Path) -> None:
        """Opens it, or makes it where there is none; raises FileRefused."""
        self.path = path
        if not path.exists():
            make(path, {})
        elif path.stat().st_size == 0:
            raise FileRefused(
                "it is empty, and a new one never is; restore a snapshot, or move it away"
            )
        self._connection = opened(path, COORDINATOR)
        #: All and only the tables of the file.
        self._tables = _tables_of(self._connection)

    def begin_reign(self) -> int:
        """The new term; raises FileRefused where the one before cannot be read."""
        with transaction(self._connection):
            row = self._connection.execute(f"SELECT value FROM {TERM}").fetchone()
            try:
                term = term_of(row[0] if row is not None else None) + 1
            except ValueError as problem:
                raise FileRefused(f"its term cannot be read: {problem}") from problem
            self._connection.execute(
                f"INSERT OR REPLACE INTO {TERM} VALUES ('', ?)", (term_bytes(term),)
            )
            self._count()
        return term

    def load(self) -> LoadedRows:
        return LoadedRows(_rows_of(self._connection, self._tables), self._revision())

    def commit(self, changes: Sequence[RowChange]) -> int:
        """The revision after it; raises sqlite3.Error with nothing changed."""
        missing = {first_of(change.key) for change in changes} - self._tables
        with transaction(self._connection):
            _make_tables(self._connection, missing)
            _write(self._connection, changes)
            revision = self._count()
        self._tables |= missing
        return revision

    def try_to_write(self) -> None:
        """Raises sqlite3.Error where a commit would. What changes nothing would not be written."""
        with transaction(self._connection):
            self._count()

    def close(self) -> None:
        self._connection.close()

    def _revision(self) -> int:
        (value,) = self._connection.execute(f"SELECT value FROM {REVISION}").fetchone()
        return int(value)

    def _count(self) -> int:
        revision = self._revision() + 1
        self._connection.execute(f"UPDATE {REVISION} SET value = ?", (str(revision),))
        return revision


def make(path: Path, rows: Rows) -> None:
    """A new file with these rows: whole, or not there at all; raises FileRefused."""
    if (left := _side_files(path)) and not path.exists():
        names = " and ".join(each.name for each in left)
        raise FileRefused(
            f"it is missing, but {names} is still there: put it back, or move that away too"
        )
    fresh = path.with_name(f"{path.name}.new")
    try:
        for each in (fresh, *_side_files(fresh)):
            each.unlink(missing_ok=True)
        with closing(opened(fresh, COORDINATOR)) as connection, transaction(connection):
            _make_tables(connection, {first_of(key) for key in rows} - _tables_of(connection))
            _write(connection, [RowChange(key, value) for key, value in rows.items()])
        os.replace(fresh, path)
        sync_folder(path.parent)
    except (sqlite3.Error, OSError) as problem:
        raise FileRefused(str(problem), passing=True) from problem


def _make_tables(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    for name in sorted(names):
        connection.execute(_table(name))


def _write(connection: sqlite3.Connection, changes: Iterable[RowChange]) -> None:
    kept: dict[str, list[tuple[str, bytes]]] = {}
    gone: dict[str, list[tuple[str]]] = {}
    for key, value in ((change.key, change.value) for change in changes):
        name = first_of(key)
        rest = key[len(name) :]
        if value is None:
            gone.setdefault(name, []).append((rest,))
        else:
            kept.setdefault(name, []).append((rest, value))
    for name, rows in kept.items():
        connection.executemany(f'INSERT OR REPLACE INTO "{name}" VALUES (?, ?)', rows)
    for name, keys in gone.items():
        connection.executemany(f'DELETE FROM "{name}" WHERE key = ?', keys)


def _rows_of(connection: sqlite3.Connection, tables: Iterable[str]) -> Mapping[str, bytes]:
    return {
        name + rest: value
        for name in sorted(set(tables) - HIDDEN)
        for rest, value in connection.execute(f'SELECT key, value FROM "{name}"')
    }


def _tables_of(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def _side_files(path: Path) -> list[Path]:
    """A log without its file would be taken for the log of the next file at that path."""
    both = (path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm"))
    return [each for each in both if each.exists()]
