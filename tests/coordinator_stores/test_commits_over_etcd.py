"""A commit over a bad link: refused, taken, or unclear, and what is unclear never comes back."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.coordinator.stores.contract import RowChange, StoreDown, StoreRefused, StoreUnclear
from bigfleet.coordinator.stores.etcd_keys import Keys
from bigfleet.edge import certificates
from bigfleet.edge.clock import next_turn
from bigfleet.edge.driver import RealClock
from bigfleet.model.provider_calls import Code
from bigfleet.wire.etcd.client import EtcdClient
from bigfleet.wire.etcd.records import (
    EtcdRefused,
    EtcdUnclear,
    Put,
    RangePage,
    Read,
    Transaction,
    TransactionOutcome,
)
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_server import ProviderEndpoint
from tests.coordinator_stores.rigs import (
    PATIENCE,
    QUICK,
    EtcdRig,
    fresh_prefix,
    leading,
    numbered,
    opened,
    put,
    rows_of,
    rows_when_reached,
    until,
)
from tests.etcd_cluster import EtcdCluster, etcd_cluster, needs_etcd
from tests.etcd_links import Link, link_to
from tests.wire.lines import ScriptedProvider

pytestmark = needs_etcd


@pytest.fixture
async def link(etcd: EtcdCluster) -> AsyncIterator[Link]:
    async with link_to(etcd.endpoints[0]) as link:
        yield link


def through(link: Link) -> EtcdClient:
    return EtcdClient([link.address], call_seconds=PATIENCE)


class LateClient(EtcdClient):
    """Loses a transaction on request, and finds it again after its caller has given up."""

    losing = False
    lost: Transaction | None = None

    async def commit(self, transaction: Transaction) -> TransactionOutcome:
        if self.losing:
            self.losing, self.lost = False, transaction
            raise EtcdUnclear("no answer came")
        return await super().commit(transaction)

    async def deliver(self) -> TransactionOutcome:
        assert self.lost is not None
        return await super().commit(self.lost)


async def test_a_commit_whose_answer_is_lost_is_unclear_and_has_happened(
    over_etcd: EtcdRig, link: Link
) -> None:
    store, other = over_etcd.store(client=through(link)), EtcdClient(over_etcd.endpoints)
    async with leading(store):
        revision = (await store.load()).revision
        link.hold_answers()
        commit = asyncio.create_task(store.commit(put(seq="1")))
        row = Keys(over_etcd.prefix).of("seq")
        async for change in other.watch(row, revision + 1, PATIENCE):
            assert change.now is not None
            break
        link.cut()
        with pytest.raises(StoreUnclear, match="etcd may have taken it, or may yet"):
            await commit
        assert "etcd does not answer" in store.trouble()
        link.mend()
        assert await rows_when_reached(store) == {"seq": b"1"}
        assert store.trouble() == ""
        await store.commit(put(seq="2"))
    await other.close()


async def test_a_commit_that_is_lost_is_unclear_and_has_not_happened(
    over_etcd: EtcdRig, link: Link
) -> None:
    store = over_etcd.store(client=through(link))
    async with leading(store):
        link.silence()
        commit = asyncio.create_task(store.commit(put(seq="1")))
        await until(lambda: link.holds_requests)
        link.cut()
        with pytest.raises(StoreUnclear):
            await commit
        link.mend()
        assert await rows_when_reached(store) == {}


async def test_a_commit_while_there_is_no_connection_has_not_happened(
    over_etcd: EtcdRig, link: Link
) -> None:
    client = through(link)
    store = over_etcd.store(client=client)
    async with leading(store):
        link.cut()
        # A connection that is gone is noticed a little later: until then a commit would be on its
        # way, and unclear.
        async with asyncio.timeout(PATIENCE):
            while await client._lines[0].leads_somewhere(PATIENCE):
                await next_turn()
        with pytest.raises(StoreDown, match="see that a majority of its members run"):
            await store.commit(put(seq="1"))
        assert "no connection" in store.trouble()
        link.mend()
        assert await rows_when_reached(store) == {}
        await store.commit(put(seq="2"))


async def test_after_an_unclear_commit_nothing_is_committed_before_a_load(
    over_etcd: EtcdRig,
) -> None:
    client = LateClient(over_etcd.endpoints)
    store = over_etcd.store(client=client)
    async with leading(store):
        client.losing = True
        for _ in range(2):
            with pytest.raises(StoreUnclear):
                await store.commit(put(seq="1"))
        assert await rows_of(store) == {}
        await store.commit(put(seq="2"))


async def test_an_unclear_commit_that_arrives_after_the_load_has_no_effect(
    over_etcd: EtcdRig,
) -> None:
    client = LateClient(over_etcd.endpoints)
    store = over_etcd.store(client=client)
    async with leading(store):
        await store.commit(put(seq="1"))
        client.losing = True
        with pytest.raises(StoreUnclear):
            await store.commit(put(seq="late"))
        await store.load()
        await store.commit(put(seq="2"))
        assert not (await client.deliver()).held
        assert await rows_of(store) == {"seq": b"2"}
        assert store.still_leads()


async def test_a_load_that_is_unclear_is_down_and_the_next_one_makes_good(
    over_etcd: EtcdRig,
) -> None:
    client = LateClient(over_etcd.endpoints)
    store = over_etcd.store(client=client)
    async with leading(store):
        await store.commit(put(seq="1"))
        client.losing = True
        with pytest.raises(StoreDown):
            await store.load()
        with pytest.raises(StoreUnclear):
            await store.commit(put(seq="2"))
        await client.deliver()
        assert await rows_of(store) == {"seq": b"1"}
        await store.commit(put(seq="2"))


async def test_a_commit_that_is_cancelled_counts_as_unclear(over_etcd: EtcdRig, link: Link) -> None:
    store = over_etcd.store(client=through(link))
    async with leading(store):
        link.silence()
        commit = asyncio.create_task(store.commit(put(seq="1")))
        await until(lambda: link.holds_requests)
        commit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await commit
        link.mend()
        with pytest.raises(StoreUnclear):
            await store.commit(put(seq="2"))
        await rows_when_reached(store)
        await store.commit(put(seq="3"))
        assert await rows_of(store) == {"seq": b"3"}


async def test_more_rows_than_etcd_takes_are_refused_here(over_etcd: EtcdRig) -> None:
    store = over_etcd.store()
    async with leading(store):
        with pytest.raises(ValueError, match="129 rows in a commit; etcd takes 128"):
            await store.commit(numbered("domains", range(129)))
        assert await rows_of(store) == {}


async def test_a_row_larger_than_etcd_takes_is_refused_and_told(over_etcd: EtcdRig) -> None:
    store = over_etcd.store()
    async with leading(store):
        with pytest.raises(StoreDown, match="request is too large"):
            await store.commit([RowChange("seq", bytes(2_000_000))])
        assert "etcd refuses" in store.trouble()
        await store.commit(put(seq="1"))
        assert store.trouble() == ""
        assert await rows_of(store) == {"seq": b"1"}


async def test_twenty_thousand_rows_are_loaded_in_pages_as_of_one_moment(
    over_etcd: EtcdRig,
) -> None:
    rig = replace(over_etcd, page_rows=500)
    store, client = rig.store(), EtcdClient(rig.endpoints)
    changes = numbered("domains", range(20_000))
    async with leading(store):
        for start in range(0, len(changes), 128):
            await store.commit(changes[start : start + 128])
        await _write_both_ends(client, Keys(rig.prefix), 0)
        writing = asyncio.create_task(_write_on(client, Keys(rig.prefix)))
        loads = [await rows_of(store) for _ in range(3)]
        assert not writing.done()
        writing.cancel()
    domains = {change.key: change.value for change in changes}
    for rows in loads:
        assert rows == {**domains, "aaa": rows["aaa"], "zzz": rows["aaa"]}
    await client.close()


class CompactedClient(EtcdClient):
    """What is read as of a revision is gone after its first page, once."""

    compacted = False

    async def pages(self, read: Read) -> AsyncGenerator[RangePage, None]:
        async for page in super().pages(read):
            yield page
            if not self.compacted:
                self.compacted = True
                raise EtcdRefused(Code.OUT_OF_RANGE, "required revision has been compacted")


async def test_a_load_whose_rows_are_compacted_away_meanwhile_begins_anew(
    over_etcd: EtcdRig,
) -> None:
    rig = replace(over_etcd, page_rows=10)
    client = CompactedClient(rig.endpoints)
    store = rig.store(client=client)
    changes = numbered("domains", range(35))
    async with leading(store):
        await store.commit(changes)
        assert await rows_of(store) == {change.key: change.value for change in changes}
        assert client.compacted
        await store.commit(put(seq="1"))


async def _write_on(client: EtcdClient, keys: Keys) -> None:
    for number in range(1, 1_000_000):
        await _write_both_ends(client, keys, number)


async def _write_both_ends(client: EtcdClient, keys: Keys, number: int) -> None:
    """Past the store: in one transaction the first row and the last, which no page has both of."""
    puts = tuple(Put(keys.of(row), b"%d" % number) for row in ("aaa", "zzz"))
    await client.commit(Transaction((), puts))


# -- certificates ----------------------------------------------------------------------------------


async def test_etcd_with_certificates_accepts_only_clients_of_its_authority(
    tmp_path: Path,
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    server, client = tls_files(ours, "etcd", "coordinator")
    _, stranger = tls_files(theirs, "etcd", "stranger")
    stranger = replace(stranger, ca=client.ca)
    with etcd_cluster(tmp_path, tls=server, flags=QUICK) as cluster:
        rig = EtcdRig(cluster.endpoints, fresh_prefix())
        store = rig.store(client=EtcdClient([f"https://{cluster.endpoints[0]}/"], client))
        async with leading(store):
            await store.commit(put(seq="1"))
            assert await rows_of(store) == {"seq": b"1"}
        for unwanted in (None, stranger):
            refused = rig.store(client=EtcdClient(cluster.endpoints, unwanted, call_seconds=2))
            with pytest.raises(StoreDown, match="certificates are the right ones"):
                async with opened(refused):
                    pass


def tls_files(folder: Path, *names: str) -> tuple[TlsFiles, ...]:
    """By one authority."""
    folder.mkdir()
    now = RealClock().now()
    signer = certificates.authority("test", now, 1)
    ca = folder / "ca.crt"
    ca.write_bytes(signer.certificate)
    found = []
    for name in names:
        pair = certificates.leaf(signer, name, f"bigfleet:{name}", now, 1)
        files = TlsFiles(folder / f"{name}.crt", folder / f"{name}.key", ca)
        files.cert.write_bytes(pair.certificate)
        files.key.write_bytes(pair.key)
        found.append(files)
    return tuple(found)


async def test_an_endpoint_that_is_not_etcd_is_refused() -> None:
    provider = ProviderEndpoint(ScriptedProvider())
    port = await provider.start()
    client = EtcdClient([f"127.0.0.1:{port}"])
    store = EtcdRig((), fresh_prefix()).store(client=client)
    with pytest.raises(StoreRefused, match="these endpoints serve no etcd"):
        async with opened(store):
            pass
    await provider.stop()
