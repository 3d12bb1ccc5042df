"""List as a shard calls it: revisions that move only with a change, cursors that never hurt."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.provider import MemoryStore
from bigfleet.provider.testing import slots
from tests.provider.rig import running


async def test_the_revision_moves_with_a_change_and_only_then() -> None:
    async with running() as rig:
        _, before = await rig.ids()
        await rig.clock.advance(600)
        assert (await rig.ids())[1] == before
        await rig.create("m-1")
        changed, after = await rig.ids(since=before)
        assert (changed, after != before) == (["m-1"], True)
        await rig.get("m-1")
        settled = (await rig.ids())[1]
        assert await rig.ids(since=settled) == ([], settled)


async def test_a_new_price_shows_in_a_delta_while_the_state_stays() -> None:
    async with running() as rig:
        _, before = await rig.ids()
        rig.substrate.instances["m-2"] = replace(rig.substrate.instances["m-2"], price_per_hour=0.2)
        await rig.clock.advance(121)
        changed, _ = await rig.ids(since=before)
        assert changed == ["m-2"]
        record = await rig.get("m-2")
        assert (record.price_per_hour, record.state) == (0.2, MachineState.SPECULATIVE)


@pytest.mark.parametrize(
    "junk",
    [b"", b"junk", b"\xde" * 4096, b"1.x.d.0.00000000"],
    ids=["empty", "text", "long", "ours"],
)
async def test_junk_gives_the_full_list(junk: bytes) -> None:
    async with running() as rig:
        assert len((await rig.ids(since=junk))[0]) == 4


async def test_a_cursor_of_an_earlier_life_in_memory_gives_the_full_list() -> None:
    store = MemoryStore()
    async with running(store=store) as rig:
        _, old = await rig.ids()
    async with running(store=store) as rig:
        assert len((await rig.ids(since=old))[0]) == 4


async def test_pages_continue_to_the_end() -> None:
    async with running(slots(7)) as rig:
        seen, cursor = await rig.ids(cap=3)
        for _ in range(2):
            more, cursor = await rig.ids(cap=3, since=cursor)
            seen += more
        assert sorted(seen) == sorted(f"m-{n}" for n in range(7))
        assert await rig.ids(cap=3, since=cursor) == ([], cursor)
