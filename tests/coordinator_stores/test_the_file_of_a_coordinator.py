"""coordinator.db: one process, durable, and a full disk costs time and nothing else."""

import asyncio
import errno
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bigfleet.coordinator.stores import sqlite
from bigfleet.coordinator.stores.contract import StoreDown, StoreRefused
from bigfleet.coordinator.stores.sqlite import RETRY_SECONDS, SqliteStore
from bigfleet.coordinator.stores.sqlite_file import CoordinatorFile
from bigfleet.edge.clock import ManualClock, next_turn
from tests.coordinator_stores.stands import (
    PATIENCE,
    FileStand,
    leader,
    leading,
    numbered,
    opened,
    put,
    rows_of,
    state,
    until,
)
from tests.store.disks import full_disk

OPENING = """
import asyncio, sys
from pathlib import Path
from bigfleet.coordinator.stores.contract import Leader
from bigfleet.coordinator.stores.sqlite import SqliteStore
from bigfleet.edge.driver import RealClock
asyncio.run(SqliteStore(Path(sys.argv[1]), Leader("b", ""), RealClock()).open())
"""


@pytest.fixture
def stand(tmp_path: Path) -> FileStand:
    return FileStand(tmp_path / "data")


async def refused(stand: FileStand) -> str:
    with pytest.raises(StoreRefused) as told:
        async with opened(stand.store()):
            pass
    return str(told.value)


async def filled(stand: FileStand) -> Path:
    """The file after a clean end, all of it in one piece."""
    store = stand.store()
    async with leading(store):
        await store.commit(numbered("domains", range(500)))
    return store.path


async def test_a_second_process_is_refused_and_told_whose_it_is(stand: FileStand) -> None:
    store = stand.store()
    async with leading(store):
        words = [sys.executable, "-c", OPENING, str(stand.data_dir)]
        second = subprocess.run(words, capture_output=True, text=True)
        assert second.returncode != 0
        assert f"is in use by process {os.getpid()}; stop that one" in second.stderr
        assert "give each coordinator a --data-dir of its own" in second.stderr
    assert await rows_of_next(stand) == {}


async def rows_of_next(stand: FileStand) -> dict[str, bytes]:
    store = stand.store()
    async with leading(store):
        return dict(await rows_of(store))


async def test_a_second_store_of_the_same_process_is_refused_too(stand: FileStand) -> None:
    store = stand.store()
    async with leading(store):
        assert "is in use by process" in await refused(stand)


async def test_a_commit_on_a_full_disk_changes_nothing_and_the_next_one_works(
    stand: FileStand,
) -> None:
    store = SqliteStore(stand.data_dir, leader("a"), ManualClock())
    async with leading(store):
        before = await store.commit(put(seq="1"))
        with full_disk():
            with pytest.raises(StoreDown, match="nothing was changed"):
                await store.commit(put(seq="2", a_new_table__x="y"))
            assert "coordinator.db cannot be written" in store.trouble()
            assert store.still_leads()
        assert await rows_of(store) == {"seq": b"1"}
        assert await store.commit(put(seq="3", a_new_table__x="z")) == before + 1
        assert store.trouble() == ""
        assert await rows_of(store) == {"seq": b"3", "a_new_table/x": b"z"}
    assert await rows_of_next(stand) == {"seq": b"3", "a_new_table/x": b"z"}


async def test_trouble_ends_by_itself_when_the_disk_recovers(stand: FileStand) -> None:
    clock = ManualClock()
    store = SqliteStore(stand.data_dir, leader("a"), clock)
    async with leading(store):
        with full_disk():
            with pytest.raises(StoreDown):
                await store.commit(put(seq="1"))
            told = store.trouble()
            await clock.advance(RETRY_SECONDS)
            # The try in the thread has ended, in vain, when the next one is waited for.
            await until(lambda: clock.next_due() is not None)
            assert store.trouble() == told
        await clock.advance(RETRY_SECONDS)
        await until(lambda: not store.trouble())


async def test_a_store_in_trouble_can_be_closed(stand: FileStand) -> None:
    store = SqliteStore(stand.data_dir, leader("a"), ManualClock())
    async with leading(store):
        with full_disk(), pytest.raises(StoreDown):
            await store.commit(put(seq="1"))
    assert await rows_of_next(stand) == {}


