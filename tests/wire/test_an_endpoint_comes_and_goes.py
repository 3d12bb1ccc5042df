"""Starting, health, reflection and stopping of a provider's endpoint."""

import asyncio
from contextlib import suppress

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.provider_server import ProviderEndpoint
from tests.wire.lines import IDLE, ScriptedProvider, line_to

SERVICE = "bigfleet.v1alpha1.CapacityProvider"


@pytest.mark.parametrize("service", ["", SERVICE], ids=["the process", "the provider"])
async def test_health_follows_what_the_provider_says_of_itself(service: str) -> None:
    async with line_to(ScriptedProvider()) as line:
        assert await line.client.health(service) == "SERVING"
        await line.endpoint.set_serving(False)
        assert await line.client.health(service) == "NOT_SERVING"


async def test_an_endpoint_is_not_serving_before_it_says_so() -> None:
    endpoint = ProviderEndpoint(ScriptedProvider())
    port = await endpoint.start()
    async with ProviderClient(f"127.0.0.1:{port}") as client:
        assert await client.health() == "NOT_SERVING"
    await endpoint.stop()


async def test_the_health_of_a_stranger_is_not_found() -> None:
    async with line_to(ScriptedProvider()) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.health("bigfleet.v1alpha1.Coordinator")
    assert rejected.value.code is Code.NOT_FOUND


async def test_a_taken_port_is_an_error_and_is_not_shared() -> None:
    async with line_to(ScriptedProvider()) as line:
        second = ProviderEndpoint(ScriptedProvider(), address=f"127.0.0.1:{line.endpoint.port}")
        with pytest.raises(OSError, match="cannot listen on 127") as refused:
            await second.start()
        assert "the port is taken" in str(refused.value)
        assert "GRPC_VERBOSITY" not in str(refused.value)
        assert await line.client.get("m-1") == IDLE


async def test_a_provider_that_comes_back_is_found_again() -> None:
    async with line_to(ScriptedProvider()) as line:
        await line.client.get("m-1")
        await line.endpoint.stop()
        with pytest.raises(Rejected):  # or the line that was lost may still pass for a good one
            await line.client.get("m-1")
        again = ProviderEndpoint(ScriptedProvider(), address=f"127.0.0.1:{line.endpoint.port}")
        await again.start()
        await line.client.connected(deadline=60)
        assert await line.client.get("m-1") == IDLE
        await again.stop()


async def test_a_line_without_an_answer_is_told_within_the_deadline() -> None:
    async with line_to(ScriptedProvider()) as line:
        await line.endpoint.stop()
        with pytest.raises(Rejected):
            await line.client.get("m-1")
        with pytest.raises(Rejected, match="does not answer") as rejected:
            await line.client.connected(deadline=0.2)
    assert rejected.value.code is Code.UNAVAILABLE


async def test_a_handshake_that_takes_long_is_waited_for() -> None:
    """A busy server, or one across an ocean: no client hangs up within a back-off."""

    async def delay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        later = asyncio.Event()
        asyncio.get_running_loop().call_later(0.5, later.set)
        await later.wait()
        from_server, to_server = await asyncio.open_connection("127.0.0.1", line.endpoint.port)
        await asyncio.gather(passed_on(reader, to_server), passed_on(from_server, writer))
        ended.set()

    ended = asyncio.Event()
    async with line_to(ScriptedProvider()) as line:
        slow = await asyncio.start_server(delay, "127.0.0.1", 0)
        async with ProviderClient(f"127.0.0.1:{slow.sockets[0].getsockname()[1]}") as client:
            assert await client.get("m-1", deadline=60) == IDLE
        await ended.wait()
        slow.close()


async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while content := await reader.read(65536):
        writer.write(content)
        await writer.drain()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_reflection_names_the_services() -> None:
    async with line_to(ScriptedProvider(), reflection=True) as line:
        address = f"127.0.0.1:{line.endpoint.port}"
        async with grpc.aio.insecure_channel(address) as channel:
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            ask = reflection_pb2.ServerReflectionRequest(list_services="")
            answers = [answer async for answer in stub.ServerReflectionInfo(iter([ask]))]
    named = {service.name for service in answers[0].list_services_response.service}
    assert named >= {SERVICE, "grpc.health.v1.Health"}
