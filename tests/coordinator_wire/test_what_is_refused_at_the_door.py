"""Codes, and the order of checks: who leads, then who asks, then what is asked.

Only a report's missing shard id comes before its sender's name.
"""

from pathlib import Path

import pytest
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordinator_calls import NotLeader
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire import coordinator_admin
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.lines import TlsFiles
from tests.coordinator_wire.scripted import PATIENCE, ScriptedCoordinator, serving
from tests.wire.certificates import Authority

AUDIT = shared.Audit(owner="ada", reason="drill")
LONG = "x" * 257
GET_STATUS, JOIN_RAFT_CLUSTER, REPORT_SHARD, SYNC_SHARD = (
    coordinator_admin.GET_STATUS.path,
    coordinator_admin.JOIN_RAFT_CLUSTER.path,
    coordinator_admin.REPORT_SHARD.path,
    coordinator_admin.SYNC_SHARD.path,
)
V1 = f"/{coordinator_admin.COORDINATOR.name}/"
ADMIN = f"/{coordinator_admin.COORDINATOR_ADMIN.name}/"


async def refusal(
    coordinator: ScriptedCoordinator,
    path: str,
    request: Message | bytes = b"",
    *,
    server_tls: TlsFiles | None = None,
    client_tls: TlsFiles | None = None,
) -> Rejected:
    content = request if isinstance(request, bytes) else request.SerializeToString()
    async with serving(coordinator, tls=server_tls) as rig:
        line = ClientLine(rig.address, client_tls)
        with pytest.raises(Rejected) as rejected:
            await line.call(path, content, PATIENCE)
        await line.close()
    assert coordinator.asked == []
    return rejected.value