async def test_a_disk_that_says_nothing_is_trouble_and_keeps_nobody(
    stand: FileStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, entered, answers = ManualClock(), threading.Event(), threading.Event()

    def silent(_file: CoordinatorFile, _rows: object) -> int:
        entered.set()
        return int(answers.wait(PATIENCE))

    store = SqliteStore(stand.data_dir, leader("a"), clock)
    monkeypatch.setattr(sqlite, "CLOSE_SECONDS", 0.05)
    monkeypatch.setattr(CoordinatorFile, "commit", silent)
    async with leading(store):
        commit = asyncio.create_task(store.commit(put(seq="1")))
        await until(entered.is_set)
        assert store.trouble() == ""
        await clock.advance(sqlite.SILENCE_SECONDS)
        assert "has not been read or written for 5 s" in store.trouble()
        async with asyncio.timeout(PATIENCE):
            await store.close()
        assert not commit.done()
        answers.set()
        await commit


async def test_a_term_that_cannot_be_read_is_refused_in_words(stand: FileStand) -> None:
    path = await filled(stand)
    writer = sqlite3.connect(path)
    writer.execute("UPDATE term SET value = ?", (b"three",))
    writer.commit()
    writer.close()
    store = stand.store()
    async with opened(store):
        with pytest.raises(StoreRefused, match="its term cannot be read") as told:
            await store.campaign()
        assert "restore the last snapshot" in str(told.value)
        assert not store.still_leads()


async def test_a_reign_does_not_begin_on_a_full_disk(stand: FileStand) -> None:
    store = stand.store()
    async with opened(store):
        with full_disk(), pytest.raises(StoreDown):
            await store.campaign()
        assert not store.still_leads()
        assert (await store.campaign()).term == 1


async def test_a_file_that_cannot_be_made_on_a_full_disk_is_made_later(stand: FileStand) -> None:
    store = stand.store()
    with full_disk(), pytest.raises(StoreDown, match="cannot be written"):
        await store.open()
    assert not store.path.exists()
    async with leading(store) as term:
        assert term == 1


async def test_a_restore_on_a_full_disk_leaves_nothing_that_would_be_taken_for_a_state(
    stand: FileStand,
) -> None:
    with full_disk(), pytest.raises(StoreDown):
        await stand.restore(state(9, seq="1"))
    assert not (stand.data_dir / "coordinator.db").exists()
    await stand.restore(state(9, seq="1"))
    assert await rows_of_next(stand) == {"seq": b"1"}


async def test_a_disk_that_does_not_even_take_the_lock_is_told_with_the_folder(
    stand: FileStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_written: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        text = await refused(stand)
    assert text.startswith(f"data dir {stand.data_dir} cannot be used: No space left on device")
    assert await rows_of_next(stand) == {}


@pytest.mark.parametrize(
    "content",
    [b"", b"not a database at all, but long enough to be looked at" * 20, b"\x00" * 4096],
    ids=["nothing", "text", "zeros"],
)
async def test_a_damaged_file_is_refused_and_left_as_it_is(
    stand: FileStand, content: bytes
) -> None:
    path = await filled(stand)
    path.write_bytes(content)
    text = await refused(stand)
    assert "must not be lost" in text
    assert "restore the last snapshot" in text
    assert path.read_bytes() == content


async def test_a_torn_page_is_found(stand: FileStand) -> None:
    path = await filled(stand)
    content = bytearray(path.read_bytes())
    content[-4096:] = b"\xff" * 4096
    path.write_bytes(content)
    assert "must not be lost" in await refused(stand)


async def test_a_log_whose_file_is_gone_is_not_taken_for_the_log_of_a_new_one(
    stand: FileStand,
) -> None:
    path = await filled(stand)
    path.rename(path.with_name("elsewhere.db"))
    path.with_name("coordinator.db-wal").write_bytes(b"what was not yet in the file")
    assert "coordinator.db-wal of it lies there" in await refused(stand)
    assert not path.exists()


async def test_the_file_of_another_program_is_refused(stand: FileStand) -> None:
    stand.data_dir.mkdir()
    other = sqlite3.connect(stand.data_dir / "coordinator.db")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    assert "it is no state of a coordinator" in await refused(stand)


async def test_a_file_of_a_later_version_is_refused(stand: FileStand) -> None:
    path = await filled(stand)
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 99")
    later.close()
    assert "run the version that wrote it" in await refused(stand)


async def test_nobody_else_may_read_the_file(stand: FileStand) -> None:
    store = stand.store()
    async with leading(store):
        await store.commit(put(seq="1"))
        modes = {p.name: p.stat().st_mode & 0o777 for p in stand.data_dir.iterdir()}
    assert modes.keys() >= {"coordinator.db", "coordinator.db-wal"}
    assert set(modes.values()) == {0o600}
    assert stand.data_dir.stat().st_mode & 0o777 == 0o700


async def test_each_kind_of_row_has_a_table_of_its_own(stand: FileStand) -> None:
    path = await filled(stand)
    reader = sqlite3.connect(path)
    tables = {name for (name,) in reader.execute("SELECT name FROM sqlite_master")}
    (rows,) = reader.execute("SELECT count(*) FROM domains").fetchone()
    reader.close()
    assert (tables, rows) == ({"term", "revision", "domains"}, 500)


async def test_a_commit_is_on_disk_when_it_returns(stand: FileStand) -> None:
    store = stand.store()
    async with leading(store):
        await store.commit(put(seq="1"))
        reader = sqlite3.connect(store.path)
        assert reader.execute("SELECT value FROM seq").fetchall() == [(b"1",)]
        reader.close()


async def test_a_long_commit_does_not_hold_up_the_loop(stand: FileStand) -> None:
    store = stand.store()
    async with leading(store):
        commit = asyncio.create_task(store.commit(numbered("domains", range(5_000))))
        turns = 0
        async with asyncio.timeout(PATIENCE):
            while not commit.done():
                await next_turn()
                turns += 1
        # One turn would hand it over, and one more take the result.
        assert turns > 10
