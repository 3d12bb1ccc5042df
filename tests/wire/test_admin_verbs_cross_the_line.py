"""The admin face and the sim's control over real gRPC: verbs, arguments, gates, streams."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from bigfleet.admin.v1alpha1 import provider_admin_pb2
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_admin import (
    RPCS,
    AdminHandler,
    Arguments,
    JsonObject,
    ProviderAdminClient,
    ProviderAdminService,
    Verb,
)
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.sim_control import SIM_CONTROL, SimControlClient
from tests.wire.certificates import Authority
from tests.wire.lines import ScriptedProvider, line_to

AUDIT = {"owner": "ada", "reason": "drill"}
ARGUMENTS: dict[Verb, Arguments] = {
    Verb.MACHINES: {"machine_id": "m-1", "state": "Idle", "limit": 5},
    Verb.OPS: {"machine_id": "m-1", "running": True, "limit": 5},
    Verb.FENCES: {"shard_id": "shard-0", "machine_id": "m\x00", "limit": 0},
    Verb.FAILED: {"limit": 3},
    Verb.PRUNE_FENCES: {"shard_id": "shard-0", **AUDIT},
    Verb.REPAIR: {"machine_id": "m-1", **AUDIT},
    Verb.ADOPT: {"machine_id": "m-1", **AUDIT},
    Verb.FORGET: {"machine_id": "m-1", **AUDIT},
    Verb.ACCEPT_DESCRIBE: AUDIT,
    Verb.EXPORT: {"format": "go"},
    Verb.IMPORT: {"format": "", "content": b"\x00\xff", **AUDIT},
    Verb.BACKUP: {},
}
WRITING = [verb for verb in Verb if RPCS[verb].writes]
READS = [Verb.MACHINES, Verb.OPS, Verb.FENCES, Verb.FAILED]


class Echo:
    """Answers every verb with what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Verb, Arguments]] = []

    def service(self) -> ProviderAdminService:
        return ProviderAdminService({verb: self.handler(verb) for verb in Verb})

    def handler(self, verb: Verb) -> AdminHandler:
        async def answer(arguments: Arguments, _peer: Peer) -> JsonObject:
            self.asked.append((verb, arguments))
            return {"verb": verb, "nul": "\x00", "content": b"whole state"}

        return answer


