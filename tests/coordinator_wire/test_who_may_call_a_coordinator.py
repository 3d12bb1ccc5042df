"""Every RPC of the coordinator and every kind of certificate: exactly the gates of the contract."""

from pathlib import Path

import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire import coordinator_admin
from bigfleet.wire.authorisation import GATES
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.rpcs import Gate
from tests.coordinator_wire.scripted import PATIENCE, ScriptedCoordinator, serving
from tests.wire.certificates import Authority

GET_STATUS, JOIN_RAFT_CLUSTER, REPORT_SHARD, SYNC_SHARD = (
    coordinator_admin.GET_STATUS.path,
    coordinator_admin.JOIN_RAFT_CLUSTER.path,
    coordinator_admin.REPORT_SHARD.path,
    coordinator_admin.SYNC_SHARD.path,
)
SERVICES = (
    contract.DESCRIPTOR.services_by_name["Coordinator"],
    pb.DESCRIPTOR.services_by_name["CoordinatorAdmin"],
)
METHODS: dict[str, MethodDescriptor] = {
    f"/{service.full_name}/{method.name}": method
    for service in SERVICES
    for method in service.methods
}
AUDIT = shared.Audit(owner="ada", reason="drill")
#: What every RPC needs to be answered; the others take an empty message.
REQUESTS: dict[str, Message] = {
    "ReportShard": contract.ShardReport(shard_id="shard-0"),
    "SyncShard": pb.SyncShardRequest(shard_id="shard-0"),
    "AssignDomain": contract.AssignDomainRequest(
        topology_key="zone", topology_value="a", shard_id="shard-0"
    ),
    "UnassignDomain": contract.UnassignDomainRequest(topology_key="zone", topology_value="a"),
    "RemoveShard": contract.RemoveShardRequest(shard_id="shard-0"),
    "SetQuota": pb.SetQuotaRequest(provider="sim", audit=AUDIT),
    "DeleteQuota": pb.DeleteQuotaRequest(provider="sim", audit=AUDIT),
    "UpsertProvider": pb.UpsertProviderRequest(
        provider=shared.ProviderEntry(name="sim", address="p:1"), audit=AUDIT
    ),
    "DeleteProvider": pb.DeleteProviderRequest(name="sim", audit=AUDIT),
    "UnbindCluster": pb.UnbindClusterRequest(cluster_id="shop", audit=AUDIT),
    "SetDefaultOwner": pb.SetDefaultOwnerRequest(
        provider_address="p:1", shard_id="shard-0", audit=AUDIT
    ),
    "CancelTransfer": pb.CancelTransferRequest(transfer_id="t1", audit=AUDIT),
    "Pause": shared.PauseRequest(audit=AUDIT),
    "Resume": shared.ResumeRequest(audit=AUDIT),
}
SHARDS = {REPORT_SHARD, SYNC_SHARD}
LOOKS = {
    path
    for path, method in METHODS.items()
    if method.name.startswith(("List", "Get", "Tail")) and path not in SHARDS
}
WRITES = METHODS.keys() - SHARDS - LOOKS
#: Certificates, and what each may call.
IDENTITIES: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "the shard": (("bigfleet://shard/shard-0",), SHARDS),
    "another shard": (("bigfleet://shard/shard-1",), set()),
    "a shard with more": (("bigfleet://shard/shard-0/x",), set()),
    "a shard without a name": (("bigfleet://shard/",), set()),
    "a cluster": (("bigfleet://cluster/shard-0",), set()),
    "a reader": (("bigfleet://readonly",), LOOKS),
    "an admin": (("bigfleet://admin",), LOOKS | WRITES),
    "an admin with a name": (("bigfleet://admin/ada",), LOOKS | WRITES),
    "an admin with a path": (("bigfleet://admin/ada/shard-0",), set()),
    "no name": ((), set()),
    "a name of another scheme": (("spiffe://mesh/admin",), set()),
    "two at once": (("bigfleet://admin", "bigfleet://shard/shard-0"), set()),
}


def test_calls_that_ask_for_an_audit_are_for_admins_and_the_rest_for_readers_too() -> None:
    for path, method in METHODS.items():
        if method.containing_service is not SERVICES[1] or path == SYNC_SHARD:
            continue
        writes = "audit" in method.input_type.fields_by_name
        assert GATES[path] is (Gate.ADMINS if writes else Gate.READERS), path


@pytest.mark.parametrize(("uris", "allowed"), IDENTITIES.values(), ids=IDENTITIES)
async def test_every_rpc_is_open_to_the_right_certificates_only(
    tmp_path: Path, uris: tuple[str, ...], allowed: set[str]
) -> None:
    authority, coordinator = Authority(tmp_path), ScriptedCoordinator()
    async with serving(coordinator, tls=authority.leaf("server")) as rig:
        line = ClientLine(rig.address, authority.leaf("client", *uris))
        codes = {path: await code_of(line, path, method) for path, method in METHODS.items()}
        await line.close()
    expected = {path: Code.OK if path in allowed else Code.PERMISSION_DENIED for path in METHODS}
    if JOIN_RAFT_CLUSTER in allowed:
        expected[JOIN_RAFT_CLUSTER] = Code.UNIMPLEMENTED
    assert codes == expected
    # No denied caller was heard.
    assert len(coordinator.asked) == len(allowed - {JOIN_RAFT_CLUSTER})
    assert {peer.identity for peer in coordinator.peers} <= set(uris)


async def code_of(line: ClientLine, path: str, method: MethodDescriptor) -> Code:
    request = REQUESTS.get(method.name)
    content = b"" if request is None else request.SerializeToString()
    try:
        if method.server_streaming:
            async for _ in line.stream(path, content, PATIENCE):
                continue
        else:
            await line.call(path, content, PATIENCE)
    except Rejected as rejected:
        return rejected.code
    return Code.OK


async def test_without_certificates_no_caller_is_asked_for_a_name() -> None:
    async with serving(ScriptedCoordinator()) as rig:
        line = ClientLine(rig.address)
        codes = {path: await code_of(line, path, method) for path, method in METHODS.items()}
        await line.close()
    assert codes.pop(JOIN_RAFT_CLUSTER) is Code.UNIMPLEMENTED
    assert set(codes.values()) == {Code.OK}


async def test_every_replica_tells_its_readers_how_it_is(tmp_path: Path) -> None:
    authority, follower = Authority(tmp_path), ScriptedCoordinator(follows="c:7790")
    async with serving(follower, tls=authority.leaf("server")) as rig:
        for role, expected in {"readonly": Code.OK, "shard/s": Code.PERMISSION_DENIED}.items():
            line = ClientLine(rig.address, authority.leaf("client", f"bigfleet://{role}"))
            assert await code_of(line, GET_STATUS, METHODS[GET_STATUS]) is expected
            await line.close()


@pytest.mark.parametrize("uris", [(), ("bigfleet://cluster/shop",)], ids=["no name", "a cluster"])
async def test_health_is_open_to_every_certificate(tmp_path: Path, uris: tuple[str, ...]) -> None:
    authority = Authority(tmp_path)
    async with serving(ScriptedCoordinator(), tls=authority.leaf("server")) as rig:
        line = ClientLine(rig.address, authority.leaf("client", *uris))
        answer = await line.call("/grpc.health.v1.Health/Check", b"", PATIENCE)
        await line.close()
    assert health_pb2.HealthCheckResponse.FromString(answer).status == 1
