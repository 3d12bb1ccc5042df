"""Health tells a process from an office: it lives, with or without a leader."""

import asyncio

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import Audit
from bigfleet.wire import coordinator_server
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.coordinator_admin import COORDINATOR, COORDINATOR_ADMIN, CoordinatorAdminClient
from bigfleet.wire.coordinator_client import CoordinatorLines
from bigfleet.wire.coordinator_server import CoordinatorEndpoint
from tests.coordinator_wire import samples
from tests.coordinator_wire.scripted import PATIENCE, ScriptedCoordinator, serving

SERVING, NOT_SERVING = 1, 2


async def health_of(address: str, service: str) -> int:
    line = ClientLine(address)
    request = health_pb2.HealthCheckRequest(service=service).SerializeToString()
    answer = await line.call("/grpc.health.v1.Health/Check", request, PATIENCE)
    await line.close()
    return int(health_pb2.HealthCheckResponse.FromString(answer).status)


async def test_a_process_lives_before_a_replica_leads() -> None:
    async with serving(ScriptedCoordinator(follows="")) as rig:
        assert await health_of(rig.address, "") == SERVING
        assert await health_of(rig.address, COORDINATOR.name) == NOT_SERVING
        await rig.endpoint.set_leader_known(True)
        assert await health_of(rig.address, COORDINATOR.name) == SERVING
        await rig.endpoint.set_leader_known(False)
        assert await health_of(rig.address, COORDINATOR.name) == NOT_SERVING
        assert await health_of(rig.address, "") == SERVING


async def test_both_services_can_be_looked_up() -> None:
    async with serving(ScriptedCoordinator(), reflection=True) as rig:
        line = ClientLine(rig.address)
        rpc: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = line._line().stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        )
        ask = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
        (named,) = [reply async for reply in rpc(iter([ask]))]
        await line.close()
    assert COORDINATOR.name.encode() in named
    assert COORDINATOR_ADMIN.name.encode() in named


async def test_a_coordinator_that_is_back_is_reached_by_the_next_report() -> None:
    async with serving(ScriptedCoordinator()) as rig:
        address = rig.address
    lines, coordinator = CoordinatorLines(), ScriptedCoordinator()
    for _ in range(3):
        with pytest.raises(Rejected) as told:
            await lines.report(address, samples.REPORT, PATIENCE)
        assert told.value.code is Code.UNAVAILABLE
    endpoint = CoordinatorEndpoint(coordinator, coordinator, address=address)
    await endpoint.start()
    assert (await lines.report(address, samples.REPORT, PATIENCE)).acknowledged
    await lines.close()
    await endpoint.stop()


async def test_a_taken_port_is_told_in_words() -> None:
    coordinator = ScriptedCoordinator()
    async with serving(coordinator) as rig:
        second = CoordinatorEndpoint(coordinator, coordinator, address=rig.address)
        with pytest.raises(OSError, match="cannot listen on"):
            await second.start()


async def test_a_port_that_cannot_be_is_not_taken_for_another() -> None:
    coordinator = ScriptedCoordinator()
    endpoint = CoordinatorEndpoint(coordinator, coordinator, address="127.0.0.1:99999")
    with pytest.raises(OSError, match="ports end at 65535"):
        await endpoint.start()


class Slow(ScriptedCoordinator):
    """A removal waits at the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.gate = asyncio.Event(), asyncio.Event()

    async def remove_shard(self, shard: str, audit: Audit, peer: object) -> None:
        self.entered.set()
        await self.gate.wait()
        self.asked.append(("removed", shard))


async def test_a_stop_waits_for_what_is_being_written() -> None:
    slow = Slow()
    async with asyncio.timeout(PATIENCE), serving(slow) as rig:
        client = CoordinatorAdminClient([rig.address], deadline=PATIENCE)
        asking = asyncio.ensure_future(client.remove_shard(Audit("ada", "drill"), shard_id="s"))
        await slow.entered.wait()
        stopping = asyncio.ensure_future(rig.endpoint.stop())
        with pytest.raises(Rejected) as rejected:
            await asking
        assert rejected.value.code in (Code.UNAVAILABLE, Code.CANCELLED)
        assert not stopping.done()
        slow.gate.set()
        await stopping
        await client.close()
    assert slow.asked == [("removed", "s")]


async def test_a_stop_does_not_wait_for_ever_for_what_is_being_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coordinator_server, "STOP_MARGIN_SECONDS", 0.1)
    slow = Slow()
    async with asyncio.timeout(PATIENCE), serving(slow) as rig:
        client = CoordinatorAdminClient([rig.address], deadline=PATIENCE)
        asking = asyncio.ensure_future(client.remove_shard(Audit("ada", "drill"), shard_id="s"))
        await slow.entered.wait()
        await rig.endpoint.stop()
        with pytest.raises(Rejected):
            await asking
        assert slow.asked == []
        slow.gate.set()
        await client.close()
