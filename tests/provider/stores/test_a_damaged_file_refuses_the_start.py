"""Never a fresh start over something that was there: damage, a foreign file, two processes."""

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from bigfleet.provider import SQLiteStore
from bigfleet.provider.stores.store import (
    Batch,
    LoadedState,
    MachineRow,
    StoreDamaged,
    StoreFailed,
    StoreInUse,
)


def filled(path: Path) -> bytes:
    """The bytes of a state file with two hundred machines."""
    store = SQLiteStore(path, "inc")
    store.load()
    rows = tuple(MachineRow(f"m-{n}", n, n + 1, b"r" * 300, b"s" * 50) for n in range(200))
    store.commit(Batch(200, 1, rows))
    store.close()
    return path.read_bytes()


@pytest.mark.parametrize("tenth", range(10))
def test_a_truncated_file_is_refused_with_a_way_out(tmp_path: Path, tenth: int) -> None:
    path = tmp_path / "state.db"
    content = filled(path)
    os.truncate(path, len(content) * tenth // 10)
    with pytest.raises(StoreDamaged, match="state backup"):
        SQLiteStore(path, "new").load()


@pytest.mark.parametrize("place", [0, 50, 4096, 20_000])
def test_overwritten_bytes_are_refused_or_harmless_but_never_an_empty_fleet(
    tmp_path: Path, place: int
) -> None:
    path = tmp_path / "state.db"
    content = bytearray(filled(path))
    content[place : place + 200] = b"\xa5" * 200
    path.write_bytes(content)
    loaded: LoadedState | None = None
    try:
        store = SQLiteStore(path, "new")
        loaded = store.load()
        store.close()
    except StoreDamaged:
        return
    assert len(loaded.machines) == 200


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE meta (key, value)")
    connection.close()
    with pytest.raises(StoreDamaged, match="not a provider's state"):
        SQLiteStore(path, "new").load()


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
    connection.close()
    with pytest.raises(StoreDamaged, match="schema version 99"):
        SQLiteStore(path, "new").load()


def test_an_empty_file_that_never_had_content_is_a_new_start(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    store = SQLiteStore(path, "inc")
    assert store.load() == LoadedState("inc")
    store.close()


def test_one_process_has_one_file(tmp_path: Path) -> None:
    first = SQLiteStore(tmp_path / "state.db", "inc")
    first.load()
    with pytest.raises(StoreInUse):
        SQLiteStore(tmp_path / "state.db", "inc").load()
    first.close()
    again = SQLiteStore(tmp_path / "state.db", "inc")
    again.load()
    again.close()


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store = SQLiteStore(path, "inc")
    store.load()
    store.commit(Batch(1, 1))
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    store.close()


def test_every_commit_is_synced(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "state.db", "inc")
    store.load()
    settings = {
        name: store._connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "secure_delete")
    }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}
    store.close()


def test_a_failed_commit_leaves_nothing_behind(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "state.db", "inc")
    store.load()
    broken = MachineRow("m", 0, 1, None, b"")  # type: ignore[arg-type]
    with pytest.raises(StoreFailed):
        store.commit(Batch(5, 5, (MachineRow("n", 1, 1, b"", b""), broken)))
    store.commit(Batch(1, 1))
    store.close()
    loaded = SQLiteStore(tmp_path / "state.db", "inc").load()
    assert (loaded.revision, loaded.machines) == (1, ())


def test_a_backup_is_a_state_file_of_its_own(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "state.db", "inc")
    store.load()
    store.commit(Batch(3, 2, (MachineRow("m", 0, 3, b"r", b"s"),)))
    store.backup(tmp_path / "copy.db")
    store.close()
    copy = SQLiteStore(tmp_path / "copy.db", "new")
    loaded = copy.load()
    assert (loaded.incarnation, loaded.revision, len(loaded.machines)) == ("inc", 3, 1)
    copy.close()
    with pytest.raises(OSError, match="exists"):
        store.backup(tmp_path / "copy.db")
