"""Every call of shards and people over real gRPC: what arrives, and what comes back."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

import grpc
import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import DomainAssignment, SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import NotLeader
from bigfleet.model.ownership import OwnershipView
from bigfleet.model.pauses import PauseScope
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_admin import Audit, PauseCall, Paused, PauseList, ResumeCall, Resumed
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.coordinator_admin import COORDINATOR, CoordinatorAdminClient
from bigfleet.wire.coordinator_client import CoordinatorLines
from tests.coordinator_wire import samples
from tests.coordinator_wire.scripted import PATIENCE, ScriptedCoordinator, serving

AUDIT = Audit("Ада 100%", "größer, 大きい: 50%25")
PAUSED = PauseCall(AUDIT, PauseScope(("shard-0",), (), (ActionKind.PREEMPT,)), 60, True, "p-1")
Exchange = tuple[Callable[[CoordinatorAdminClient], Awaitable[object]], tuple[object, ...], object]
CALLS: dict[str, Exchange] = {
    "shards": (lambda c: c.shards(), ("shards",), samples.SHARDS),
    "domains": (lambda c: c.domains(), ("domains",), samples.DOMAINS),
    "reports": (
        lambda c: c.reports(shard_id="shard-0"),
        ("reports", "shard-0"),
        (samples.REPORT_VIEW,),
    ),
    "assign": (
        lambda c: c.assign_domain(
            AUDIT, topology_key=samples.ZONE, topology_value="z-a", shard_id="shard-0"
        ),
        ("assign", samples.ZONE, "z-a", "shard-0", AUDIT),
        None,
    ),
    "unassign": (
        lambda c: c.unassign_domain(AUDIT, topology_key=samples.ZONE, topology_value="z-a"),
        ("unassign", samples.ZONE, "z-a", AUDIT),
        None,
    ),
    "remove": (
        lambda c: c.remove_shard(AUDIT, shard_id="shard-0"),
        ("remove", "shard-0", AUDIT),
        None,
    ),
    "quotas": (lambda c: c.quotas(), ("quotas",), (samples.QUOTA,)),
    "set quota": (
        lambda c: c.set_quota(AUDIT, provider="sim", region="eu", total=0, force=True),
        ("set_quota", "sim", "eu", 0, AUDIT, True),
        samples.QUOTA,
    ),
    "delete quota": (
        lambda c: c.delete_quota(AUDIT, provider="sim", region=""),
        ("delete_quota", "sim", "", AUDIT),
        None,
    ),
    "providers": (lambda c: c.providers(), ("providers",), (samples.PROVIDER,)),
    "upsert provider": (
        lambda c: c.upsert_provider(AUDIT, samples.PROVIDER),
        ("upsert_provider", samples.PROVIDER, AUDIT),
        samples.PROVIDER,
    ),
    "delete provider": (
        lambda c: c.delete_provider(AUDIT, name="sim"),
        ("delete_provider", "sim", AUDIT),
        None,
    ),
    "bindings": (lambda c: c.bindings(shard_id="s"), ("bindings", "s"), (samples.BINDING,)),
    "unbind": (lambda c: c.unbind(AUDIT, cluster_id="shop"), ("unbind", "shop", AUDIT), None),
    "default owner": (
        lambda c: c.set_default_owner(AUDIT, provider_address="p:9000", shard_id="shard-0"),
        ("set_default_owner", "p:9000", "shard-0", AUDIT),
        "shard-0",
    ),
    "default owners": (
        lambda c: c.default_owners(),
        ("default_owners",),
        samples.DEFAULT_OWNERS,
    ),
    "transfers": (
        lambda c: c.transfers(include_finished=True, limit=5),
        ("transfers", True, 5),
        (samples.TRANSFER,),
    ),
    "a limit below none": (
        lambda c: c.transfers(limit=-5),
        ("transfers", False, 0),
        (samples.TRANSFER,),
    ),
    "cancel": (
        lambda c: c.cancel_transfer(AUDIT, transfer_id="t1"),
        ("cancel_transfer", "t1", AUDIT),
        samples.TRANSFER,
    ),
    "instructions": (lambda c: c.instructions(), ("instructions", ""), (samples.PENDING,)),
    "shortfalls": (
        lambda c: c.shortfalls(shard_id="shard-0", limit=5),
        ("shortfalls", "shard-0", 5),
        samples.SHORTFALLS,
    ),
    "shortfalls of all shards": (
        lambda c: c.shortfalls(limit=-5),
        ("shortfalls", "", 0),
        samples.SHORTFALLS,
    ),
    "pause": (
        lambda c: c.pause(PAUSED),
        ("pause", PAUSED),
        Paused(samples.PAUSE, (samples.PAUSE,)),
    ),
    "resume": (
        lambda c: c.resume(ResumeCall(AUDIT, "p-1", True)),
        ("resume", ResumeCall(AUDIT, "p-1", True)),
        Resumed((samples.PAUSE,), ()),
    ),
    "pauses": (
        lambda c: c.pauses(include_expired=True),
        ("pauses", True),
        PauseList((samples.PAUSE,), False),
    ),
}


@pytest.mark.parametrize(("call", "heard", "answer"), CALLS.values(), ids=CALLS)
async def test_a_call_of_people_arrives_and_brings_its_answer(
    call: Callable[[CoordinatorAdminClient], Awaitable[object]],
    heard: tuple[object, ...],
    answer: object,
) -> None:
    coordinator = ScriptedCoordinator()
    async with (
        serving(coordinator) as rig,
        CoordinatorAdminClient([rig.address]) as client,
    ):
        assert await call(client) == answer
    assert coordinator.asked == [heard]
    assert [code for _, code in rig.observed] == [Code.OK]


async def test_a_status_is_of_the_replica_that_is_named() -> None:
    follower = ScriptedCoordinator(follows="elsewhere:7790")
    async with serving(follower) as rig, CoordinatorAdminClient(["nobody:1"]) as client:
        assert await client.status(rig.address) == samples.STATUS


async def test_a_report_and_a_sync_of_a_shard_arrive_and_bring_their_answers() -> None:
    coordinator, lines = ScriptedCoordinator(), CoordinatorLines()
    async with serving(coordinator) as rig:
        assert await lines.report(rig.address, samples.REPORT, PATIENCE) == samples.REPLY
        assert await lines.sync(rig.address, samples.SYNC, PATIENCE) == samples.SYNCED
        await lines.close()
    assert coordinator.asked == [("report", samples.REPORT), ("sync", samples.SYNC)]


async def test_a_view_of_many_domains_comes_whole() -> None:
    domains = {(samples.ZONE, f"z-{n}"): f"shard-{n % 200}" for n in range(20_000)}
    reply = SyncReply(1, OwnershipView.of(7, (samples.ZONE,), domains))
    lines = CoordinatorLines()
    async with serving(ScriptedCoordinator(synced=reply)) as rig:
        assert await lines.sync(rig.address, samples.SYNC, PATIENCE) == reply
        await lines.close()


async def test_a_list_of_many_domains_comes_whole_and_in_order() -> None:
    listed = tuple(DomainAssignment(samples.ZONE, f"z-{n:05}", "shard-0") for n in range(3_500))
    async with (
        serving(ScriptedCoordinator(listed=listed)) as rig,
        CoordinatorAdminClient([rig.address]) as client,
    ):
        assert await client.domains() == listed


async def test_a_coordinator_that_knows_no_sync_says_unimplemented() -> None:
    async def acknowledged(_request: bytes, _context: object) -> bytes:
        return contract.ReportAck(acknowledged=True).SerializeToString()

    server, lines = grpc.aio.server(), CoordinatorLines()
    rpc: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(acknowledged)
    handler = grpc.method_handlers_generic_handler(COORDINATOR.name, {"ReportShard": rpc})
    server.add_generic_rpc_handlers((handler,))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    assert (await lines.report(address, samples.REPORT, PATIENCE)).acknowledged
    with pytest.raises(Rejected) as rejected:
        await lines.sync(address, samples.SYNC, PATIENCE)
    await lines.close()
    await server.stop(0)
    assert rejected.value.code is Code.UNIMPLEMENTED


async def test_a_view_that_was_written_when_another_replica_leads_is_not_sent() -> None:
    class Deposed(ScriptedCoordinator):
        async def sync(self, request: SyncRequest, peer: Peer) -> SyncReply:
            reply = await super().sync(request, peer)
            self.follows = "c-2:7790"
            return reply

    coordinator, lines = Deposed(), CoordinatorLines()
    assert coordinator.synced.ownership is not None
    async with serving(coordinator) as rig:
        with pytest.raises(NotLeader) as told:
            await lines.sync(rig.address, samples.SYNC, PATIENCE)
        await lines.close()
    assert told.value.leader == "c-2:7790"


async def test_existing_clients_that_say_neither_who_nor_why_are_heard() -> None:
    coordinator = ScriptedCoordinator()
    async with serving(coordinator) as rig:
        line = ClientLine(rig.address)
        request = contract.RemoveShardRequest(shard_id="shard-0").SerializeToString()
        await line.call(f"/{COORDINATOR.name}/RemoveShard", request, PATIENCE)
        await line.close()
    assert coordinator.asked == [("remove", "shard-0", Audit("", ""))]


async def test_reports_are_shown_without_what_their_shortfalls_ask_for() -> None:
    async with serving(ScriptedCoordinator()) as rig:
        line = ClientLine(rig.address)
        answer = await line.call(f"/{COORDINATOR.name}/ListShardReports", b"", PATIENCE)
        await line.close()
    (report,) = contract.ListShardReportsResponse.FromString(answer).reports
    assert len(report.shortfalls[0].requirements) == 0
    assert report.shortfalls[0].deficit.resources == {"cpu": "4"}


async def test_a_tail_ends_with_its_events() -> None:
    coordinator = ScriptedCoordinator()
    async with (
        serving(coordinator) as rig,
        CoordinatorAdminClient([rig.address]) as client,
    ):
        assert [event async for event in client.events(from_revision=7)] == [samples.EVENT]
    assert coordinator.asked == [("events", 7, False)]


async def test_a_reader_that_leaves_ends_the_tail_at_its_source() -> None:
    coordinator = ScriptedCoordinator()
    async with (
        asyncio.timeout(PATIENCE),
        serving(coordinator) as rig,
        CoordinatorAdminClient([rig.address]) as client,
    ):
        async with aclosing(client.events(follow=True)) as events:
            assert await anext(events) == samples.EVENT
            assert not coordinator.tail_closed.is_set()
        await coordinator.tail_closed.wait()


async def test_a_coordinator_that_stops_ends_the_tails_of_its_readers() -> None:
    coordinator = ScriptedCoordinator()
    async with (
        asyncio.timeout(PATIENCE),
        serving(coordinator) as rig,
        CoordinatorAdminClient([rig.address]) as client,
        aclosing(client.events(follow=True)) as events,
    ):
        await anext(events)
        await rig.endpoint.stop()
        with pytest.raises(Rejected):
            await anext(events)
        await coordinator.tail_closed.wait()


async def test_an_answer_of_a_later_version_is_told_as_such() -> None:
    class Newer(ScriptedCoordinator):
        async def transfers(self, include_finished: bool, limit: int) -> list[object]:  # type: ignore[override]
            return [replace(samples.TRANSFER, state=77)]  # type: ignore[arg-type]

    async with (
        serving(Newer()) as rig,
        CoordinatorAdminClient([rig.address]) as client,
    ):
        with pytest.raises(Rejected, match="is the coordinator newer") as rejected:
            await client.transfers()
    assert rejected.value.code is Code.INTERNAL


@pytest.mark.parametrize(
    "audit",
    [Audit("x" * 257, "why"), Audit("ada", "x" * 4097), Audit("ada", "大" * 500)],
    ids=["a long owner", "a long reason", "a reason that is long once encoded"],
)
async def test_who_and_why_that_fit_no_header_are_refused_before_they_are_sent(
    audit: Audit,
) -> None:
    coordinator = ScriptedCoordinator()
    async with (
        serving(coordinator) as rig,
        CoordinatorAdminClient([rig.address]) as client,
    ):
        with pytest.raises(Rejected, match="are enough") as rejected:
            await client.remove_shard(audit, shard_id="shard-0")
    assert rejected.value.code is Code.INVALID_ARGUMENT
    assert coordinator.asked == []
