"""The client of etcd: the next endpoint where one fails, and no guess about what has happened."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bigfleet.model.provider_calls import Code
from bigfleet.wire.etcd.client import EtcdClient
from bigfleet.wire.etcd.records import (
    Created,
    Delete,
    EtcdDown,
    EtcdRefused,
    EtcdUnclear,
    Put,
    Read,
    Transaction,
    Written,
)
from tests.coordinator_stores.rigs import PATIENCE, fresh_prefix, until
from tests.etcd_cluster import EtcdCluster, free_ports, needs_etcd
from tests.etcd_links import Link, link_to

pytestmark = needs_etcd


@pytest.fixture
def key() -> bytes:
    return fresh_prefix().encode()


@pytest.fixture
async def link(etcd: EtcdCluster) -> AsyncIterator[Link]:
    async with link_to(etcd.endpoints[0]) as link:
        yield link


@pytest.fixture
async def client(etcd: EtcdCluster) -> AsyncIterator[EtcdClient]:
    client = EtcdClient(etcd.endpoints)
    yield client
    await client.close()


@pytest.fixture
async def pair(etcd: EtcdCluster, link: Link) -> AsyncIterator[EtcdClient]:
    """Two ways to the same etcd, the first by a link that may break."""
    client = EtcdClient([link.address, *etcd.endpoints], call_seconds=1.0)
    yield client
    await client.close()


def putting(key: bytes, value: bytes = b"x") -> Transaction:
    return Transaction((), (Put(key, value),))


async def test_guards_hold_or_the_other_branch_is_done(client: EtcdClient, key: bytes) -> None:
    made = await client.commit(Transaction((Created(key, 0),), (Put(key, b"1"),)))
    assert made.held
    again = Transaction((Created(key, 0),), (Put(key, b"2"),), (Read(key),))
    outcome = await client.commit(again)
    assert not outcome.held
    (row,) = outcome.pages[0].rows
    assert (row.value, row.created, row.written) == (b"1", made.revision, made.revision)
    guards = (Created(key, made.revision), Written(key, made.revision))
    assert (await client.commit(Transaction(guards, (Put(key, b"3"),)))).held
    assert not (await client.commit(Transaction(guards, (Delete(key),)))).held
    assert (await client.read(Read(key))).rows[0].value == b"3"


async def test_a_guard_over_a_range_holds_while_it_is_empty(client: EtcdClient, key: bytes) -> None:
    empty = Transaction((Created(key, 0, key + b"\xff"),), ())
    assert (await client.commit(empty)).held
    await client.commit(putting(key + b"/a"))
    assert not (await client.commit(empty)).held


async def test_a_read_gives_pages_and_says_what_is_left(client: EtcdClient, key: bytes) -> None:
    rows = tuple(Put(key + b"/%d" % number, b"v") for number in range(5))
    await client.commit(Transaction((), rows))
    page = await client.read(Read(key, key + b"\xff", limit=2))
    assert [row.key for row in page.rows] == [row.key for row in rows[:2]]
    assert (page.more, page.count) == (True, 5)
    later = await client.read(Read(page.rows[-1].key + b"\0", key + b"\xff", 9, page.revision))
    assert [row.key for row in later.rows] == [row.key for row in rows[2:]]
    assert not later.more


async def test_what_etcd_refuses_is_told_with_its_code(client: EtcdClient, key: bytes) -> None:
    with pytest.raises(EtcdRefused, match="duplicate key") as refused:
        await client.commit(Transaction((), (Put(key, b"1"), Put(key, b"2"))))
    assert refused.value.code is Code.INVALID_ARGUMENT
    with pytest.raises(EtcdRefused, match="future revision") as later:
        await client.read(Read(key, revision=10**12))
    assert later.value.compacted


async def test_a_lease_takes_its_keys_with_it(client: EtcdClient, key: bytes) -> None:
    lease = await client.grant(100)
    assert lease.ttl_seconds == 100
    await client.commit(Transaction((), (Put(key, b"x", lease.id),)))
    assert (await client.read(Read(key))).rows[0].lease == lease.id
    assert await client.keep_alive(lease.id, 1.0) == 100
    await client.revoke(lease.id)
    await client.revoke(lease.id)
    assert (await client.read(Read(key))).rows == ()
    assert await client.keep_alive(lease.id, 1.0) <= 0
    with pytest.raises(EtcdRefused, match="lease not found"):
        await client.commit(Transaction((), (Put(key, b"x", lease.id),)))


async def test_a_watch_tells_every_change_from_its_revision_on(
    client: EtcdClient, key: bytes
) -> None:
    first = (await client.commit(putting(key, b"1"))).revision
    await client.commit(putting(key, b"2"))
    watch, seen = client.watch(key, first, PATIENCE), list[bytes | None]()
    async with asyncio.timeout(PATIENCE):
        async for change in watch:
            seen.append(change.now.value if change.now else None)
            if len(seen) == 2:
                await client.commit(Transaction((), (Delete(key),)))
            if change.now is None:
                break
    await watch.aclose()
    assert seen == [b"1", b"2", None]


async def test_a_watch_ends_with_its_time(client: EtcdClient, key: bytes) -> None:
    async with asyncio.timeout(PATIENCE):
        assert [change async for change in client.watch(key, 0, 0.05)] == []


# -- endpoints -------------------------------------------------------------------------------------


async def test_a_dead_endpoint_is_passed_over_for_reads_and_transactions(
    etcd: EtcdCluster, key: bytes
) -> None:
    dead = f"127.0.0.1:{free_ports(1)[0]}"
    for first in (True, False):
        client = EtcdClient([dead, *etcd.endpoints])
        if first:
            await client.commit(putting(key))
        assert len((await client.read(Read(key))).rows) == 1
        await client.close()


async def test_an_endpoint_that_never_answers_the_connection_has_not_been_sent_anything(
    pair: EtcdClient, link: Link, key: bytes
) -> None:
    link.silence()
    async with asyncio.timeout(PATIENCE):
        assert (await pair.commit(putting(key))).held


async def test_a_read_without_an_answer_is_asked_of_the_next_endpoint(
    pair: EtcdClient, link: Link, key: bytes
) -> None:
    await pair.commit(putting(key))
    link.hold_answers()
    async with asyncio.timeout(PATIENCE):
        assert (await pair.read(Read(key))).rows[0].value == b"x"


async def test_a_transaction_without_an_answer_is_not_sent_again(
    pair: EtcdClient, link: Link, key: bytes
) -> None:
    await pair.version()
    link.silence()
    commit = asyncio.create_task(pair.commit(putting(key)))
    await until(lambda: link.holds_requests)
    link.cut()
    with pytest.raises(EtcdUnclear, match=link.address):
        await commit
    # What comes next goes to the other endpoint, and what was lost is lost.
    assert (await pair.read(Read(key))).rows == ()


async def test_a_watch_that_breaks_says_so_and_the_next_goes_elsewhere(
    pair: EtcdClient, link: Link, key: bytes
) -> None:
    await pair.version()
    watching = asyncio.create_task(anext(pair.watch(key, 1, PATIENCE)))
    await until(lambda: link.answers > 0)
    link.cut()
    with pytest.raises(EtcdDown, match=link.address):
        await watching
    await pair.commit(putting(key))
    assert (await anext(pair.watch(key, 1, PATIENCE))).now is not None


async def test_without_an_answer_each_endpoint_is_named() -> None:
    ports = free_ports(2)
    client = EtcdClient([f"127.0.0.1:{port}" for port in ports])
    for asked in (client.version, lambda: client.commit(putting(b"/x"))):
        with pytest.raises(EtcdDown, match=f"127.0.0.1:{ports[0]}.*; 127.0.0.1:{ports[1]}"):
            await asked()
    await client.close()


def test_a_client_without_endpoints_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one endpoint"):
        EtcdClient([])
