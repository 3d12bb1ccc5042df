"""Both stores keep every row, byte for byte; the durable one over a restart of the process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bigfleet.provider import Kind, MemoryStore, SQLiteStore
from bigfleet.provider.ledger.fences import KeptMark, Mark, MarkKey
from bigfleet.provider.stores.store import Batch, JournalRow, MachineRow, Store

Reopen = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Reopen:
    if request.param == "memory":
        store = MemoryStore()
        return lambda: store
    return lambda: SQLiteStore(tmp_path / "state.db", "inc")


def committed(reopen: Reopen, *batches: Batch) -> Store:
    store = reopen()
    store.load()
    for batch in batches:
        store.commit(batch)
    store.close()
    return reopen()


HOSTILE = "a\0b\x1f\u00e9\U0001f600 "


def test_rows_come_back_byte_for_byte(reopen: Reopen) -> None:
    machine = MachineRow(HOSTILE, 3, 7, bytes(range(256)), b"\0\0")
    mark = KeptMark(MarkKey(HOSTILE, HOSTILE), Mark(2**63 - 1, -(2**63)), 5)
    row = JournalRow("op-1", HOSTILE, Kind.CONFIGURE, HOSTILE, HOSTILE, 9, b"\0secret", 1, 2, 3)
    store = committed(reopen, Batch(7, 4, (machine,), (), (mark,), (), (row,)))
    loaded = store.load()
    assert (loaded.revision, loaded.counter) == (7, 4)
    assert loaded.machines == (machine,)
    assert loaded.marks == (mark,)
    assert loaded.pending == (row,)
    store.close()


def test_the_last_write_of_a_row_wins(reopen: Reopen) -> None:
    first = MachineRow("m", 0, 1, b"1", b"")
    second = MachineRow("m", 0, 2, b"2", b"")
    key = MarkKey("a", "m")
    store = committed(
        reopen,
        Batch(1, 0, (first,), marks=(KeptMark(key, Mark(1, 1), 1),)),
        Batch(2, 0, (second,), marks=(KeptMark(key, Mark(2, 0), 2),)),
    )
    loaded = store.load()
    assert (loaded.machines, [m.mark for m in loaded.marks]) == ((second,), [Mark(2, 0)])
    store.close()


def test_freed_slots_and_dropped_marks_are_gone(reopen: Reopen) -> None:
    key = MarkKey("a", "m")
    store = committed(
        reopen,
        Batch(1, 0, (MachineRow("m", 0, 1, b"", b""),), marks=(KeptMark(key, Mark(1, 1), 1),)),
        Batch(2, 0, freed_slots=(0,), dropped_marks=(key,)),
    )
    loaded = store.load()
    assert (loaded.machines, loaded.marks) == ((), ())
    store.close()


def test_a_finished_operation_is_owed_no_more_and_has_lost_its_blob(reopen: Reopen) -> None:
    row = JournalRow("op-1", "m", Kind.CONFIGURE, blob=b"secret")
    done = row.finished("succeeded", "", 50)
    store = committed(reopen, Batch(1, 1, journal=(row,)), Batch(2, 1, journal=(done,)))
    assert store.load().pending == ()
    assert store.journal() == [done]
    assert done.blob is None
    store.close()


def test_finished_operations_are_forgotten_by_age_and_running_ones_never(reopen: Reopen) -> None:
    old = JournalRow("op-1", "m", Kind.CREATE).finished("succeeded", "", 10)
    young = JournalRow("op-2", "m", Kind.DRAIN).finished("failed", "error", 90)
    owed = JournalRow("op-3", "m", Kind.CREATE)
    store = committed(
        reopen, Batch(1, 3, journal=(old, young, owed)), Batch(2, 3, forget_before=50)
    )
    store.load()
    assert [row.operation_id for row in store.journal()] == ["op-3", "op-2"]
    store.close()


def test_a_memory_store_is_a_new_incarnation_each_time_a_file_never() -> None:
    store = MemoryStore()
    assert store.load().incarnation != store.load().incarnation
