"""Ids are the substrate's idempotency tokens: no two stores ever give out the same one."""

from pathlib import Path

from bigfleet.provider import MemoryStore, ProviderServer, SQLiteStore
from bigfleet.provider.backend import OpenContext
from bigfleet.provider.stores.store import Store
from bigfleet.provider.testing import FakeSubstrate, slots
from tests.provider.rig import Rig, running


class Introduced(FakeSubstrate):
    """Remembers what it was told at its opening."""

    incarnation = ""

    async def open(self, ctx: OpenContext) -> None:
        self.incarnation = ctx.incarnation


async def first_id(store: Store | None) -> tuple[str, str]:
    """The id the first operation on a store gets, and the store's name as the Backend knows it."""
    substrate = Introduced(slots(1))
    async with running(substrate=substrate, store=store) as rig:
        return (await rig.create("m-0")).operation_id, substrate.incarnation


async def test_two_fresh_files_give_out_different_ids(tmp_path: Path) -> None:
    first, name = await first_id(SQLiteStore(tmp_path / "a.db", "aaa"))
    second, _ = await first_id(SQLiteStore(tmp_path / "b.db", "bbb"))
    assert (first, second) == ("op-aaa-1", "op-bbb-1")
    assert name == "aaa"


async def test_a_file_keeps_its_name_and_goes_on_counting(tmp_path: Path) -> None:
    async def life(new_incarnation: str, machine_id: str) -> str:
        store = SQLiteStore(tmp_path / "state.db", new_incarnation)
        async with running(slots(2), store=store) as rig:
            return (await rig.create(machine_id)).operation_id

    assert await life("first", "m-0") == "op-first-1"
    assert await life("second", "m-1") == "op-first-2"


async def test_memory_is_another_store_each_time() -> None:
    assert (await first_id(MemoryStore()))[0] != (await first_id(MemoryStore()))[0]
    server, other = ProviderServer(FakeSubstrate()), ProviderServer(FakeSubstrate())
    assert server._store.load().incarnation != other._store.load().incarnation


async def test_a_lost_store_does_not_find_the_hosts_of_its_predecessor() -> None:
    """A substrate that answers a known token with the old object would bind it to a new machine."""
    made: dict[str, str] = {}

    async def create(rig: Rig, machine_id: str) -> None:
        operation_id = (await rig.create(machine_id)).operation_id
        assert made.setdefault(operation_id, machine_id) == machine_id

    for machine_id in ("m-0", "m-1"):
        async with running(slots(2), store=MemoryStore()) as rig:
            await create(rig, machine_id)
    assert len(made) == 2
