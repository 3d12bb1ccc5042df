"""Sessions over real gRPC: who is let in, what is carried, and who waits for whom."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.session_frames import (
    Acknowledgement,
    BootstrapRequest,
    BootstrapResponse,
    Hello,
    NodeStateUpdate,
    ReclaimAck,
    ReclaimInstruction,
    RollupFrame,
    ShardFrame,
    UnknownFrame,
)
from bigfleet.wire.session_client import Session, SessionClient
from bigfleet.wire.session_frames import SESSION
from tests.wire.certificates import Authority
from tests.wire.sessions import PATIENCE, ScriptedShard, line_to

HELLO = Hello("shop", "v1alpha1+reclaim-done")
LET_IN = Acknowledgement("hello")


async def read(session: Session, count: int) -> list[ShardFrame | None]:
    async with asyncio.timeout(PATIENCE):
        return [await session.read() for _ in range(count)]


async def test_frames_go_both_ways_in_order() -> None:
    said = (
        RollupFrame(b"\x0a\x04shop"),
        BootstrapResponse("r-1", b"\x00\xff", 60),
        ReclaimAck("bf1-7", 1),
        HELLO,
    )
    told = (
        BootstrapRequest("r-1", "shop"),
        ReclaimInstruction("bf1-7", ("n-1",), 30, 1000),
        NodeStateUpdate("m-1", "shop", MachineState.CONFIGURED),
    )
    async with line_to(ScriptedShard()) as line, line.client.open(HELLO) as session:
        assert await read(session, 1) == [LET_IN]
        line.shard.put(1, *told)
        for frame in said:
            await session.send(frame)
        assert await line.shard.until_heard(4) == list(said)
        assert await read(session, 3) == list(told)
    assert line.shard.hellos == {1: HELLO}


async def test_several_may_send_at_once() -> None:
    said = [RollupFrame(bytes([number]) * 100_000) for number in range(50)]
    async with line_to(ScriptedShard()) as line, line.client.open(HELLO) as session:
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for frame in said:
                group.create_task(session.send(frame))
        assert await line.shard.until_heard(len(said)) == said


async def test_a_later_payload_is_handed_on_for_the_shard_to_log() -> None:
    async with line_to(ScriptedShard()) as line, line.client.open(HELLO) as session:
        await session.send(UnknownFrame())
        assert await line.shard.until_heard(1) == [UnknownFrame()]


NO_HELLO = {
    "a roll-up": b"\x12\x00",
    "a hello without a name": b"\x0a\x00",
    "a later payload": b"",
    "nonsense": b"\x0a\xff",
}


@pytest.mark.parametrize("first", NO_HELLO.values(), ids=NO_HELLO)
async def test_a_client_that_does_not_say_hello_first_is_not_let_in(first: bytes) -> None:
    async with line_to(ScriptedShard()) as line:
        assert await code_after(line.client.address, [first]) is Code.INVALID_ARGUMENT
    assert line.shard.hellos == {}
    assert line.observed == [("Session", Code.INVALID_ARGUMENT)]


@pytest.mark.parametrize(
    "name", ["a\nb", "a b", "\x1b[2J", "a/../b", "x" * 254, "caf\u00e9"], ids=ascii
)
async def test_a_cluster_whose_name_is_not_a_name_is_not_let_in(name: str) -> None:
    """It reaches providers, pages and templates; its machines would be refused in every List."""
    async with line_to(ScriptedShard()) as line, line.client.open(Hello(name)) as session:
        with pytest.raises(Rejected, match="cluster_id") as rejected:
            await read(session, 1)
    assert rejected.value.code is Code.INVALID_ARGUMENT
    assert rejected.value.text.isprintable()
    assert line.shard.hellos == {}


async def test_a_stream_that_says_nothing_is_not_let_in() -> None:
    async with line_to(ScriptedShard()) as line:
        assert await code_after(line.client.address, []) is Code.INVALID_ARGUMENT


async def test_nonsense_after_the_hello_ends_the_stream() -> None:
    hello = b"\x0a\x04\x0a\x02c1"
    async with line_to(ScriptedShard()) as line:
        assert await code_after(line.client.address, [hello, b"\x0a\xff"]) is Code.INVALID_ARGUMENT
    assert line.shard.gone == [1]


async def code_after(address: str, frames: list[bytes]) -> Code:
    async with grpc.aio.insecure_channel(address) as channel:
        rpc: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(SESSION)
        call = rpc(iter(frames))
        async with asyncio.timeout(PATIENCE):
            try:
                # A status shows only when everything before it was read.
                while await call.read() is not grpc.aio.EOF:
                    continue
            except grpc.aio.AioRpcError as problem:
                return Code(problem.code().name)
    return Code.OK


async def test_a_second_hello_of_another_cluster_ends_the_stream() -> None:
    async with line_to(ScriptedShard()) as line, line.client.open(HELLO) as session:
        await session.send(Hello("bank"))
        with pytest.raises(Rejected, match="'shop', its new Hello names 'bank'") as rejected:
            await read(session, 2)
    assert rejected.value.code is Code.INVALID_ARGUMENT
    assert line.shard.heard == []


async def test_a_shard_may_refuse_a_cluster_and_say_why() -> None:
    elsewhere = Rejected(Code.FAILED_PRECONDITION, "shop is bound to shard-1 at h:7780", "bound")
    async with (
        line_to(ScriptedShard(refuses=elsewhere)) as line,
        line.client.open(HELLO) as session,
    ):
        with pytest.raises(Rejected) as rejected:
            await read(session, 1)
    told = rejected.value
    assert (told.code, told.text, told.reason) == (elsewhere.code, elsewhere.text, "bound")
    assert line.shard.refusals == [("shop", Code.FAILED_PRECONDITION)]
    assert line.shard.gone == []


async def test_a_fault_of_the_shard_ends_one_stream_and_shows_no_details() -> None:
    shard = ScriptedShard(raises=RuntimeError("secret"))
    async with (
        line_to(shard) as line,
        line.client.open(Hello("other")) as bystander,
        line.client.open(HELLO) as session,
    ):
        assert await read(bystander, 1) == await read(session, 1) == [LET_IN]
        await session.send(RollupFrame(b""))
        with pytest.raises(Rejected) as rejected:
            await read(session, 1)
        shard.put(1, LET_IN)
        assert await read(bystander, 1) == [LET_IN]
    assert (rejected.value.code, rejected.value.text) == (Code.INTERNAL, "internal error")
    assert [(method, str(problem)) for method, problem in line.faults] == [("Session", "secret")]


CERTIFICATES: dict[str, tuple[tuple[str, ...], Code]] = {
    "its own name": (("bigfleet://cluster/shop",), Code.OK),
    "another cluster's name": (("bigfleet://cluster/bank",), Code.PERMISSION_DENIED),
    "a name that only begins alike": (("bigfleet://cluster/shop2",), Code.PERMISSION_DENIED),
    "a shard's name": (("bigfleet://shard/shop",), Code.PERMISSION_DENIED),
    "an admin's name": (("bigfleet://admin",), Code.PERMISSION_DENIED),
    "no name": ((), Code.PERMISSION_DENIED),
    "two names": (("bigfleet://cluster/shop", "bigfleet://admin"), Code.PERMISSION_DENIED),
}


@pytest.mark.parametrize(("uris", "code"), CERTIFICATES.values(), ids=CERTIFICATES)
async def test_a_cluster_speaks_for_itself_only(
    tmp_path: Path, uris: tuple[str, ...], code: Code
) -> None:
    authority = Authority(tmp_path)
    server_tls, client_tls = authority.leaf("server"), authority.leaf("client", *uris)
    async with line_to(ScriptedShard(), server_tls=server_tls, client_tls=client_tls) as line:
        assert await code_of_hello(line.client) is code
    if code is Code.OK:
        assert line.shard.peers == [Peer("bigfleet://cluster/shop", authenticated=True)]
        assert line.shard.peers[0].address.startswith("ipv")
    else:
        assert line.shard.hellos == {}
        assert line.observed[0] == ("Session", Code.PERMISSION_DENIED)


async def code_of_hello(client: SessionClient) -> Code:
    """A refusal may be there before the Hello is out."""
    try:
        async with client.open(HELLO) as session:
            await read(session, 1)
    except Rejected as rejected:
        return rejected.code
    return Code.OK


TOLD = {
    "another cluster": ("bigfleet://cluster/bank", "shop"),
    "no cluster at all": ("bigfleet://readonly", ""),
}


@pytest.mark.parametrize(("name", "cluster"), TOLD.values(), ids=TOLD)
async def test_a_client_that_is_refused_for_its_certificate_is_told_to_the_shard(
    tmp_path: Path, name: str, cluster: str
) -> None:
    authority = Authority(tmp_path)
    server_tls, client_tls = authority.leaf("server"), authority.leaf("client", name)
    async with line_to(ScriptedShard(), server_tls=server_tls, client_tls=client_tls) as line:
        assert await code_of_hello(line.client) is Code.PERMISSION_DENIED
    assert line.shard.refusals == [(cluster, Code.PERMISSION_DENIED)]


async def test_more_is_asked_of_the_outbox_only_when_the_line_took_the_last() -> None:
    shard = ScriptedShard(batch=1)
    big = NodeStateUpdate("m-1", "shop", MachineState.FAILED, last_error="x" * 1_000_000)
    ahead = []
    async with line_to(shard) as line, line.client.open(HELLO) as session:
        await read(session, 1)
        shard.put(1, *[big] * 200)
        for taken in range(200):
            assert await read(session, 1) == [big]
            ahead.append(shard.mail[1].asked - taken)
    # What the windows of both ends hold, a few megabytes, is all that leaves the outbox early.
    assert max(ahead) < 100


async def test_a_peer_that_never_reads_delays_no_other() -> None:
    shard = ScriptedShard()
    big = NodeStateUpdate("m-1", "shop", MachineState.FAILED, last_error="x" * 100_000)
    async with (
        line_to(shard, shared=True) as line,
        line.client.open(HELLO) as silent,
        SessionClient(line.client.address) as other,
        other.open(Hello("other")) as reader,
    ):
        # Both are let in, in whichever order; nothing more is read of the first.
        assert [await read(each, 1) for each in (silent, reader)] == [[LET_IN], [LET_IN]]
        stalled, lively = (
            next(s for s, h in shard.hellos.items() if h.cluster_id == name)
            for name in ("shop", "other")
        )
        shard.put(stalled, *[big] * 2_000)
        shard.put(lively, *[LET_IN] * 1_000)
        assert await read(reader, 1_000) == [LET_IN] * 1_000
        await reader.send(RollupFrame(b""))
        assert await shard.until_heard(1) == [RollupFrame(b"")]


@pytest.mark.parametrize("shared", [False, True], ids=["a line each", "one line"])
async def test_many_clusters_are_served_at_once(shared: bool) -> None:
    async with line_to(ScriptedShard(), shared=shared) as line, AsyncExitStack() as stack:
        opening = [stack.enter_async_context(line.client.open(Hello(f"c-{n}"))) for n in range(150)]
        sessions = await asyncio.gather(*opening)
        answers = await asyncio.gather(*(read(session, 1) for session in sessions))
        assert answers == [[LET_IN]] * 150
        assert sorted(line.shard.hellos) == list(range(1, 151))
