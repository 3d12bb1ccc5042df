"""Whichever store it is: who leads writes, whole or not at all, and what is written stays."""

import asyncio
from random import Random

import pytest

from bigfleet.coordinator.stores.contract import Deposed, RowChange, StoreRefused
from bigfleet.coordinator.stores.rows import term_of
from bigfleet.edge.clock import settle
from tests.coordinator_stores.rigs import (
    PATIENCE,
    Rig,
    dropped,
    leader,
    leading,
    numbered,
    opened,
    put,
    rows_of,
    state,
)


async def test_rows_come_back_as_they_were_left(rig: Rig) -> None:
    store = rig.store()
    async with leading(store):
        await store.commit(put(seq="1", shards__a="one", shards__b="two"))
        await store.commit([*put(shards__a="newer", quotas__aws="q"), *dropped("shards/b")])
        await store.commit(dropped("shards/never-was"))
        assert await rows_of(store) == {"seq": b"1", "shards/a": b"newer", "quotas/aws": b"q"}


async def test_rows_outlive_the_reign_and_the_process(rig: Rig) -> None:
    first, second = rig.store(), rig.store()
    async with leading(first):
        await first.commit(put(shards__a="one"))
    async with leading(second):
        assert await rows_of(second) == {"shards/a": b"one"}


@pytest.mark.parametrize(
    "key",
    ["seq", "defaults/", "quotas/sim/", "quotas//eu", "domains/k%2Fz/%C3%A9", "a_new_table/x"],
    ids=["no part", "one empty part", "an empty end", "an empty middle", "escapes", "any table"],
)
async def test_a_name_of_any_number_of_parts_names_one_row(rig: Rig, key: str) -> None:
    store = rig.store()
    async with leading(store):
        await store.commit([RowChange(key, b"\x00\xff{}")])
        assert await rows_of(store) == {key: b"\x00\xff{}"}
        await store.commit(dropped(key))
        assert await rows_of(store) == {}


async def test_the_revision_grows_with_every_commit_and_load_says_which(rig: Rig) -> None:
    store = rig.store()
    async with leading(store):
        revisions = [await store.commit(put(seq=str(number))) for number in range(5)]
        loaded = await store.load()
    assert revisions == sorted(set(revisions))
    assert loaded.revision >= revisions[-1]


async def test_of_two_changes_of_a_row_the_last_counts(rig: Rig) -> None:
    store = rig.store()
    async with leading(store):
        await store.commit([*put(seq="1"), *dropped("seq"), *put(seq="2"), *put(x="1")])
        await store.commit([*put(x="2"), *dropped("x")])
        assert await rows_of(store) == {"seq": b"2"}


async def test_a_transaction_of_the_greatest_length_is_taken(rig: Rig) -> None:
    store = rig.store()
    most = store.most_changes or 1_000
    async with leading(store):
        await store.commit(numbered("overrides", range(most)))
        assert len(await rows_of(store)) == most
        await store.commit(dropped(*(c.key for c in numbered("overrides", range(most)))))
        assert await rows_of(store) == {}


@pytest.mark.parametrize("name", ["term", "election", "restoring", "revision", "No", "", "/a"])
async def test_a_commit_with_a_name_it_may_not_use_changes_nothing(rig: Rig, name: str) -> None:
    store = rig.store()
    async with leading(store):
        with pytest.raises(ValueError, match=r"named|term"):
            await store.commit([*put(seq="1"), RowChange(name, b"x")])
        assert await rows_of(store) == {}


async def test_many_commits_leave_what_one_dictionary_would(rig: Rig) -> None:
    chance, model = Random(5), dict[str, bytes]()
    store = rig.store()
    async with leading(store):
        for step in range(40):
            names = [f"{chance.choice('abc')}/{chance.randrange(8)}" for _ in range(4)]
            values = [None if chance.random() < 0.4 else b"%d" % step for _ in names]
            await store.commit([RowChange(*pair) for pair in zip(names, values, strict=True)])
            for name, value in zip(names, values, strict=True):
                model.pop(name, None) if value is None else model.update({name: value})
        assert await rows_of(store) == model


# -- reigns ----------------------------------------------------------------------------------------


async def test_each_reign_has_a_higher_term_and_finds_it_among_the_rows(rig: Rig) -> None:
    terms, stored = [], []
    for _ in range(4):
        store = rig.store()
        async with leading(store) as term:
            terms.append(term)
            stored.append(term_of((await store.load()).rows["term"]))
    assert terms == stored == [1, 2, 3, 4]


async def test_who_leads_again_does_so_in_a_higher_term(rig: Rig) -> None:
    store = rig.store()
    async with leading(store) as term:
        await store.resign()
        assert (await store.campaign()).term == term + 1
        assert store.still_leads()


async def test_who_has_never_led_reads_and_writes_nothing(rig: Rig) -> None:
    store = rig.store()
    async with opened(store):
        assert not store.still_leads()
        assert store.leader() is None
        assert "does not lead" in await store.until_deposed()
        with pytest.raises(Deposed):
            await store.commit(put(seq="1"))
        with pytest.raises(Deposed):
            await store.load()
        await store.campaign()
        assert await rows_of(store) == {}


async def test_who_leads_is_known_and_without_trouble(rig: Rig) -> None:
    store = rig.store("b")
    async with leading(store):
        waiting = asyncio.create_task(store.until_deposed())
        await settle()
        assert store.still_leads()
        assert store.leader() == leader("b")
        assert store.trouble() == ""
        assert not waiting.done()
        waiting.cancel()


async def test_who_has_resigned_leads_no_more_and_changes_nothing(rig: Rig) -> None:
    store = rig.store()
    async with leading(store):
        await store.commit(put(seq="1"))
        waiting = asyncio.create_task(store.until_deposed())
        await settle()
        await store.resign()
        assert await asyncio.wait_for(waiting, PATIENCE) == "this replica resigned"
        assert not store.still_leads()
        assert store.leader() is None
        with pytest.raises(Deposed, match="resigned"):
            await store.commit(put(seq="2"))
        await store.resign()
        await store.campaign()
        assert await rows_of(store) == {"seq": b"1"}


# -- restoring -------------------------------------------------------------------------------------


async def test_a_restored_state_is_all_there_is_and_its_term_is_counted_on(rig: Rig) -> None:
    rows = state(1_041, seq="7", defaults__="d")
    rows = {**rows, **{c.key: c.value or b"" for c in numbered("domains", range(300))}}
    await rig.restore(rows)
    store = rig.store()
    async with leading(store) as term:
        assert term == 1_042
        assert {**await rows_of(store), "term": rows["term"]} == rows
        await store.commit(put(seq="8"))


async def test_a_store_that_holds_anything_is_not_restored_into(rig: Rig) -> None:
    store = rig.store()
    async with leading(store):
        await store.commit(put(seq="1"))
    with pytest.raises(StoreRefused, match="a restore replaces nothing"):
        await rig.restore(state(1_000, seq="9"))
    again = rig.store()
    async with leading(again) as term:
        assert (term, await rows_of(again)) == (2, {"seq": b"1"})


async def test_a_store_in_use_is_not_restored_into(rig: Rig) -> None:
    store = rig.store()
    async with leading(store):
        with pytest.raises(StoreRefused, match="stop"):
            await rig.restore(state(1_000))
        assert await rows_of(store) == {}


async def test_a_state_without_a_term_is_not_restored(rig: Rig) -> None:
    with pytest.raises(ValueError, match="a term above 0"):
        await rig.restore({"seq": b"1"})
    await rig.restore(state(3))
