"""What a shard says is what a provider hears, and the other way round, over real gRPC."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    Mutation,
    Peer,
    Rejected,
    Token,
)
from bigfleet.wire.provider_client import ProviderClient
from tests.wire.lines import BOUND, IDLE, ScriptedProvider, line_to

GREATEST = 2**63 - 1
TOKEN = Token("shard-0", 2, 9)
METADATA = {"": "", "gang\x00id": "a\x00b", "ключ": " trailing "}
MUTATIONS: dict[str, Mutation] = {
    "a create": CreateCall("m-1", TOKEN),
    "a create without token": CreateCall("m-1"),
    "a configure": ConfigureCall("m-1", "c1", b"\x00\x01\xff", TOKEN, METADATA),
    "a configure with nothing": ConfigureCall("m-1", ""),
    "a drain": DrainCall("m-1", 600, TOKEN),
    "a drain with a negative grace": DrainCall("m-1", -5, TOKEN),
    "a delete": DeleteCall("m-1", TOKEN),
    "the greatest token": DeleteCall("m-1", Token("s", GREATEST, GREATEST)),
    "the least token": DeleteCall("m-1", Token("s", -GREATEST - 1, -1)),
    "an empty id": CreateCall("", TOKEN),
}


def sender(client: ProviderClient, call: Mutation) -> Callable[[], Awaitable[Ack]]:
    match call:
        case CreateCall():
            return lambda: client.create(call)
        case ConfigureCall():
            return lambda: client.configure(call)
        case DrainCall():
            return lambda: client.drain(call)
        case DeleteCall():
            return lambda: client.delete(call)


@pytest.mark.parametrize("call", MUTATIONS.values(), ids=MUTATIONS)
async def test_a_mutation_arrives_as_it_was_sent(call: Mutation) -> None:
    async with line_to(ScriptedProvider()) as line:
        ack = await sender(line.client, call)()
    assert line.provider.calls == [call]
    assert ack == Ack("op-7", IDLE)


async def test_a_machine_comes_back_with_every_field() -> None:
    async with line_to(ScriptedProvider(machine=BOUND)) as line:
        assert await line.client.get("m-2") == BOUND
    assert line.provider.calls == ["m-2"]


async def test_a_list_carries_its_filter_and_its_revision() -> None:
    call = ListCall((MachineState.IDLE, MachineState.FAILED), 7, b"\x00cursor\xff")
    async with line_to(ScriptedProvider()) as line:
        machines, revision = await line.client.list(call)
    assert line.provider.calls == [call]
    assert (machines, revision) == ((IDLE, BOUND), b"r-9")


async def test_a_list_above_the_default_limit_of_grpc_arrives() -> None:
    many = [BOUND] * 60_000  # about 5 MiB, where gRPC's own limit is 4
    async with line_to(ScriptedProvider(machines=many)) as line:
        assert len(await line.client.list_bytes()) > 4 * 1024 * 1024


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
async def test_a_rejection_keeps_its_code_its_text_and_its_reason(code: Code) -> None:
    raises = Rejected(code, "m-1 is Draining, наконец", "out-of-position")
    async with line_to(ScriptedProvider(raises=raises)) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.create(CreateCall("m-1"))
    assert (rejected.value.code, rejected.value.text) == (code, "m-1 is Draining, наконец")
    assert rejected.value.reason == "out-of-position"
    assert line.observed == [("Create", code)]


async def test_a_rejection_without_a_reason_has_none() -> None:
    async with line_to(ScriptedProvider(raises=Rejected(Code.NOT_FOUND, "no m-1"))) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.get("m-1")
    assert rejected.value.reason == ""


async def test_a_text_too_long_for_a_header_is_cut() -> None:
    async with line_to(ScriptedProvider(raises=Rejected(Code.ABORTED, "x" * 50_000))) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.get("m-1")
    assert (rejected.value.code, len(rejected.value.text)) == (Code.ABORTED, 1024)


async def test_a_fault_of_the_handler_is_internal_and_shows_nothing() -> None:
    fault = KeyError("password=hunter2")
    async with line_to(ScriptedProvider(raises=fault)) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.get("m-1")
        assert line.faults == [("Get", fault)]
        line.provider.raises = None
        assert await line.client.get("m-1") == IDLE
    assert (rejected.value.code, rejected.value.text) == (Code.INTERNAL, "internal error")
    assert line.observed == [("Get", Code.INTERNAL), ("Get", Code.OK)]


async def test_bytes_that_are_no_message_are_an_invalid_argument() -> None:
    async with line_to(ScriptedProvider()) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.raw_call("Create", b"\x0a\xff")
        with pytest.raises(Rejected) as not_text:
            await line.client.raw_call("Create", b"\x0a\x01\xff")
    assert rejected.value.code == not_text.value.code == Code.INVALID_ARGUMENT
    assert line.provider.calls == []


async def test_a_method_that_does_not_exist_is_unimplemented() -> None:
    async with line_to(ScriptedProvider()) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.raw_call("Watch", b"")
    assert rejected.value.code is Code.UNIMPLEMENTED


async def test_a_deadline_that_passes_is_told_as_such() -> None:
    async with line_to(ScriptedProvider(gate=asyncio.Event())) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.create(CreateCall("m-1"), deadline=0.05)
        assert line.provider.gate is not None
        line.provider.gate.set()
    assert rejected.value.code is Code.DEADLINE_EXCEEDED


async def test_a_mutation_is_finished_though_its_caller_hung_up() -> None:
    provider = ScriptedProvider(gate=asyncio.Event())
    async with line_to(provider) as line:
        asking = asyncio.create_task(line.client.create(CreateCall("m-1", TOKEN)))
        await provider.entered.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert provider.gate is not None
        provider.gate.set()
        await line.endpoint.stop()
    assert provider.finished == [CreateCall("m-1", TOKEN)]
    assert line.observed == [("Create", Code.OK)]


async def test_a_missing_server_is_unavailable() -> None:
    async with line_to(ScriptedProvider()) as line:
        await line.endpoint.stop()
        with pytest.raises(Rejected) as rejected:
            await line.client.get("m-1", deadline=60)
    assert rejected.value.code is Code.UNAVAILABLE


async def test_without_certificates_a_caller_has_no_name() -> None:
    async with line_to(ScriptedProvider()) as line:
        await line.client.get("m-1")
    assert line.provider.peers == [Peer(None, authenticated=False)]


async def test_every_finished_call_is_recorded_with_its_end() -> None:
    told: list[tuple[str, object, Code, object]] = []
    rejected = Rejected(Code.NOT_FOUND, "no m-1")
    provider = ScriptedProvider()
    async with line_to(provider, record=lambda m, q, c, a, _s: told.append((m, q, c, a))) as line:
        await line.client.get("m-1")
        provider.raises = rejected
        with pytest.raises(Rejected) as caught:
            await line.client.drain(DrainCall("m-1", 5))
    assert told == [
        ("Get", "m-1", Code.OK, IDLE),
        ("Drain", DrainCall("m-1", 5), Code.NOT_FOUND, caught.value),
    ]
