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
from tests.coordinator_stores.rigs import (
    PATIENCE,
    FileRig,
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
def rig(tmp_path: Path) -> FileRig:
    return FileRig(tmp_path / "data")


async def refused(rig: FileRig) -> str:
    with pytest.raises(StoreRefused) as told:
        async with opened(rig.store()):
            pass
    return str(told.value)


async def filled(rig: FileRig) -> Path:
    """The file after a clean end, all of it in one piece."""
    store = rig.store()
    async with leading(store):
        await store.commit(numbered("domains", range(500)))
    return store.path


async def test_a_second_process_is_refused_and_told_whose_it_is(rig: FileRig) -> None:
    store = rig.store()
    async with leading(store):
        words = [sys.executable, "-c", OPENING, str(rig.data_dir)]
        second = subprocess.run(words, capture_output=True, text=True)
        assert second.returncode != 0
        assert f"is in use by process {os.getpid()}; stop that one" in second.stderr
        assert "give each coordinator a --data-dir of its own" in second.stderr
    assert await rows_of_next(rig) == {}


async def rows_of_next(rig: FileRig) -> dict[str, bytes]:
    store = rig.store()
    async with leading(store):
        return dict(await rows_of(store))


async def test_a_second_store_of_the_same_process_is_refused_too(rig: FileRig) -> None:
    store = rig.store()
    async with leading(store):
        assert "is in use by process" in await refused(rig)


async def test_a_commit_on_a_full_disk_changes_nothing_and_the_next_one_works(
    rig: FileRig,
) -> None:
    store = SqliteStore(rig.data_dir, leader("a"), ManualClock())
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
    assert await rows_of_next(rig) == {"seq": b"3", "a_new_table/x": b"z"}


async def test_trouble_ends_by_itself_when_the_disk_recovers(rig: FileRig) -> None:
    clock = ManualClock()
    store = SqliteStore(rig.data_dir, leader("a"), clock)
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


async def test_a_store_in_trouble_can_be_closed(rig: FileRig) -> None:
    store = SqliteStore(rig.data_dir, leader("a"), ManualClock())
    async with leading(store):
        with full_disk(), pytest.raises(StoreDown):
            await store.commit(put(seq="1"))
    assert await rows_of_next(rig) == {}


async def test_a_disk_that_hangs_is_trouble_and_holds_up_no_caller(
    rig: FileRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, entered, answers = ManualClock(), threading.Event(), threading.Event()

    def silent(_file: CoordinatorFile, _rows: object) -> int:
        entered.set()
        return int(answers.wait(PATIENCE))

    store = SqliteStore(rig.data_dir, leader("a"), clock)
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


async def test_a_term_that_cannot_be_read_is_refused_in_words(rig: FileRig) -> None:
    path = await filled(rig)
    writer = sqlite3.connect(path)
    writer.execute("UPDATE term SET value = ?", (b"three",))
    writer.commit()
    writer.close()
    store = rig.store()
    async with opened(store):
        with pytest.raises(StoreRefused, match="its term cannot be read") as told:
            await store.campaign()
        assert "restore the last snapshot" in str(told.value)
        assert not store.still_leads()


async def test_a_reign_does_not_begin_on_a_full_disk(rig: FileRig) -> None:
    store = rig.store()
    async with opened(store):
        with full_disk(), pytest.raises(StoreDown):
            await store.campaign()
        assert not store.still_leads()
        assert (await store.campaign()).term == 1


async def test_a_file_that_cannot_be_made_on_a_full_disk_is_made_later(rig: FileRig) -> None:
    store = rig.store()
    with full_disk(), pytest.raises(StoreDown, match="cannot be written"):
        await store.open()
    assert not store.path.exists()
    async with leading(store) as term:
        assert term == 1


async def test_a_restore_on_a_full_disk_leaves_nothing_that_would_be_taken_for_a_state(
    rig: FileRig,
) -> None:
    with full_disk(), pytest.raises(StoreDown):
        await rig.restore(state(9, seq="1"))
    assert not (rig.data_dir / "coordinator.db").exists()
    await rig.restore(state(9, seq="1"))
    assert await rows_of_next(rig) == {"seq": b"1"}


async def test_a_disk_that_does_not_even_take_the_lock_is_told_with_the_folder(
    rig: FileRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_written: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        text = await refused(rig)
    assert text.startswith(f"data dir {rig.data_dir} cannot be used: No space left on device")
    assert await rows_of_next(rig) == {}


@pytest.mark.parametrize(
    "content",
    [b"", b"not a database at all, but long enough to be looked at" * 20, b"\x00" * 4096],
    ids=["nothing", "text", "zeros"],
)
async def test_a_damaged_file_is_refused_and_left_as_it_is(rig: FileRig, content: bytes) -> None:
    path = await filled(rig)
    path.write_bytes(content)
    text = await refused(rig)
    assert "must not be lost" in text
    assert "restore the last snapshot" in text
    assert path.read_bytes() == content


async def test_a_torn_page_is_found(rig: FileRig) -> None:
    path = await filled(rig)
    content = bytearray(path.read_bytes())
    content[-4096:] = b"\xff" * 4096
    path.write_bytes(content)
    assert "must not be lost" in await refused(rig)


async def test_a_log_whose_file_is_gone_is_not_taken_for_the_log_of_a_new_one(
    rig: FileRig,
) -> None:
    path = await filled(rig)
    path.rename(path.with_name("elsewhere.db"))
    path.with_name("coordinator.db-wal").write_bytes(b"what was not yet in the file")
    assert "coordinator.db-wal is still there" in await refused(rig)
    assert not path.exists()


async def test_the_file_of_another_program_is_refused(rig: FileRig) -> None:
    rig.data_dir.mkdir()
    other = sqlite3.connect(rig.data_dir / "coordinator.db")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    assert "it is not a state of a coordinator" in await refused(rig)


async def test_a_file_of_a_later_version_is_refused(rig: FileRig) -> None:
    path = await filled(rig)
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 99")
    later.close()
    assert "run the version that wrote it" in await refused(rig)


async def test_other_users_may_not_read_the_file(rig: FileRig) -> None:
    store = rig.store()
    async with leading(store):
        await store.commit(put(seq="1"))
        modes = {p.name: p.stat().st_mode & 0o777 for p in rig.data_dir.iterdir()}
    assert modes.keys() >= {"coordinator.db", "coordinator.db-wal"}
    assert set(modes.values()) == {0o600}
    assert rig.data_dir.stat().st_mode & 0o777 == 0o700


async def test_each_kind_of_row_has_a_table_of_its_own(rig: FileRig) -> None:
    path = await filled(rig)
    reader = sqlite3.connect(path)
    tables = {name for (name,) in reader.execute("SELECT name FROM sqlite_master")}
    (rows,) = reader.execute("SELECT count(*) FROM domains").fetchone()
    reader.close()
    assert (tables, rows) == ({"term", "revision", "domains"}, 500)


async def test_a_commit_is_on_disk_when_it_returns(rig: FileRig) -> None:
    store = rig.store()
    async with leading(store):
        await store.commit(put(seq="1"))
        reader = sqlite3.connect(store.path)
        assert reader.execute("SELECT value FROM seq").fetchall() == [(b"1",)]
        reader.close()


async def test_a_long_commit_does_not_hold_up_the_loop(rig: FileRig) -> None:
    store = rig.store()
    async with leading(store):
        commit = asyncio.create_task(store.commit(numbered("domains", range(5_000))))
        turns = 0
        async with asyncio.timeout(PATIENCE):
            while not commit.done():
                await next_turn()
                turns += 1
        # One turn would hand it over, and one more take the result.
        assert turns > 10
