"""The coordinator's two services, both ends: `bigfleet.v1alpha1.Coordinator`, which shards report
to, and `bigfleet.admin.v1alpha1.CoordinatorAdmin`, for syncs of shards and for people.

That only a leader answers and who may call what is checked before a handler is asked; only that a
shard speaks for itself is looked at here. A report without a shard id is refused as such before
its sender's name is looked at; arguments of all other calls are looked at last. Those who change
something say who and why: in the request, and for the older service in its metadata.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import (
    CoordinatorStatus,
    ProviderEntry,
    ReportView,
    SyncRequest,
)
from bigfleet.model.coordinator_calls import ShardReport
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire import coordination as records
from bigfleet.wire.audits import name_of, needed
from bigfleet.wire.coordinator_handlers import (
    CoordinatorAdminHandler,
    CoordinatorHandler,
    SnapshotMeta,
)
from bigfleet.wire.leader_lines import LeaderLines
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.pause_rpcs import PAUSE_CALL, PAUSE_LIST, PAUSED, RESUME_CALL, RESUMED
from bigfleet.wire.rpcs import (
    DEADLINE,
    Answer,
    Answering,
    Gate,
    Kind,
    RpcClient,
    Service,
    no_arguments,
    nothing,
    one,
    read_as,
    require_shard,
    rows,
)
from bigfleet.wire.shard_reports import most_of, reply_bytes, report_of
from bigfleet.wire.snapshot_frames import SnapshotReader, chunks_of

#: Bytes of a report: more than a shard of this version sends. One of an earlier version sends a
#: hundred rows however long they are; what does not fit of them is not kept.
MOST_REPORTED = 64 * 1024 * 1024
#: Bytes of a sync: half a million machines that lie elsewhere than their domain.
MOST_SYNCED = 64 * 1024 * 1024
#: Bytes of a report or a sync that is read beside the event loop.
_LARGE = 256 * 1024
#: Bytes of all reports that are listed at once.
_MOST_LISTED = 64 * 1024 * 1024
#: Bytes of any other request.
MOST_ASKED = 1024 * 1024
#: Characters of a label's key: a prefix of 253, a slash and a name of 63, and a little more.
LONGEST_KEY = 512
#: Shards a registry entry may name.
MOST_ATTACHED = 1_000

COORDINATOR: Service[CoordinatorHandler] = Service(
    "bigfleet.v1alpha1.Coordinator", "coordinator", MOST_ASKED
)
COORDINATOR_ADMIN: Service[CoordinatorAdminHandler] = Service(
    "bigfleet.admin.v1alpha1.CoordinatorAdmin", "coordinator", MOST_ASKED
)

# -- calls of shards, whose clients are CoordinatorLines -------------------------------------------


def _answering_reports(handler: CoordinatorHandler) -> Answering:
    def read(content: bytes, peer: Peer) -> ShardReport:
        request = read_as(contract.ShardReport, content, MOST_REPORTED)
        if not request.shard_id:
            raise Rejected(Code.INVALID_ARGUMENT, "shard_id is missing; a report names its shard")
        require_shard(peer, request.shard_id)
        return report_of(request)

    async def answer(content: bytes, peer: Peer) -> bytes:
        if len(content) < _LARGE:
            report = read(content, peer)
        else:
            report = await asyncio.to_thread(read, content, peer)
        return reply_bytes(await handler.report(report, peer))

    return answer


def _answering_syncs(handler: CoordinatorAdminHandler) -> Answering:
    # For servers only: commands that use the client start sooner.
    from bigfleet.wire.ownership_views import ViewWriter
    from bigfleet.wire.shard_syncs import sync_of, sync_reply_bytes

    views = ViewWriter()
    #: Held while a view is written, which may happen in a thread.
    writing = asyncio.Lock()

    def read(content: bytes, peer: Peer) -> SyncRequest:
        request = read_as(pb.SyncShardRequest, content, MOST_SYNCED)
        require_shard(peer, request.shard_id)
        if not request.shard_id:
            raise Rejected(Code.INVALID_ARGUMENT, "shard_id is missing; a sync names its shard")
        return sync_of(request)

    async def answer(content: bytes, peer: Peer) -> bytes:
        if len(content) < _LARGE:
            request = read(content, peer)
        else:
            request = await asyncio.to_thread(read, content, peer)
        reply = await handler.sync(request, peer)
        if reply.ownership is None:
            return sync_reply_bytes(reply, views)
        async with writing:
            if views.has_written(reply.ownership):
                return sync_reply_bytes(reply, views)
            # A hundred thousand domains would hold up other calls for too long.
            answered = await asyncio.to_thread(sync_reply_bytes, reply, views)
        handler.require_leader()
        return answered

    return answer


def _answering_no_raft(_handler: CoordinatorHandler) -> Answering:
    async def answer(content: bytes, _peer: Peer) -> bytes:
        read_as(contract.JoinRaftClusterRequest, content, MOST_ASKED)
        text = "there is no Raft here: replicas find each other in their etcd; start one more there"
        raise Rejected(Code.UNIMPLEMENTED, text)

    return answer


REPORT_SHARD = COORDINATOR.by_hand("ReportShard", Kind.WRITE, Gate.SHARD, _answering_reports)
SYNC_SHARD = COORDINATOR_ADMIN.by_hand("SyncShard", Kind.WRITE, Gate.SHARD, _answering_syncs)
JOIN_RAFT_CLUSTER = COORDINATOR.by_hand(
    "JoinRaftCluster", Kind.READ, Gate.ADMINS, _answering_no_raft
)

# -- requests and answers of people ----------------------------------------------------------------


def _pair_of(
    request: contract.AssignDomainRequest | contract.UnassignDomainRequest,
) -> tuple[str, str]:
    key = needed("topology_key", request.topology_key, LONGEST_KEY)
    return key, needed("topology_value", request.topology_value)


def _reports_message(found: Sequence[ReportView]) -> contract.ListShardReportsResponse:
    most_bytes = _MOST_LISTED // max(1, len(found))
    views = (records.fitting_report_view(each, most_bytes) for each in found)
    return contract.ListShardReportsResponse(reports=views)


async def _snapshot_chunks(
    handler: CoordinatorHandler, _request: contract.SnapshotSaveRequest
) -> AsyncGenerator[contract.SnapshotSaveChunk, None]:
    for chunk in chunks_of(await handler.snapshot()):
        yield chunk


def _itself(chunk: contract.SnapshotSaveChunk) -> contract.SnapshotSaveChunk:
    return chunk


def _set_quota_arguments(request: pb.SetQuotaRequest) -> tuple[str, str, int, bool]:
    provider, region = _pool_of(request)
    if request.total < 0:
        text = f"total is {request.total}; a quota is 0 or more, and none is unlimited"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    return provider, region, request.total, request.force


def _pool_of(request: pb.SetQuotaRequest | pb.DeleteQuotaRequest) -> tuple[str, str]:
    """A provider that lies in one place only may have no name of a region."""
    return needed("provider", request.provider), name_of("region", request.region)


def _upsert_request(entry: ProviderEntry) -> pb.UpsertProviderRequest:
    return pb.UpsertProviderRequest(provider=records.PROVIDER.message(entry))


def _upsert_arguments(request: pb.UpsertProviderRequest) -> tuple[ProviderEntry]:
    told = request.provider
    needed("provider.name", told.name)
    needed("provider.address", told.address)
    name_of("provider.region", told.region)
    most_of("provider.attached_shards", len(told.attached_shards), MOST_ATTACHED)
    return (records.PROVIDER.record(told),)


def _default_owner_message(row: tuple[str, str]) -> pb.DefaultOwner:
    return pb.DefaultOwner(provider_address=row[0], shard_id=row[1])


def _default_owners_message(
    owners: Sequence[tuple[str, str]],
) -> pb.ListDefaultOwnersResponse:
    return pb.ListDefaultOwnersResponse(default_owners=map(_default_owner_message, owners))


def _default_owners_of(answer: pb.ListDefaultOwnersResponse) -> tuple[tuple[str, str], ...]:
    return tuple((row.provider_address, row.shard_id) for row in answer.default_owners)


def _owner_in(answer: pb.SetDefaultOwnerResponse) -> str:
    return answer.default_owner.shard_id


async def _event_frames(
    handler: CoordinatorAdminHandler, request: pb.TailEventsRequest
) -> AsyncGenerator[pb.CoordinatorEvent, None]:
    async with aclosing(handler.events(request.from_revision, request.follow)) as events:
        async for event in events:
            yield records.EVENT.message(event)


GET_STATUS = COORDINATOR_ADMIN.read(
    "GetStatus",
    pb.GetCoordinatorStatusRequest,
    no_arguments,
    CoordinatorAdminHandler.status,
    records.STATUS,
    "status",
)


class CoordinatorAdminClient(RpcClient):
    """Records out, records back, failures a Rejected.

    It takes every address of a coordinator and follows the leader; only a status is of the one
    replica that is named.
    """

    def __init__(
        self, addresses: Sequence[str], tls: TlsFiles | None = None, *, deadline: float = DEADLINE
    ) -> None:
        self._lines = LeaderLines(addresses, tls)
        self.line = self._lines
        self.deadline = self.list_deadline = deadline

    def stream(self, path: str, request: bytes) -> AsyncGenerator[bytes, None]:
        """Nothing but the search for the leader has a deadline."""
        return self._lines.stream(path, request, self.deadline)

    async def status(self, address: str) -> CoordinatorStatus:
        """Of the replica at this address, leader or not."""
        request = pb.GetCoordinatorStatusRequest()
        return await GET_STATUS.call(self._lines.line(address), self.deadline, request)

    async def snapshot(self, write: Callable[[bytes], None]) -> SnapshotMeta:
        """The state as it is now, piece by piece to `write`; it came whole where this returns."""
        reader = SnapshotReader()
        async with aclosing(self._snapshot()) as chunks:
            async for chunk in chunks:
                try:
                    data = reader.data_in(chunk)
                except ValueError as problem:
                    raise CoordinatorAdminClient._snapshot.unreadable(problem) from None
                if data:
                    write(data)
        return reader.meta()

    shards = COORDINATOR.read(
        "ListShards",
        contract.ListShardsRequest,
        no_arguments,
        CoordinatorHandler.shards,
        rows(contract.ListShardsResponse, "shards", records.SHARD),
        "shards list",
    )
    domains = COORDINATOR.read(
        "ListDomainAssignments",
        contract.ListDomainAssignmentsRequest,
        no_arguments,
        CoordinatorHandler.domains,
        rows(contract.ListDomainAssignmentsResponse, "assignments", records.DOMAIN),
        "domains list",
    )
    #: Empty right after a fail-over: the shards have not spoken yet.
    reports = COORDINATOR.read(
        "ListShardReports",
        contract.ListShardReportsRequest,
        lambda request: (name_of("shard_id", request.shard_id),),
        CoordinatorHandler.reports,
        Answer(
            contract.ListShardReportsResponse,
            _reports_message,
            lambda m: tuple(map(records.REPORT_VIEW.record, m.reports)),
        ),
        "reports shards",
    )
    assign_domain = COORDINATOR.write(
        "AssignDomain",
        contract.AssignDomainRequest,
        lambda request: (*_pair_of(request), needed("shard_id", request.shard_id)),
        CoordinatorHandler.assign_domain,
        nothing(contract.AssignDomainResponse),
        "domains assign",
        in_metadata=True,
    )
    unassign_domain = COORDINATOR.write(
        "UnassignDomain",
        contract.UnassignDomainRequest,
        _pair_of,
        CoordinatorHandler.unassign_domain,
        nothing(contract.UnassignDomainResponse),
        "domains unassign",
        in_metadata=True,
    )
    remove_shard = COORDINATOR.write(
        "RemoveShard",
        contract.RemoveShardRequest,
        lambda request: (needed("shard_id", request.shard_id),),
        CoordinatorHandler.remove_shard,
        nothing(contract.RemoveShardResponse),
        "shards remove",
        in_metadata=True,
    )
    _snapshot = COORDINATOR.stream(
        "SnapshotSave",
        contract.SnapshotSaveRequest,
        _snapshot_chunks,
        contract.SnapshotSaveChunk,
        _itself,
        "snapshot save",
        Gate.ADMINS,
    )

    quotas = COORDINATOR_ADMIN.read(
        "ListQuotas",
        pb.ListQuotasRequest,
        no_arguments,
        CoordinatorAdminHandler.quotas,
        rows(pb.ListQuotasResponse, "quotas", records.QUOTA),
        "quotas list",
    )
    #: Raises Rejected with ABORTED where more than that is in use, but for `force`.
    set_quota = COORDINATOR_ADMIN.write(
        "SetQuota",
        pb.SetQuotaRequest,
        _set_quota_arguments,
        CoordinatorAdminHandler.set_quota,
        one(pb.SetQuotaResponse, "quota", records.QUOTA),
        "quotas set",
    )
    delete_quota = COORDINATOR_ADMIN.write(
        "DeleteQuota",
        pb.DeleteQuotaRequest,
        _pool_of,
        CoordinatorAdminHandler.delete_quota,
        nothing(pb.DeleteQuotaResponse),
        "quotas delete",
    )
    providers = COORDINATOR_ADMIN.read(
        "ListProviders",
        pb.ListProvidersRequest,
        no_arguments,
        CoordinatorAdminHandler.providers,
        rows(pb.ListProvidersResponse, "providers", records.PROVIDER),
        "providers list",
    )
    upsert_provider = COORDINATOR_ADMIN.write(
        "UpsertProvider",
        _upsert_request,
        _upsert_arguments,
        CoordinatorAdminHandler.upsert_provider,
        one(pb.UpsertProviderResponse, "provider", records.PROVIDER),
        "providers set",
    )
    delete_provider = COORDINATOR_ADMIN.write(
        "DeleteProvider",
        pb.DeleteProviderRequest,
        lambda request: (needed("name", request.name),),
        CoordinatorAdminHandler.delete_provider,
        nothing(pb.DeleteProviderResponse),
        "providers delete",
    )
    bindings = COORDINATOR_ADMIN.read(
        "ListClusterBindings",
        pb.ListClusterBindingsRequest,
        lambda request: (name_of("shard_id", request.shard_id),),
        CoordinatorAdminHandler.bindings,
        rows(pb.ListClusterBindingsResponse, "bindings", records.BINDING),
        "clusters list",
    )
    unbind = COORDINATOR_ADMIN.write(
        "UnbindCluster",
        pb.UnbindClusterRequest,
        lambda request: (needed("cluster_id", request.cluster_id),),
        CoordinatorAdminHandler.unbind,
        nothing(pb.UnbindClusterResponse),
        "clusters unbind",
    )
    #: The owner as it is shown now: empty while it changes hands.
    set_default_owner = COORDINATOR_ADMIN.write(
        "SetDefaultOwner",
        pb.SetDefaultOwnerRequest,
        lambda request: (
            needed("provider_address", request.provider_address),
            needed("shard_id", request.shard_id),
        ),
        CoordinatorAdminHandler.set_default_owner,
        Answer(
            pb.SetDefaultOwnerResponse,
            lambda row: pb.SetDefaultOwnerResponse(default_owner=_default_owner_message(row)),
            _owner_in,
        ),
        "domains default",
    )
    #: Address of a provider and its owner; no owner while it changes hands.
    default_owners = COORDINATOR_ADMIN.read(
        "ListDefaultOwners",
        pb.ListDefaultOwnersRequest,
        no_arguments,
        CoordinatorAdminHandler.default_owners,
        Answer(pb.ListDefaultOwnersResponse, _default_owners_message, _default_owners_of),
        "domains list",
    )
    transfers = COORDINATOR_ADMIN.read(
        "ListTransfers",
        pb.ListTransfersRequest,
        lambda request: (request.include_finished, max(0, request.limit)),
        CoordinatorAdminHandler.transfers,
        rows(pb.ListTransfersResponse, "transfers", records.TRANSFER),
        "shards transfers",
    )
    cancel_transfer = COORDINATOR_ADMIN.write(
        "CancelTransfer",
        pb.CancelTransferRequest,
        lambda request: (needed("transfer_id", request.transfer_id),),
        CoordinatorAdminHandler.cancel_transfer,
        one(pb.CancelTransferResponse, "transfer", records.TRANSFER),
        "shards cancel",
    )
    instructions = COORDINATOR_ADMIN.read(
        "ListInstructions",
        pb.ListInstructionsRequest,
        lambda request: (name_of("shard_id", request.shard_id),),
        CoordinatorAdminHandler.instructions,
        rows(pb.ListInstructionsResponse, "instructions", records.PENDING),
        "shards instructions",
    )
    #: Of one shard or of all, the most urgent first, as many as an answer has room for.
    shortfalls = COORDINATOR_ADMIN.read(
        "ListShortfalls",
        pb.ListShortfallsRequest,
        lambda request: (name_of("shard_id", request.shard_id), max(0, request.limit)),
        CoordinatorAdminHandler.shortfalls,
        records.SHORTFALLS,
        "shards shortfalls",
    )
    pause = COORDINATOR_ADMIN.write_record(
        "Pause",
        PAUSE_CALL.message,
        PAUSE_CALL.record,
        CoordinatorAdminHandler.pause,
        PAUSED,
        "pause set",
    )
    resume = COORDINATOR_ADMIN.write_record(
        "Resume",
        RESUME_CALL.message,
        RESUME_CALL.record,
        CoordinatorAdminHandler.resume,
        RESUMED,
        "resume",
    )
    pauses = COORDINATOR_ADMIN.read(
        "ListPauses",
        shared.ListPausesRequest,
        lambda request: (request.include_expired,),
        CoordinatorAdminHandler.pauses,
        PAUSE_LIST,
        "pause list",
    )
    #: Until there are no more, or with `follow` until the line breaks; that is a Rejected.
    events = COORDINATOR_ADMIN.stream(
        "TailEvents",
        pb.TailEventsRequest,
        _event_frames,
        pb.CoordinatorEvent,
        records.EVENT.record,
    )