MISSING: dict[str, tuple[str, Message, str]] = {
    "a report without shard": (REPORT_SHARD, contract.ShardReport(cycle=1), "shard_id is missing"),
    "a sync without a shard": (SYNC_SHARD, pb.SyncShardRequest(cycle=1), "shard_id is missing"),
    "a domain without a key": (
        V1 + "AssignDomain",
        contract.AssignDomainRequest(topology_value="a", shard_id="s"),
        "topology_key is missing",
    ),
    "a domain without a value": (
        V1 + "AssignDomain",
        contract.AssignDomainRequest(topology_key="zone", shard_id="s"),
        "topology_value is missing",
    ),
    "a domain without a shard": (
        V1 + "AssignDomain",
        contract.AssignDomainRequest(topology_key="zone", topology_value="a"),
        "shard_id is missing",
    ),
    "no domain to take away": (
        V1 + "UnassignDomain",
        contract.UnassignDomainRequest(topology_key="zone"),
        "topology_value is missing",
    ),
    "no shard to remove": (V1 + "RemoveShard", contract.RemoveShardRequest(), "shard_id"),
    "a quota of no provider": (
        ADMIN + "SetQuota",
        pb.SetQuotaRequest(region="eu", audit=AUDIT),
        "provider is missing",
    ),
    "a quota below zero": (
        ADMIN + "SetQuota",
        pb.SetQuotaRequest(provider="sim", total=-1, audit=AUDIT),
        "total is -1",
    ),
    "a provider without a name": (
        ADMIN + "UpsertProvider",
        pb.UpsertProviderRequest(provider=shared.ProviderEntry(address="p:1"), audit=AUDIT),
        "provider.name is missing",
    ),
    "a provider without an address": (
        ADMIN + "UpsertProvider",
        pb.UpsertProviderRequest(provider=shared.ProviderEntry(name="sim"), audit=AUDIT),
        "provider.address is missing",
    ),
    "no provider to delete": (
        ADMIN + "DeleteProvider",
        pb.DeleteProviderRequest(audit=AUDIT),
        "name is missing",
    ),
    "no cluster to unbind": (
        ADMIN + "UnbindCluster",
        pb.UnbindClusterRequest(audit=AUDIT),
        "cluster_id is missing",
    ),
    "a default owner of nothing": (
        ADMIN + "SetDefaultOwner",
        pb.SetDefaultOwnerRequest(shard_id="s", audit=AUDIT),
        "provider_address is missing",
    ),
    "a default without an owner": (
        ADMIN + "SetDefaultOwner",
        pb.SetDefaultOwnerRequest(provider_address="p:1", audit=AUDIT),
        "shard_id is missing",
    ),
    "no transfer to cancel": (
        ADMIN + "CancelTransfer",
        pb.CancelTransferRequest(audit=AUDIT),
        "transfer_id is missing",
    ),
    "a pause of an unknown action": (
        ADMIN + "Pause",
        shared.PauseRequest(scope=shared.PauseScope(kinds=[77]), audit=AUDIT),  # type: ignore[list-item]
        "not known here",
    ),
}
WITHOUT_AUDIT: dict[str, Message] = {
    "SetQuota": pb.SetQuotaRequest(provider="sim"),
    "DeleteQuota": pb.DeleteQuotaRequest(provider="sim"),
    "UpsertProvider": pb.UpsertProviderRequest(
        provider=shared.ProviderEntry(name="sim", address="p:1")
    ),
    "DeleteProvider": pb.DeleteProviderRequest(name="sim"),
    "UnbindCluster": pb.UnbindClusterRequest(cluster_id="shop"),
    "SetDefaultOwner": pb.SetDefaultOwnerRequest(provider_address="p:1", shard_id="s"),
    "CancelTransfer": pb.CancelTransferRequest(transfer_id="t1"),
    "Pause": shared.PauseRequest(),
    "Resume": shared.ResumeRequest(pause_id="p-1"),
}
TOO_MUCH: dict[str, tuple[str, Message, str]] = {
    "a long shard id": (REPORT_SHARD, contract.ShardReport(shard_id=LONG), "257 characters"),
    "a long address": (
        REPORT_SHARD,
        contract.ShardReport(shard_id="s", shard_address=LONG),
        "shard_address has 257 characters; 256 are enough",
    ),
    "many acks": (
        REPORT_SHARD,
        contract.ShardReport(shard_id="s", instruction_acks=[contract.InstructAck()] * 10_001),
        "instruction_acks has 10001 rows; 10000 are the most",
    ),
    "many zones": (
        REPORT_SHARD,
        contract.ShardReport(
            shard_id="s",
            summary=contract.ShardSummary(per_zone_counts={f"z{n}": 1 for n in range(10_001)}),
        ),
        "per_zone_counts has 10001 rows",
    ),
    "a large report": (
        REPORT_SHARD,
        contract.ShardReport(shard_id="s", shard_address="x" * (65 * 1024 * 1024)),
        "67108864 are the most",
    ),
    "many clusters": (
        SYNC_SHARD,
        pb.SyncShardRequest(shard_id="s", cluster_ids=["c"] * 20_001),
        "cluster_ids has 20001 rows; 20000 are the most",
    ),
    "a long cluster id": (
        SYNC_SHARD,
        pb.SyncShardRequest(shard_id="s", cluster_ids=[LONG]),
        "cluster_ids has 257 characters",
    ),
    "a long region": (
        SYNC_SHARD,
        pb.SyncShardRequest(shard_id="s", quota_usage=[pb.QuotaUsage(region=LONG)]),
        "quota_usage.region has 257 characters",
    ),
    "many regions in an offer": (
        SYNC_SHARD,
        pb.SyncShardRequest(shard_id="s", offer_replies=[pb.OfferReply(regions=["eu"] * 10_001)]),
        "offer_replies.regions has 10001 rows",
    ),
    "a long region in an offer": (
        SYNC_SHARD,
        pb.SyncShardRequest(shard_id="s", offer_replies=[pb.OfferReply(regions=[LONG])]),
        "offer_replies.regions has 257 characters",
    ),
    "many machines in an offer": (
        SYNC_SHARD,
        pb.SyncShardRequest(
            shard_id="s", offer_replies=[pb.OfferReply(machine_ids=["m"] * 10_001)]
        ),
        "offer_replies.machine_ids has 10001 rows",
    ),
    "a long machine id": (
        SYNC_SHARD,
        pb.SyncShardRequest(shard_id="s", offer_replies=[pb.OfferReply(machine_ids=["m" * 1025])]),
        "1025 characters; 1024 are enough",
    ),
    "a long key": (
        V1 + "UnassignDomain",
        contract.UnassignDomainRequest(topology_key="k" * 513, topology_value="a"),
        "513 characters; 512 are enough",
    ),
    "a long filter": (
        V1 + "ListShardReports",
        contract.ListShardReportsRequest(shard_id=LONG),
        "257 characters",
    ),
    "a large request": (
        V1 + "RemoveShard",
        contract.RemoveShardRequest(shard_id="x" * (1024 * 1024 + 1)),
        "1048576 are the most",
    ),
    "many shards of a provider": (
        ADMIN + "UpsertProvider",
        pb.UpsertProviderRequest(
            provider=shared.ProviderEntry(name="sim", address="p:1", attached_shards=["s"] * 1_001),
            audit=AUDIT,
        ),
        "1001 rows; 1000 are the most",
    ),
    "a long reason": (
        ADMIN + "DeleteProvider",
        pb.DeleteProviderRequest(name="p", audit=shared.Audit(owner="a", reason="x" * 4097)),
        "4097 characters",
    ),
    "a pause of many shards": (
        ADMIN + "Pause",
        shared.PauseRequest(scope=shared.PauseScope(shard_ids=["s"] * 10_001), audit=AUDIT),
        "10001 of a kind",
    ),
}


@pytest.mark.parametrize(
    ("path", "request_", "text"), [*MISSING.values(), *TOO_MUCH.values()], ids=[*MISSING, *TOO_MUCH]
)
async def test_what_is_missing_or_too_much_is_an_invalid_argument(
    path: str, request_: Message, text: str
) -> None:
    rejected = await refusal(ScriptedCoordinator(), path, request_)
    assert rejected.code is Code.INVALID_ARGUMENT
    assert text in rejected.text


@pytest.mark.parametrize("method", WITHOUT_AUDIT)
async def test_a_change_says_who_makes_it_and_why(method: str) -> None:
    rejected = await refusal(ScriptedCoordinator(), ADMIN + method, WITHOUT_AUDIT[method])
    assert (rejected.code, "who changes this" in rejected.text) == (Code.INVALID_ARGUMENT, True)


