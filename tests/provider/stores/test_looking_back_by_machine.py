"""The story of one machine is found however many others there are."""

from pathlib import Path

import pytest

from bigfleet.provider import Kind, MemoryStore, SQLiteStore
from bigfleet.provider.stores.store import Batch, JournalRow, Store


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    made: Store = MemoryStore("mem")
    if request.param == "sqlite":
        made = SQLiteStore(tmp_path / "state.db", "inc")
    made.load()
    old = JournalRow("op-0", "mine", Kind.CREATE).finished("succeeded", "", 100)
    owed = JournalRow("op-1", "mine", Kind.CONFIGURE)
    others = [JournalRow(f"op-{n}", f"m-{n}", Kind.CREATE) for n in range(2, 50)]
    ended = [row.finished("failed", "error", 100) for row in others]
    made.commit(Batch(1, 50, journal=(old, owed, *ended)))
    return made


@pytest.mark.parametrize(
    ("machine_id", "running", "ids"),
    [
        ("mine", False, ["op-1", "op-0"]),
        ("mine", True, ["op-1"]),
        ("", True, ["op-1"]),
        ("", False, [f"op-{n}" for n in range(49, 29, -1)]),
        ("m-7", True, []),
    ],
)
def test_the_limit_counts_what_was_asked_for(
    store: Store, machine_id: str, running: bool, ids: list[str]
) -> None:
    found = store.journal(20, machine_id, running=running)
    assert [row.operation_id for row in found] == ids
    store.close()
