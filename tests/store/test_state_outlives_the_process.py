"""state.db: what was written is there at the next start; a full disk costs time, not rows."""

import sqlite3
from pathlib import Path
from queue import SimpleQueue

import pytest

from bigfleet.model.errors import StartRefused
from bigfleet.shard.store import StateStore
from tests.store.disks import full_disk

PATIENCE = 60


def rows_after(folder: Path) -> dict[str, dict[str, bytes]]:
    store = StateStore(folder)
    store.close()
    return {table: dict(rows) for table, rows in store.rows.items()}


def test_rows_come_back_by_table_and_key(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    store.write("drains", "m-1", b"one")
    store.write("pauses", "m-1", b"\x00two")
    store.write("drains", "m-2", b"three")
    store.write("drains", "m-1", b"newer")
    assert store.close()
    assert rows_after(tmp_path) == {
        "drains": {"m-1": b"newer", "m-2": b"three"},
        "pauses": {"m-1": b"\x00two"},
    }


def test_a_deleted_row_is_gone(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    store.write("marks", "term", b"7")
    store.write("marks", "done", b"x")
    store.synced().result(PATIENCE)
    store.write("marks", "done", None)
    store.write("marks", "never-was", None)
    assert store.close()
    assert rows_after(tmp_path) == {"marks": {"term": b"7"}}


def test_synced_means_on_disk(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    store.write("marks", "term", b"7")
    store.synced().result(PATIENCE)
    other = sqlite3.connect(tmp_path / "state.db")
    assert other.execute("SELECT value FROM kept").fetchall() == [(b"7",)]
    other.close()
    store.close()


def test_a_full_disk_is_told_and_the_rows_wait_for_its_end(tmp_path: Path) -> None:
    told: SimpleQueue[str] = SimpleQueue()
    store = StateStore(tmp_path, told.put, retry_seconds=0.01)
    with full_disk():
        store.write("drains", "m-1", b"old")
        store.write("drains", "m-2", b"kept")
        trouble = told.get(timeout=PATIENCE)
        degraded = store.degraded
        store.write("drains", "m-1", b"new")
    assert "state.db" in trouble
    assert degraded
    assert told.get(timeout=PATIENCE) == ""
    store.synced().result(PATIENCE)
    assert not store.degraded
    assert store.close()
    assert rows_after(tmp_path) == {"drains": {"m-1": b"new", "m-2": b"kept"}}


def test_an_attempt_is_on_disk_when_it_is_done_with_all_that_was_written_before(
    tmp_path: Path,
) -> None:
    store = StateStore(tmp_path)
    store.write("drains", "m-1", b"one")
    store.attempt({("pauses", "p-1"): b"two"}).result(PATIENCE)
    other = sqlite3.connect(tmp_path / "state.db")
    assert other.execute("SELECT value FROM kept ORDER BY key").fetchall() == [(b"one",), (b"two",)]
    other.close()
    store.close()


def test_an_attempt_on_a_full_disk_is_refused_with_the_reason_and_never_written(
    tmp_path: Path,
) -> None:
    store = StateStore(tmp_path, retry_seconds=1000)
    with full_disk():
        store.write("drains", "m-1", b"kept")
        with pytest.raises(OSError, match="the disk is full"):
            store.attempt({("pauses", "p-1"): b"refused"}).result(PATIENCE)
        assert "the disk is full" in store.trouble
    # A new attempt is a new try; what waits does not have to wait for its next one.
    store.attempt({("pauses", "p-2"): b"taken"}).result(PATIENCE)
    assert store.trouble == ""
    assert store.close()
    assert rows_after(tmp_path) == {"drains": {"m-1": b"kept"}, "pauses": {"p-2": b"taken"}}


def test_an_attempt_that_deletes_and_is_refused_leaves_the_row(tmp_path: Path) -> None:
    store = StateStore(tmp_path, retry_seconds=1000)
    store.attempt({("pauses", "p-1"): b"set"}).result(PATIENCE)
    with full_disk(), pytest.raises(OSError, match="the disk is full"):
        store.attempt({("pauses", "p-1"): None}).result(PATIENCE)
    assert store.close()
    assert rows_after(tmp_path) == {"pauses": {"p-1": b"set"}}


def test_closing_on_a_full_disk_ends_and_says_what_was_lost(tmp_path: Path) -> None:
    store = StateStore(tmp_path, retry_seconds=1000)
    with full_disk():
        store.write("drains", "m-1", b"lost")
        promise = store.synced()
        assert not store.close(PATIENCE)
    with pytest.raises(OSError, match=r"state\.db"):
        promise.result(PATIENCE)


def test_what_is_asked_of_a_closed_store_fails_at_once(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    store.close()
    with pytest.raises(OSError, match="is closed"):
        store.synced().result(0)
    with pytest.raises(OSError, match="is closed"):
        store.attempt({}).result(0)


@pytest.mark.parametrize(
    "content",
    [b"not a database at all, but long enough to be looked at" * 20, b"\x00" * 4096],
    ids=["text", "zeros"],
)
def test_a_damaged_file_refuses_the_start_and_says_that_losing_it_is_safe(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "state.db").write_bytes(content)
    with pytest.raises(StartRefused, match=r"Losing it is safe: move state\.db"):
        StateStore(tmp_path)
    assert (tmp_path / "state.db").read_bytes() == content


def test_a_torn_page_is_found(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    for number in range(200):
        store.write("drains", f"m-{number}", bytes(500))
    store.close()
    path = tmp_path / "state.db"
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    with pytest.raises(StartRefused, match="Losing it is safe"):
        StateStore(tmp_path)


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "state.db")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StartRefused, match="it is not a state of a shard"):
        StateStore(tmp_path)


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    StateStore(tmp_path).close()
    later = sqlite3.connect(tmp_path / "state.db")
    later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(StartRefused, match="run the version that wrote it"):
        StateStore(tmp_path)


def test_other_users_may_not_read_the_file(tmp_path: Path) -> None:
    StateStore(tmp_path).close()
    assert (tmp_path / "state.db").stat().st_mode & 0o777 == 0o600