class ScriptedSim:
    """A sim that knows two verbs and tells events until it is closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def do(self, verb: str, words: Sequence[str], args: Mapping[str, str]) -> JsonObject:
        if verb != "fail":
            raise Rejected(Code.INVALID_ARGUMENT, f"no such verb: {verb}")
        return {"failed": list(words), **args}

    async def events(self, follow: bool, after: int) -> AsyncGenerator[JsonObject, None]:
        try:
            for number in range(after + 1, 4):
                yield {"number": number, "text": "\x00"}
            if follow:
                await asyncio.Event().wait()
        finally:
            self.closed.set()


def test_every_rpc_of_the_service_is_a_verb() -> None:
    declared = provider_admin_pb2.DESCRIPTOR.services_by_name["ProviderAdmin"].methods_by_name
    assert {rpc.method for rpc in RPCS.values()} == set(declared)
    assert set(RPCS) == set(Verb)


@pytest.mark.parametrize("verb", Verb)
async def test_a_verb_arrives_with_its_arguments_and_brings_its_answer(verb: Verb) -> None:
    echo = Echo()
    async with (
        line_to(ScriptedProvider(), extra_services=[echo.service()]) as line,
        ProviderAdminClient(f"127.0.0.1:{line.endpoint.port}") as client,
    ):
        answer = await client.do(verb, ARGUMENTS[verb])
    assert echo.asked == [(verb, ARGUMENTS[verb])]
    assert answer.answer == {"verb": verb.value, "nul": "\x00"}
    assert answer.content == b"whole state"


@pytest.mark.parametrize("missing", ["owner", "reason"])
@pytest.mark.parametrize("verb", WRITING)
async def test_a_verb_that_writes_needs_an_owner_and_a_reason(verb: Verb, missing: str) -> None:
    echo = Echo()
    arguments = {**ARGUMENTS[verb], missing: ""}
    async with (
        line_to(ScriptedProvider(), extra_services=[echo.service()]) as line,
        ProviderAdminClient(f"127.0.0.1:{line.endpoint.port}") as client,
    ):
        with pytest.raises(Rejected) as rejected:
            await client.do(verb, arguments)
    assert rejected.value.code is Code.INVALID_ARGUMENT
    assert echo.asked == []


async def test_an_argument_a_verb_does_not_take_is_told_before_anything_is_sent() -> None:
    async with ProviderAdminClient("127.0.0.1:1") as client:
        with pytest.raises(TypeError, match="ListFailed takes no zone"):
            await client.do(Verb.FAILED, {"zone": "z-a"})


async def test_a_verb_that_is_not_served_is_unimplemented() -> None:
    service = ProviderAdminService({})
    async with (
        line_to(ScriptedProvider(), extra_services=[service]) as line,
        ProviderAdminClient(f"127.0.0.1:{line.endpoint.port}") as client,
    ):
        with pytest.raises(Rejected) as rejected:
            await client.do(Verb.MACHINES)
    assert rejected.value.code is Code.UNIMPLEMENTED


IDENTITIES = {
    "an admin": ("bigfleet://admin", set(Verb)),
    "a reader": ("bigfleet://readonly", set(READS)),
    "a shard": ("bigfleet://shard/shard-0", set()),
    "a cluster": ("bigfleet://cluster/c1", set()),
    "a name of another scheme": ("spiffe://mesh/x", set()),
}


@pytest.mark.parametrize(("name", "allowed"), IDENTITIES.values(), ids=IDENTITIES)
async def test_only_the_right_names_may_use_a_verb(
    tmp_path: Path, name: str, allowed: set[Verb]
) -> None:
    authority, echo = Authority(tmp_path), Echo()
    server_tls, client_tls = authority.leaf("server"), authority.leaf("client", name)
    services = [echo.service()]
    async with (
        line_to(ScriptedProvider(), server_tls=server_tls, extra_services=services) as line,
        ProviderAdminClient(f"localhost:{line.endpoint.port}", client_tls) as client,
    ):
        codes = {verb: await code_of(client, verb) for verb in Verb}
    assert {verb for verb, code in codes.items() if code is Code.OK} == allowed
    refused = {code for verb, code in codes.items() if verb not in allowed}
    assert refused <= {Code.PERMISSION_DENIED}


async def code_of(client: ProviderAdminClient, verb: Verb) -> Code:
    try:
        await client.do(verb, ARGUMENTS[verb])
    except Rejected as rejected:
        return rejected.code
    return Code.OK


async def test_a_sim_verb_carries_its_words_and_its_arguments() -> None:
    service = RpcService(SIM_CONTROL, ScriptedSim())
    async with (
        line_to(ScriptedProvider(), extra_services=[service]) as line,
        SimControlClient(f"127.0.0.1:{line.endpoint.port}") as client,
    ):
        assert await client.do("fail", ["m-1", "m,2"], {"reason": "fan"}) == {
            "failed": ["m-1", "m,2"],
            "reason": "fan",
        }
        with pytest.raises(Rejected, match="no such verb: explode") as rejected:
            await client.do("explode")
    assert rejected.value.code is Code.INVALID_ARGUMENT


async def test_events_come_from_where_the_caller_left_off() -> None:
    service = RpcService(SIM_CONTROL, ScriptedSim())
    async with (
        line_to(ScriptedProvider(), extra_services=[service]) as line,
        SimControlClient(f"127.0.0.1:{line.endpoint.port}") as client,
    ):
        told = [event async for event in client.events(after=1)]
    assert told == [{"number": 2, "text": "\x00"}, {"number": 3, "text": "\x00"}]
    assert line.observed == [("Events", Code.OK)]


async def test_a_follower_that_leaves_ends_the_stream_at_the_source() -> None:
    world = ScriptedSim()
    async with (
        line_to(ScriptedProvider(), extra_services=[RpcService(SIM_CONTROL, world)]) as line,
        SimControlClient(f"127.0.0.1:{line.endpoint.port}") as client,
    ):
        async with aclosing(client.events(follow=True)) as events:
            assert (await anext(events))["number"] == 1
        await asyncio.wait_for(world.closed.wait(), 60)


async def test_the_control_of_the_world_is_for_admins_only(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    reader: TlsFiles = authority.leaf("client", "bigfleet://readonly")
    services = [RpcService(SIM_CONTROL, ScriptedSim(), checks_callers=True)]
    async with (
        line_to(
            ScriptedProvider(), server_tls=authority.leaf("server"), extra_services=services
        ) as line,
        SimControlClient(f"localhost:{line.endpoint.port}", reader) as client,
    ):
        with pytest.raises(Rejected) as doing:
            await client.do("fail", ["m-1"])
        with pytest.raises(Rejected) as watching:
            await anext(client.events())
    assert doing.value.code is watching.value.code is Code.PERMISSION_DENIED
