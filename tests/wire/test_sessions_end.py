"""How sessions end: by their operator, by their shard, with the process, and with the line."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import grpc
import pytest
from grpc_health.v1 import health_pb2

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.session_frames import (
    Acknowledgement,
    Hello,
    NodeStateUpdate,
    RollupFrame,
    ShardFrame,
)
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.session_client import Session, SessionClient
from bigfleet.wire.session_server import ShardEndpoint
from tests.wire.sessions import PATIENCE, ScriptedShard, line_to

HELLO = Hello("shop")
NEWER = Rejected(Code.ABORTED, "a newer session of shop took over", "replaced")


async def end_of(session: Session) -> Rejected | None:
    """How the shard ended it; None: with OK."""
    try:
        async with asyncio.timeout(PATIENCE):
            async for _ in session:
                continue
    except Rejected as rejected:
        return rejected
    return None


async def test_an_ended_stream_sees_the_code_and_the_reason() -> None:
    async with line_to(ScriptedShard()) as line, line.client.open(HELLO) as session:
        assert await session.read() == Acknowledgement("hello")
        line.endpoint.end(1, NEWER)
        told = await end_of(session)
        assert told is not None
        assert (told.code, told.text, told.reason) == (NEWER.code, NEWER.text, NEWER.reason)
        assert await line.shard.until_gone(1) == [1]
    assert line.observed == [("Session", Code.ABORTED)]


async def test_an_ended_stream_takes_no_more_frames_and_says_why() -> None:
    async with line_to(ScriptedShard()) as line, line.client.open(HELLO) as session:
        assert await session.read() == Acknowledgement("hello")
        line.endpoint.end(1, NEWER)
        await end_of(session)
        with pytest.raises(Rejected) as rejected:
            await session.send(RollupFrame(b""))
    assert rejected.value.code is Code.ABORTED


async def test_a_session_may_end_while_its_very_first_frame_is_sent() -> None:
    """Whether the two meet is a matter of luck: it is tried often."""

    class Hasty(ScriptedShard):
        async def next_frames(self, session: int) -> Sequence[ShardFrame]:
            line.endpoint.end(session, NEWER)
            return await super().next_frames(session)

    async with line_to(Hasty(), shared=True) as line:
        for _ in range(300):
            async with line.client.open(HELLO) as session:
                told = await end_of(session)
            assert told is not None
            assert told.code is Code.ABORTED


async def test_to_end_a_session_twice_or_after_its_end_does_nothing() -> None:
    async with line_to(ScriptedShard()) as line, line.client.open(HELLO) as session:
        assert await session.read() == Acknowledgement("hello")
        line.endpoint.end(1, NEWER)
        line.endpoint.end(1, Rejected(Code.INTERNAL))
        told = await end_of(session)
        line.endpoint.end(1, Rejected(Code.INTERNAL))
        line.endpoint.end(99, Rejected(Code.INTERNAL))
    assert told is not None
    assert told.code is Code.ABORTED


async def test_a_peer_that_never_reads_is_closed_at_once_and_learns_the_code_when_it_reads() -> (
    None
):
    shard = ScriptedShard()
    big = NodeStateUpdate("m-1", "shop", MachineState.FAILED, last_error="x" * 100_000)
    async with line_to(shard) as line, line.client.open(HELLO) as session:
        assert await session.read() == Acknowledgement("hello")
        shard.put(1, *[big] * 2_000)
        async with asyncio.timeout(PATIENCE):
            while shard.mail[1].asked < 3:  # the ack and a first batch of a hundred are taken
                assert await session.read() is not None
        line.endpoint.end(1, NEWER)
        assert await shard.until_gone(1) == [1]
        told = await end_of(session)
    assert told is not None
    assert told.code is Code.ABORTED


async def test_an_operator_that_is_done_ends_its_session_in_order() -> None:
    async with line_to(ScriptedShard()) as line, line.client.open(HELLO) as session:
        assert await session.read() == Acknowledgement("hello")
        await session.done_sending()
        assert await end_of(session) is None
        assert await line.shard.until_gone(1) == [1]
    assert line.observed == [("Session", Code.OK)]


async def test_an_operator_that_hangs_up_closes_its_session() -> None:
    async with line_to(ScriptedShard()) as line:
        async with line.client.open(HELLO) as session:
            assert await session.read() == Acknowledgement("hello")
        assert await line.shard.until_gone(1) == [1]


async def test_a_hundred_reconnects_leave_one_session_and_nothing_behind() -> None:
    shard = ScriptedShard()
    async with line_to(shard) as line:
        tasks = len(asyncio.all_tasks())
        for _ in range(100):
            async with line.client.open(HELLO) as session:
                assert await session.read() == Acknowledgement("hello")
        assert sorted(await shard.until_gone(100)) == list(range(1, 101))
        async with asyncio.timeout(PATIENCE), line.client.open(HELLO) as session:
            assert await session.read() == Acknowledgement("hello")
            assert set(shard.hellos) - set(shard.gone) == {101}
        await shard.until_gone(101)
        await until_tasks(tasks)


async def until_tasks(count: int) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(PATIENCE):
        while len(asyncio.all_tasks()) > count:
            turned = loop.create_future()
            loop.call_later(0.01, turned.set_result, None)
            await turned


async def test_a_stop_ends_every_session_within_its_grace() -> None:
    """R19: with a hundred idle sessions, some of whose operators never read."""
    shard = ScriptedShard()
    endpoint = ShardEndpoint(shard, reflection=False)
    port = await endpoint.start()
    big = NodeStateUpdate("m-1", "shop", MachineState.FAILED, last_error="x" * 100_000)
    async with SessionClient(f"127.0.0.1:{port}") as client, AsyncExitStack() as stack:
        opening = [stack.enter_async_context(client.open(Hello(f"c-{n}"))) for n in range(100)]
        sessions = await asyncio.gather(*opening)
        for session in sessions:
            assert await session.read() == Acknowledgement("hello")
        deaf = [s for s, hello in shard.hellos.items() if hello.cluster_id in ("c-0", "c-1")]
        for number in deaf:
            shard.put(number, *[big] * 1_000)
        async with asyncio.timeout(1.0 + 5.0):
            await endpoint.stop(1.0)
        ends = await asyncio.gather(*(end_of(session) for session in sessions[2:]))
    assert {end.code for end in ends if end is not None} == {Code.UNAVAILABLE}
    assert None not in ends
    assert sorted(shard.gone) == list(range(1, 101))


async def test_a_shard_that_is_gone_is_unavailable() -> None:
    async with line_to(ScriptedShard()) as line:
        await line.endpoint.stop()
        with pytest.raises(Rejected) as rejected:
            async with line.client.open(HELLO) as session:
                await session.read()
    assert rejected.value.code is Code.UNAVAILABLE


async def test_health_and_reflection_are_served_beside_the_sessions() -> None:
    request = health_pb2.HealthCheckRequest(service="bigfleet.v1alpha1.Shard").SerializeToString()
    async with line_to(ScriptedShard(), reflection=True) as line:
        client = ClientLine(line.client.address)
        words = []
        for serving in (True, False):
            await line.endpoint.set_serving(serving)
            answer = await client.call("/grpc.health.v1.Health/Check", request, PATIENCE)
            words.append(health_pb2.HealthCheckResponse.FromString(answer).status)
        await client.close()
    status = health_pb2.HealthCheckResponse
    assert words == [status.SERVING, status.NOT_SERVING]


async def test_an_address_that_is_taken_is_an_error() -> None:
    async with line_to(ScriptedShard()) as line:
        second = ShardEndpoint(ScriptedShard(), address=f"127.0.0.1:{line.endpoint.port}")
        with pytest.raises(OSError, match="cannot listen on 127"):
            await second.start()


async def test_what_is_not_served_is_unimplemented() -> None:
    async with line_to(ScriptedShard()) as line:
        client = ClientLine(line.client.address)
        with pytest.raises(Rejected) as rejected:
            await client.call("/bigfleet.v1alpha1.ShardRead/InspectNeeds", b"", PATIENCE)
        await client.close()
    assert rejected.value.code is Code.UNIMPLEMENTED
    assert grpc.StatusCode.UNIMPLEMENTED.name == rejected.value.code
