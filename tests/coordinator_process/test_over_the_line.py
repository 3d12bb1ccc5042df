"""A coordinator as shards and people meet it: over gRPC, with its rows in a file."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bigfleet.coordinator.driving.services import AdminAnswers
from bigfleet.coordinator.stores.contract import Leader, Store
from bigfleet.edge.clock import Clock, ManualClock
from bigfleet.model.coordination import CoordinatorEvent, ProviderEntry
from bigfleet.model.coordinator_calls import NotLeader
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import Audit, PauseCall, ResumeCall
from tests.coordinator_process.memory_store import MemoryStore, SharedRows
from tests.coordinator_process.rig import ADA, PROVIDER, QUICK, coordinated
from tests.shard_system.waiting import until
from tests.wire.certificates import Authority


async def test_a_shard_registers_and_is_seen(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        reply = await rig.reported()
        assert (reply.term, reply.acknowledged) == (1, True)
        (entry,) = await rig.client.shards()
        assert (entry.shard_id, entry.address) == ("shard-0", "shard-0:7780")
        (shown,) = await rig.client.reports()
        assert shown.summary.total_machines == 7
        synced = await rig.synced()
        assert synced.ownership is not None
        assert synced.ownership.default_owners == {PROVIDER: "shard-0"}
        status = await rig.client.status(rig.address)
        assert (status.is_leader, status.term, status.shards) == (True, 1, 1)
        assert (status.backend, status.version) == ("sqlite", "1.2.3")
        assert status.leader_address == rig.address
        assert status.store_revision > 0


async def test_rows_outlive_the_process_and_the_term_grows(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        await rig.reported()
        await rig.client.upsert_provider(ADA, ProviderEntry("sim", PROVIDER, "eu"))
    async with coordinated(tmp_path) as rig:
        assert [entry.shard_id for entry in await rig.client.shards()] == ["shard-0"]
        (entry,) = await rig.client.providers()
        assert (entry.name, entry.region) == ("sim", "eu")
        # What was soft is gone until the shard speaks again.
        assert await rig.client.reports() == ()
        assert (await rig.reported(cycle=2)).term == 2


async def test_people_change_what_they_may(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        for shard in ("shard-0", "shard-1"):
            await rig.reported(shard)
            await rig.synced(shard)
        client = rig.client
        quota = await client.set_quota(ADA, provider="sim", region="eu", total=40)
        assert (quota.total, (await client.quotas())[0].total) == (40, 40)
        await client.delete_quota(ADA, provider="sim", region="eu")
        assert await client.quotas() == ()
        await client.assign_domain(ADA, topology_key="zone", topology_value="a", shard_id="shard-1")
        (domain,) = await client.domains()
        # Its default owner has to give it up first.
        assert (domain.key, domain.value, domain.shard) == ("zone", "a", "")
        (told,) = await client.instructions()
        assert told.shard == "shard-0"
        made = await client.pause(PauseCall(ADA))
        assert [p.pause_id for p in (await client.pauses()).pauses] == [made.pause.pause_id]
        assert (await client.status(rig.address)).rebalance_paused
        await client.resume(ResumeCall(ADA, made.pause.pause_id))
        assert (await client.pauses()).pauses == ()
        await client.unassign_domain(ADA, topology_key="zone", topology_value="a")
        await client.remove_shard(ADA, shard_id="shard-1")
        assert [entry.shard_id for entry in await client.shards()] == ["shard-0"]
        with pytest.raises(Rejected) as told_off:
            await client.cancel_transfer(ADA, transfer_id="none")
        assert told_off.value.code is Code.NOT_FOUND


#: What the certificate says; the caller may call itself what it likes.
EVE = "bigfleet://admin/eve"


async def test_the_author_of_a_change_is_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = authority.leaf("server", "bigfleet://shard/none")
    admin = authority.leaf("admin", EVE)
    async with coordinated(tmp_path / "data", tls=tls, caller=admin) as rig:
        await rig.client.upsert_provider(ADA, ProviderEntry("sim", PROVIDER))
        events = [event async for event in rig.client.events()]
        named = next(event for event in events if event.kind == "admin")
        assert named.text == f"ada ({EVE}): register provider sim at 10.0.0.9:9000 (because)"
        assert (named.subject, named.peer, named.term) == ("sim", EVE, 1)
        (line,) = rig.log.events("admin")
        assert (line["owner"], line["reason"], line["peer"]) == (
            "ada",
            "because",
            EVE,
        )
        with pytest.raises(Rejected) as told:
            await rig.reported()
        assert told.value.code is Code.PERMISSION_DENIED
        assert rig.counted("reports_total", result="identity") == 1
        assert "certificate_expiry_timestamp_seconds" in (await rig.page("/metrics"))[1]


# -- events ----------------------------------------------------------------------------------------


async def test_a_tail_hears_what_comes(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        await rig.client.set_quota(ADA, provider="sim", region="a", total=1)
        heard: list[CoordinatorEvent] = []

        async def tail() -> None:
            async for event in rig.client.events(follow=True):
                heard.append(event)

        tailing = asyncio.create_task(tail())
        await until(lambda: any(event.subject == "sim/a" for event in heard))
        await rig.client.set_quota(ADA, provider="sim", region="b", total=1)
        await until(lambda: any(event.subject == "sim/b" for event in heard))
        revisions = [event.revision for event in heard]
        assert revisions == list(range(1, len(heard) + 1))
        tailing.cancel()
        await asyncio.gather(tailing, return_exceptions=True)


async def test_the_first_event_of_a_reign_is_its_beginning(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        await rig.client.set_quota(ADA, provider="sim", region="a", total=1)
        first, *_ = [event async for event in rig.client.events()]
        assert (first.kind, first.subject, first.term) == ("election", "node-1", 1)
        assert first.text == "replica node-1 leads with term 1"


async def test_a_tail_begins_where_it_is_told(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        for region in "abcd":
            await rig.client.set_quota(ADA, provider="sim", region=region, total=1)
        everything = [event async for event in rig.client.events()]
        later = [event async for event in rig.client.events(from_revision=3)]
        assert later == everything[2:]


async def test_a_tail_that_does_not_keep_up_is_sent_away(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        await rig.client.set_quota(ADA, provider="sim", region="a", total=1)
        leading = rig.process.leading
        answers = AdminAnswers(leading, rig.log, ManualClock(), str, "sqlite", "")
        tail = answers.events(0, follow=True)
        await anext(tail)
        book = leading.book()
        for _ in range((book.events.maxlen or 0) + 10):
            await leading.transact(lambda _, draft: draft.note("test", "", "again"))
        told = await _exhausted(tail)
        assert (told.code, "are forgotten" in told.text) == (Code.RESOURCE_EXHAUSTED, True)


async def test_a_tail_ends_with_the_reign(tmp_path: Path) -> None:
    stores: list[MemoryStore] = []

    def store(settings: object, me: Leader, clock: Clock) -> Store:
        stores.append(MemoryStore(SharedRows(), me, clock))
        return stores[0]

    async with coordinated(tmp_path, store=store) as rig:
        await rig.client.set_quota(ADA, provider="sim", region="a", total=1)
        tail = rig.client.events(follow=True)
        await anext(tail)
        tailing = asyncio.create_task(_exhausted(tail))
        stores[0].lose()
        assert (await tailing).code in (Code.FAILED_PRECONDITION, Code.ABORTED)


async def _exhausted(tail: AsyncIterator[CoordinatorEvent]) -> Rejected:
    try:
        async for _ in tail:
            continue
    except Rejected as rejected:
        return rejected
    raise AssertionError("it ended in peace")


# -- two replicas ----------------------------------------------------------------------------------


async def test_a_follower_sends_callers_to_the_leader(tmp_path: Path) -> None:
    shared = SharedRows()

    def store(settings: object, me: Leader, clock: Clock) -> Store:
        return MemoryStore(shared, me, clock)

    async with (
        coordinated(tmp_path, QUICK, store=store) as leader,
        coordinated(tmp_path, QUICK, store=store, leads=False) as follower,
    ):
        with pytest.raises(NotLeader) as told:
            await follower.reported()
        assert told.value.leader == leader.address
        await follower.client.set_quota(ADA, provider="sim", region="eu", total=3)
        assert (await leader.client.quotas())[0].total == 3
        status = await follower.client.status(follower.address)
        assert (status.is_leader, status.leader_address) == (False, leader.address)
        assert (await follower.page("/readyz"))[0] == 200
        await leader.process.stop()
        await until(lambda: follower.process.leading.leads)
        assert (await follower.client.quotas())[0].total == 3
        assert (await follower.reported()).term == 2


async def test_an_audit_without_owner_or_reason_is_refused(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        with pytest.raises(Rejected) as told:
            await rig.client.set_quota(Audit("", ""), provider="sim", region="eu", total=3)
        assert told.value.code is Code.INVALID_ARGUMENT
