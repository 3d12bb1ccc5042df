"""Finished operations are kept for a week and only so many of them; owed ones for ever."""

from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.provider import Kind, MemoryStore, SQLiteStore
from bigfleet.provider.stores.memory import ROWS
from bigfleet.provider.stores.store import Batch, JournalRow, Store
from tests.provider.rig import OPTIONS, running


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    made: Store = MemoryStore("mem")
    if request.param == "sqlite":
        made = SQLiteStore(tmp_path / "state.db", "inc")
    made.load()
    return made


def rows(numbers: range, *, owed: int) -> tuple[JournalRow, ...]:
    made = (JournalRow(f"op-{number}", "m", Kind.CREATE) for number in numbers)
    return tuple(
        row if number == owed else row.finished("succeeded", "", 100)
        for number, row in zip(numbers, made, strict=True)
    )


def test_only_so_many_of_the_newest_are_kept(store: Store) -> None:
    store.commit(Batch(1, 9, journal=rows(range(9), owed=2)))
    store.commit(Batch(1, 9, forget_before=50, keep_rows=3))
    assert [row.operation_id for row in store.journal()] == ["op-8", "op-7", "op-6", "op-2"]
    store.close()


def test_without_a_bound_only_age_counts(store: Store) -> None:
    store.commit(Batch(1, 9, journal=rows(range(9), owed=2)))
    store.commit(Batch(1, 9, forget_before=50))
    assert len(store.journal()) == 9
    store.commit(Batch(1, 9, forget_before=101))
    assert [row.operation_id for row in store.journal()] == ["op-2"]
    store.close()


def test_memory_has_a_bound_of_its_own() -> None:
    store = MemoryStore("mem")
    store.load()
    store.commit(Batch(1, 1, journal=rows(range(ROWS + 7), owed=0)))
    store.commit(Batch(1, 1, forget_before=50, keep_rows=10 * ROWS))
    assert len(store.journal(2 * ROWS)) == ROWS + 1
    store.close()


async def test_a_busy_provider_stays_within_its_bound() -> None:
    store = MemoryStore("mem")
    async with running(store=store, options=replace(OPTIONS, journal_rows=6)) as rig:
        for _ in range(10):
            await rig.to_configured("m-0")
            await rig.drain("m-0")
            await rig.clock.advance(2)
            await rig.delete("m-0")
            await rig.clock.advance(2)
        await rig.create("m-1")
        assert len(store.journal()) <= 6 + 1