async def test_bytes_that_are_no_request_are_an_invalid_argument() -> None:
    rejected = await refusal(ScriptedCoordinator(), REPORT_SHARD, b"\x0a\xff")
    assert rejected.code is Code.INVALID_ARGUMENT


ALL = [
    *(V1 + method.name for method in contract.DESCRIPTOR.services_by_name["Coordinator"].methods),
    *(ADMIN + method.name for method in pb.DESCRIPTOR.services_by_name["CoordinatorAdmin"].methods),
]
LED = [path for path in ALL if path not in (GET_STATUS, JOIN_RAFT_CLUSTER)]


@pytest.mark.parametrize("path", LED)
async def test_one_that_does_not_lead_says_so_before_anything_else(
    tmp_path: Path, path: str
) -> None:
    """Every caller and every request: even bytes that are not a message."""
    authority = Authority(tmp_path)
    rejected = await refusal(
        ScriptedCoordinator(follows="10.0.0.2:7790"),
        path,
        b"\x0a\xff",
        server_tls=authority.leaf("server"),
        client_tls=authority.leaf("client", "bigfleet://cluster/shop"),
    )
    assert isinstance(rejected, NotLeader)
    assert rejected.code is Code.FAILED_PRECONDITION
    assert rejected.leader == "10.0.0.2:7790"


async def test_one_that_knows_no_leader_names_none() -> None:
    rejected = await refusal(ScriptedCoordinator(follows=""), V1 + "ListShards")
    assert (type(rejected), rejected.code) == (Rejected, Code.FAILED_PRECONDITION)


@pytest.mark.parametrize("follows", [None, "c:7790"], ids=["the leader", "another"])
async def test_there_is_no_raft_to_join_anywhere(follows: str | None) -> None:
    rejected = await refusal(ScriptedCoordinator(follows=follows), JOIN_RAFT_CLUSTER)
    assert rejected.code is Code.UNIMPLEMENTED


async def test_a_report_without_a_shard_id_is_refused_as_such_from_any_sender(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    server, stranger = authority.leaf("server"), authority.leaf("client", "bigfleet://readonly")
    nameless = contract.ShardReport(cycle=1)
    rejected = await refusal(
        ScriptedCoordinator(), REPORT_SHARD, nameless, server_tls=server, client_tls=stranger
    )
    assert rejected.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        (REPORT_SHARD, contract.ShardReport(shard_id=LONG)),
        (SYNC_SHARD, pb.SyncShardRequest()),
        (V1 + "AssignDomain", contract.AssignDomainRequest()),
        (ADMIN + "SetQuota", pb.SetQuotaRequest(total=-1)),
    ],
    ids=["a long report", "an empty sync", "an empty domain", "a bad quota"],
)
async def test_otherwise_the_senders_name_comes_first(
    tmp_path: Path, path: str, request_: Message
) -> None:
    authority = Authority(tmp_path)
    server, stranger = authority.leaf("server"), authority.leaf("client", "bigfleet://shard/other")
    rejected = await refusal(
        ScriptedCoordinator(), path, request_, server_tls=server, client_tls=stranger
    )
    assert rejected.code is Code.PERMISSION_DENIED


@pytest.mark.parametrize(
    "code",
    [Code.ALREADY_EXISTS, Code.NOT_FOUND, Code.UNAVAILABLE, Code.ABORTED],
    ids=str,
)
async def test_what_the_coordinator_decides_goes_out_with_its_code(code: Code) -> None:
    coordinator = ScriptedCoordinator(raises=Rejected(code, "because"))
    async with serving(coordinator) as rig:
        line = ClientLine(rig.address)
        request = contract.RemoveShardRequest(shard_id="s").SerializeToString()
        with pytest.raises(Rejected, match="because") as rejected:
            await line.call(V1 + "RemoveShard", request, PATIENCE)
        await line.close()
    assert rejected.value.code is code
    assert rig.observed == [("RemoveShard", code)]


async def test_one_that_loses_its_office_during_a_call_names_its_successor() -> None:
    coordinator = ScriptedCoordinator(raises=NotLeader("deposed", "10.0.0.2:7790"))
    async with serving(coordinator) as rig:
        line = ClientLine(rig.address)
        report = contract.ShardReport(shard_id="s").SerializeToString()
        with pytest.raises(NotLeader, match="deposed") as rejected:
            await line.call(REPORT_SHARD, report, PATIENCE)
        with pytest.raises(NotLeader, match="deposed"):
            await anext(line.stream(ADMIN + "TailEvents", b"", PATIENCE))
        await line.close()
    assert rejected.value.leader == "10.0.0.2:7790"


async def test_a_refusal_before_the_call_is_counted_as_one() -> None:
    async with serving(ScriptedCoordinator(follows="c:7790")) as rig:
        line = ClientLine(rig.address)
        with pytest.raises(NotLeader):
            await line.call(V1 + "ListShards", b"", PATIENCE)
        await line.close()
    assert rig.observed == [("ListShards", Code.FAILED_PRECONDITION)]
