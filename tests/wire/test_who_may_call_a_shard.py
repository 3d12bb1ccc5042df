"""The table of who may call what: complete, and kept for every RPC and every certificate."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.edge.clock import next_turn
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.session_frames import Hello
from bigfleet.v1alpha1 import coordinator_pb2, shard_pb2, shardread_pb2
from bigfleet.wire.authorisation import GATES, authorise
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_server import ExtraService
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.rpcs import Gate
from bigfleet.wire.session_client import SessionClient
from bigfleet.wire.session_frames import operator_bytes
from bigfleet.wire.shard_admin import SHARD_ADMIN
from bigfleet.wire.shard_read import SHARD_READ
from tests.wire.admin import ScriptedAdmin
from tests.wire.certificates import Authority
from tests.wire.sessions import PATIENCE, ScriptedShard, line_to

SHARD, READ, ADMIN = (
    shard_pb2.DESCRIPTOR.services_by_name["Shard"],
    shardread_pb2.DESCRIPTOR.services_by_name["ShardRead"],
    pb.DESCRIPTOR.services_by_name["ShardAdmin"],
)
HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]
REFLECTION = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]


def paths_of(*services: ServiceDescriptor) -> Iterator[str]:
    for service in services:
        yield from (f"/{service.full_name}/{method.name}" for method in service.methods)


def test_the_table_has_every_rpc_of_both_ports_and_no_other() -> None:
    coordinators = (
        coordinator_pb2.DESCRIPTOR.services_by_name["Coordinator"],
        coordinator_admin_pb2.DESCRIPTOR.services_by_name["CoordinatorAdmin"],
    )
    served = set(paths_of(SHARD, READ, ADMIN, *coordinators, HEALTH, REFLECTION))
    assert set(GATES) == served


def test_calls_that_ask_for_an_audit_are_for_admins_and_the_rest_for_readers_too() -> None:
    for method in ADMIN.methods:
        writes = "audit" in method.input_type.fields_by_name
        gate = GATES[f"/{ADMIN.full_name}/{method.name}"]
        names = ("WhatIf", "Counterfactual", "ListNeeds")
        own = dict.fromkeys(names, Gate.READERS_AND_CLUSTER)
        clusters = {"ReportCluster": Gate.CLUSTER, **own}
        others = clusters.get(method.name, Gate.READERS)
        assert gate is (Gate.ADMINS if writes else others), method.name


@pytest.mark.parametrize("peer", [Peer(), Peer("bigfleet://admin", authenticated=True)])
def test_an_rpc_without_a_line_in_the_table_is_denied(peer: Peer) -> None:
    with pytest.raises(Rejected, match="no line in the table") as rejected:
        authorise("/bigfleet.admin.v1alpha1.ShardAdmin/Explode", peer)
    assert rejected.value.code is Code.PERMISSION_DENIED


AUDIT = shared.Audit(owner="ada", reason="drill")
REQUESTS = {
    "Pause": shared.PauseRequest(audit=AUDIT),
    "Resume": shared.ResumeRequest(pause_id="p-1", audit=AUDIT),
    "ClearFailedMachine": pb.ClearFailedMachineRequest(mode=pb.CLEAR_MODE_RETRY, audit=AUDIT),
    "ReleaseQuarantine": pb.ReleaseQuarantineRequest(kind=pb.QUARANTINE_KIND_ROLLUP, audit=AUDIT),
    "ResetOffering": pb.ResetOfferingRequest(audit=AUDIT),
    "SetVerifierPolicy": pb.SetVerifierPolicyRequest(audit=AUDIT),
    "ReportCluster": pb.ReportClusterRequest(report=pb.ClusterReport(cluster_id="shop")),
}
REPORT = {f"/{ADMIN.full_name}/ReportCluster"}
WRITES = {f"/{ADMIN.full_name}/{name}" for name in REQUESTS} - REPORT
LOOKS = set(paths_of(READ, ADMIN)) - WRITES - REPORT
SESSION = set(paths_of(SHARD))
#: Certificates, and what each may call besides health.
IDENTITIES: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "the cluster": (("bigfleet://cluster/shop",), SESSION | REPORT),
    "another cluster": (("bigfleet://cluster/bank",), set()),
    "a cluster without a name": (("bigfleet://cluster/",), set()),
    "a shard": (("bigfleet://shard/shop",), set()),
    "a reader": (("bigfleet://readonly",), LOOKS),
    "an admin": (("bigfleet://admin",), LOOKS | WRITES),
    "an admin with a name": (("bigfleet://admin/ada@example.org",), LOOKS | WRITES),
    "an admin with an empty name": (("bigfleet://admin/",), set()),
    "an admin with a path": (("bigfleet://admin/ada/shop",), set()),
    "a name that begins like one": (("bigfleet://administrator",), set()),
    "no name": ((), set()),
    "a name of another scheme": (("spiffe://mesh/admin",), set()),
    "two at once": (("bigfleet://admin", "bigfleet://cluster/shop"), set()),
}


@pytest.mark.parametrize(("uris", "allowed"), IDENTITIES.values(), ids=IDENTITIES)
async def test_every_rpc_is_open_to_the_right_certificates_only(
    tmp_path: Path, uris: tuple[str, ...], allowed: set[str]
) -> None:
    authority, people = Authority(tmp_path), ScriptedAdmin()
    services: list[ExtraService] = [
        RpcService(SHARD_ADMIN, people),
        RpcService(SHARD_READ, people),
    ]
    client_tls = authority.leaf("client", *uris)
    async with line_to(
        ScriptedShard(), server_tls=authority.leaf("server"), extra_services=services
    ) as line:
        codes = await codes_of(line.client.address, client_tls)
    assert set(codes) == SESSION | LOOKS | WRITES | REPORT
    expected = {path: Code.OK if path in allowed else Code.PERMISSION_DENIED for path in codes}
    assert codes == expected
    # No denied caller was heard.
    assert len(people.asked) == len(allowed - SESSION)
    assert line.shard.hellos == ({1: Hello("shop")} if allowed >= SESSION else {})


async def codes_of(address: str, tls: TlsFiles) -> dict[str, Code]:
    line = ClientLine(address, tls)
    found = {path: await session_code(address, tls) for path in SESSION}
    for service in (READ, ADMIN):
        for method in service.methods:
            path = f"/{service.full_name}/{method.name}"
            request = REQUESTS.get(method.name)
            content = request.SerializeToString() if request is not None else b""
            found[path] = await code_of(line, path, content, streams=method.server_streaming)
    await line.close()
    return found


async def code_of(line: ClientLine, path: str, request: bytes, *, streams: bool) -> Code:
    try:
        if not streams:
            await line.call(path, request, PATIENCE)
        else:
            async for _ in line.stream(path, request):
                continue
    except Rejected as rejected:
        return rejected.code
    return Code.OK


async def session_code(address: str, tls: TlsFiles) -> Code:
    async with SessionClient(address, tls) as client:
        try:
            async with client.open(Hello("shop")) as session:
                await session.read()
        except Rejected as rejected:
            return rejected.code
    return Code.OK


def silent_session(client: ClientLine) -> "grpc.aio.StreamStreamCall[bytes, bytes]":
    """A stream on which nothing is said yet."""
    (path,) = SESSION
    rpc: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = client._line().stream_stream(path)
    return rpc()


async def test_a_denied_stream_ends_behind_its_first_frame(tmp_path: Path) -> None:
    """A status that crosses a write is lost, and the denied operator would dial for ever."""
    authority = Authority(tmp_path)
    reader = authority.leaf("client", "bigfleet://readonly")
    async with line_to(ScriptedShard(), server_tls=authority.leaf("server")) as line:
        client = ClientLine(line.client.address, reader)
        call = silent_session(client)
        async with asyncio.timeout(PATIENCE):
            await call.wait_for_connection()
            while not line.shard.refusals:
                await next_turn()
            # On the same connection, so that an end that was sent would be here by now.
            await client.call("/grpc.health.v1.Health/Check", b"", PATIENCE)
            assert not call.done()
            await call.write(operator_bytes(Hello("shop")))
            assert await call.code() is grpc.StatusCode.PERMISSION_DENIED
        await client.close()
    assert line.shard.refusals == [("", Code.PERMISSION_DENIED)]
    assert line.shard.hellos == {}


@pytest.mark.parametrize("said", ["done", "nothing"])
async def test_a_denied_stream_without_any_frame_ends_too(
    tmp_path: Path, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if said == "nothing":
        monkeypatch.setattr("bigfleet.wire.authorisation.FIRST_FRAME_SECONDS", 0.0)
    authority = Authority(tmp_path)
    reader = authority.leaf("client", "bigfleet://readonly")
    async with line_to(ScriptedShard(), server_tls=authority.leaf("server")) as line:
        client = ClientLine(line.client.address, reader)
        call = silent_session(client)
        if said == "done":
            await call.done_writing()
        async with asyncio.timeout(PATIENCE):
            assert await call.code() is grpc.StatusCode.PERMISSION_DENIED
        await client.close()


@pytest.mark.parametrize("uris", [(), ("bigfleet://cluster/shop",)], ids=["no name", "a cluster"])
async def test_health_and_reflection_are_open_to_every_certificate(
    tmp_path: Path, uris: tuple[str, ...]
) -> None:
    authority = Authority(tmp_path)
    client_tls = authority.leaf("client", *uris)
    async with line_to(
        ScriptedShard(), server_tls=authority.leaf("server"), reflection=True
    ) as line:
        client = ClientLine(line.client.address, client_tls)
        answer = await client.call("/grpc.health.v1.Health/Check", b"", PATIENCE)
        channel = client._line()
        rpc: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
            f"/{REFLECTION.full_name}/ServerReflectionInfo"
        )
        ask = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
        named = [reply async for reply in rpc(iter([ask]))]
        await client.close()
    assert health_pb2.HealthCheckResponse.FromString(answer).status == 1
    assert b"bigfleet.v1alpha1.Shard" in named[0]


async def test_a_service_that_is_not_in_the_table_is_denied_on_any_line() -> None:
    class Forgotten:
        name = "bigfleet.admin.v1alpha1.Forgotten"

        def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
            async def answer(_request: bytes, _peer: Peer) -> bytes:
                return b""

            do = serving.writes("Do", answer)
            return grpc.method_handlers_generic_handler(self.name, {"Do": do})

    async with line_to(ScriptedShard(), extra_services=[Forgotten()]) as line:
        client = ClientLine(line.client.address)
        with pytest.raises(Rejected) as rejected:
            await client.call(f"/{Forgotten.name}/Do", b"", PATIENCE)
        await client.close()
    assert rejected.value.code is Code.PERMISSION_DENIED
    assert line.observed == [("Do", Code.PERMISSION_DENIED)]
