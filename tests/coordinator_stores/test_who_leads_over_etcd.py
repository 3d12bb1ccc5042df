"""Of several replicas over one etcd exactly one leads, and one does after every death."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bigfleet.coordinator.keys import UnreadableRow, tables_of
from bigfleet.coordinator.stores.contract import (
    Deposed,
    LatestHeard,
    Leadership,
    StoreDown,
    StoreRefused,
)
from bigfleet.coordinator.stores.etcd import EtcdStore
from bigfleet.coordinator.stores.etcd_keys import Keys
from bigfleet.edge.clock import SECOND, ManualClock
from bigfleet.wire.etcd.client import EtcdClient
from bigfleet.wire.etcd.records import Delete, Put, Transaction
from tests.coordinator_stores.rigs import (
    PATIENCE,
    SHORT_TTL,
    EtcdRig,
    leader,
    leading,
    opened,
    put,
    rows_of,
    until,
)
from tests.etcd_cluster import EtcdCluster, needs_etcd
from tests.etcd_links import Link, link_to

pytestmark = needs_etcd


@pytest.fixture
def short(over_etcd: EtcdRig) -> EtcdRig:
    """With leases that run out within a test."""
    return replace(over_etcd, ttl_seconds=SHORT_TTL)


@pytest.fixture
async def link(etcd: EtcdCluster) -> AsyncIterator[Link]:
    async with link_to(etcd.endpoints[0]) as link:
        yield link


@pytest.fixture
async def client(etcd: EtcdCluster) -> AsyncIterator[EtcdClient]:
    """Past every store, as a person at a terminal."""
    client = EtcdClient(etcd.endpoints)
    yield client
    await client.close()


def through(link: Link, seconds: float = 1.0) -> EtcdClient:
    return EtcdClient([link.address], call_seconds=seconds)


async def test_of_three_campaigners_one_leads_and_the_others_know_which(
    over_etcd: EtcdRig,
) -> None:
    stores = [over_etcd.store(name) for name in "abc"]
    async with opened(*stores):
        campaigns = [asyncio.create_task(store.campaign()) for store in stores]
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait(campaigns, return_when=asyncio.FIRST_COMPLETED)
        winner = next(s for s, c in zip(stores, campaigns, strict=True) if c.done())
        await until(lambda: all(store.leader() == winner.leader() for store in stores))
        assert [store.still_leads() for store in stores].count(True) == 1
        assert [campaign.done() for campaign in campaigns].count(True) == 1
        for campaign in campaigns:
            campaign.cancel()


async def test_who_follows_has_heard_of_the_term_and_of_what_was_written(
    over_etcd: EtcdRig,
) -> None:
    first, second = over_etcd.store("a"), over_etcd.store("b")
    async with leading(first) as term, opened(second):
        assert second.heard() == LatestHeard()
        revision = await first.commit(put(seq="1"))
        assert first.heard() == LatestHeard(term, revision)
        campaign = asyncio.create_task(second.campaign())
        await until(lambda: second.leader() == leader("a"))
        heard = second.heard()
        assert heard.term == term
        assert heard.revision >= revision
        campaign.cancel()


async def test_who_gives_up_its_campaign_leaves_the_seat_to_others(over_etcd: EtcdRig) -> None:
    first, second, third = (over_etcd.store(name) for name in "abc")
    async with leading(first), opened(second, third):
        campaign = asyncio.create_task(second.campaign())
        await until(lambda: second.leader() == leader("a"))
        campaign.cancel()
        with pytest.raises(asyncio.CancelledError):
            await campaign
        await first.resign()
        async with asyncio.timeout(PATIENCE):
            assert (await third.campaign()).term == 2


async def test_a_leader_that_resigns_is_replaced_though_its_lease_was_long(
    over_etcd: EtcdRig,
) -> None:
    first, second = over_etcd.store("a"), over_etcd.store("b")
    async with leading(first), opened(second):
        campaign = asyncio.create_task(second.campaign())
        await until(lambda: second.leader() == leader("a"))
        await first.resign()
        # The lease of the first is for two minutes.
        assert await asyncio.wait_for(campaign, PATIENCE) == Leadership(2)
        assert second.leader() == leader("b")


async def test_a_leader_cut_off_stops_and_another_takes_over(short: EtcdRig, link: Link) -> None:
    first, second = short.store("a", through(link)), short.store("b")
    async with leading(first) as term, opened(second):
        campaign = asyncio.create_task(second.campaign())
        await until(lambda: second.leader() == leader("a"))
        link.silence()
        async with asyncio.timeout(PATIENCE):
            assert "could not be kept for 1 seconds" in await first.until_deposed()
            assert not first.still_leads()
            assert (await campaign).term > term
        with pytest.raises(Deposed):
            await first.commit(put(seq="stale"))
        assert first.leader() is None
        assert await rows_of(second) == {}


async def test_a_leader_stops_by_its_own_clock_when_no_member_answers(
    over_etcd: EtcdRig, link: Link
) -> None:
    clock = ManualClock()
    store = over_etcd.store("a", through(link), clock)
    async with leading(store):
        link.silence()
        await clock.advance(119)
        assert store.still_leads()
        await clock.advance(1)
        assert not store.still_leads()
        assert "could not be kept for 120 seconds" in await store.until_deposed()
        link.mend()
        assert (await store.campaign()).term == 2


async def test_a_leader_whose_keep_alives_arrive_leads_on(over_etcd: EtcdRig) -> None:
    clock = ManualClock()
    store = over_etcd.store("a", clock=clock)
    async with leading(store):
        for _ in range(10):
            await clock.advance(36)
            # The answer comes from another process, in its own time.
            await until(lambda: clock.next_due() == clock.now() + 36 * SECOND)
        assert store.still_leads()


async def test_a_leader_that_believes_too_long_in_itself_changes_nothing(short: EtcdRig) -> None:
    # Its clock stands still: it sends no keep-alive and never thinks that its time is over.
    first, second = short.store("a", clock=ManualClock()), short.store("b")
    async with leading(first) as term, opened(second):
        await first.commit(put(seq="1"))
        async with asyncio.timeout(PATIENCE):
            assert (await second.campaign()).term > term
        assert first.still_leads()
        with pytest.raises(Deposed, match=r"b at b\.example:7790 does"):
            await first.commit(put(seq="stale"))
        assert not first.still_leads()
        assert "b at b.example:7790 leads" in await first.until_deposed()
        assert first.leader() == leader("b")
        with pytest.raises(Deposed):
            await first.load()
        assert await rows_of(second) == {"seq": b"1"}


async def test_a_load_of_who_leads_no_more_is_refused(short: EtcdRig) -> None:
    first, second = short.store("a", clock=ManualClock()), short.store("b")
    async with leading(first), leading(second):
        with pytest.raises(Deposed):
            await first.load()


async def test_terms_only_grow_over_twenty_fail_overs(short: EtcdRig, link: Link) -> None:
    terms: list[int] = []
    store = short.store("a", through(link))
    async with opened(store):
        for number in range(21):
            async with asyncio.timeout(PATIENCE):
                terms.append((await retried(store)).term)
                if number % 7 == 6:
                    link.cut()
                    await store.until_deposed()
                    link.mend()
                else:
                    await store.resign()
    assert terms == sorted(set(terms))
    assert len(terms) == 21


async def retried(store: EtcdStore) -> Leadership:
    while True:
        try:
            return await store.campaign()
        except StoreDown:
            assert store.trouble() != ""


async def test_a_key_deleted_by_hand_ends_the_reign(over_etcd: EtcdRig, client: EtcdClient) -> None:
    clock = ManualClock()
    store = over_etcd.store("a", clock=clock)
    async with leading(store):
        waiting = asyncio.create_task(store.until_deposed())
        await client.commit(Transaction((), (Delete(Keys(over_etcd.prefix).election),)))
        await clock.advance(40)
        assert await asyncio.wait_for(waiting, PATIENCE) == "its key in etcd was deleted"


async def test_no_replica_leads_over_half_a_restore(over_etcd: EtcdRig, client: EtcdClient) -> None:
    keys = Keys(over_etcd.prefix)
    await client.commit(Transaction((), (Put(keys.restoring, b""),)))
    store = over_etcd.store()
    async with opened(store):
        with pytest.raises(StoreRefused, match=f"etcdctl del --prefix {over_etcd.prefix}/"):
            await store.campaign()
        await client.commit(Transaction((), (Delete(keys.restoring),)))
        assert await store.campaign() == Leadership(1)


async def test_a_term_that_cannot_be_read_is_not_taken_for_none(
    over_etcd: EtcdRig, client: EtcdClient
) -> None:
    await client.commit(Transaction((), (Put(Keys(over_etcd.prefix).term, b"seven"),)))
    store = over_etcd.store()
    async with opened(store):
        with pytest.raises(StoreRefused, match="the term in etcd cannot be read"):
            await store.campaign()


async def test_two_fleets_share_an_etcd_by_their_prefixes(over_etcd: EtcdRig) -> None:
    one, ten = over_etcd, replace(over_etcd, prefix=f"{over_etcd.prefix}0")
    first, second = one.store("a"), ten.store("b")
    async with leading(first), leading(second):
        await first.commit(put(seq="of one"))
        await second.commit(put(seq="of ten"))
        assert await rows_of(first) == {"seq": b"of one"}
        assert await rows_of(second) == {"seq": b"of ten"}


async def test_a_foreign_key_is_named_when_the_rows_are_read(
    over_etcd: EtcdRig, client: EtcdClient
) -> None:
    store = over_etcd.store()
    async with leading(store):
        theirs = Keys(over_etcd.prefix).of("domains/") + b"\xff"
        await client.commit(Transaction((), (Put(theirs, b"{}"),)))
        with pytest.raises(UnreadableRow, match=r"row domains/\\xff"):
            tables_of((await store.load()).rows)
