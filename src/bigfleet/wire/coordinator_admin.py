"""`bigfleet.admin.v1alpha1.CoordinatorAdmin`: syncs of shards, and people's side of the fleet.

That only a leader answers and who may call what is decided before anything here runs; only that a
shard syncs for itself is looked at here. Calls that change something say who and why.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import grpc
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import SyncRequest
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.wire import coordination as records
from bigfleet.wire.audits import audit_of, name_of, needed
from bigfleet.wire.coordinator_handlers import CoordinatorAdminHandler
from bigfleet.wire.coordinator_paths import ADMIN_SERVICE
from bigfleet.wire.coordinator_service import MOST_ASKED
from bigfleet.wire.handler_runner import HandlerRunner, answering
from bigfleet.wire.ownership_views import ViewWriter, default_messages
from bigfleet.wire.pause_rpcs import (
    pause_call_of,
    pause_list_message,
    paused_message,
    resume_call_of,
    resumed_message,
)
from bigfleet.wire.row_answers import answer_of
from bigfleet.wire.rpcs import Answering, read_as, require_shard
from bigfleet.wire.shard_reports import most_of
from bigfleet.wire.shard_syncs import sync_of, sync_reply_bytes

#: Bytes of a sync: half a million machines that lie elsewhere than their domain.
MOST_SYNCED = 64 * 1024 * 1024
#: Bytes of a sync that is read beside the event loop.
_LARGE = 256 * 1024
#: Shards a registry entry may name.
MOST_ATTACHED = 1_000


class CoordinatorAdminService:
    name = ADMIN_SERVICE

    def __init__(self, handler: CoordinatorAdminHandler) -> None:
        self._handler = handler
        self._views = ViewWriter()
        #: Held while a view is written, which may happen in a thread.
        self._writing = asyncio.Lock()

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        return grpc.method_handlers_generic_handler(
            ADMIN_SERVICE,
            {
                "SyncShard": serving.writes("SyncShard", self._sync),
                **{name: serving.reads(name, each) for name, each in self._reads().items()},
                **{name: serving.writes(name, each) for name, each in self._writes().items()},
                "TailEvents": serving.streams("TailEvents", self._events),
            },
        )

    def _reads(self) -> dict[str, Answering]:
        return {
            "GetStatus": answering(pb.GetCoordinatorStatusRequest, self._status, MOST_ASKED),
            "ListQuotas": answering(pb.ListQuotasRequest, self._quotas, MOST_ASKED),
            "ListProviders": answering(pb.ListProvidersRequest, self._providers, MOST_ASKED),
            "ListClusterBindings": answering(
                pb.ListClusterBindingsRequest, self._bindings, MOST_ASKED
            ),
            "ListDefaultOwners": answering(
                pb.ListDefaultOwnersRequest, self._default_owners, MOST_ASKED
            ),
            "ListTransfers": answering(pb.ListTransfersRequest, self._transfers, MOST_ASKED),
            "ListInstructions": answering(
                pb.ListInstructionsRequest, self._instructions, MOST_ASKED
            ),
            "ListPauses": answering(shared.ListPausesRequest, self._pauses, MOST_ASKED),
        }

    def _writes(self) -> dict[str, Answering]:
        return {
            "SetQuota": answering(pb.SetQuotaRequest, self._set_quota, MOST_ASKED),
            "DeleteQuota": answering(pb.DeleteQuotaRequest, self._delete_quota, MOST_ASKED),
            "UpsertProvider": answering(pb.UpsertProviderRequest, self._upsert, MOST_ASKED),
            "DeleteProvider": answering(
                pb.DeleteProviderRequest, self._delete_provider, MOST_ASKED
            ),
            "UnbindCluster": answering(pb.UnbindClusterRequest, self._unbind, MOST_ASKED),
            "SetDefaultOwner": answering(
                pb.SetDefaultOwnerRequest, self._set_default_owner, MOST_ASKED
            ),
            "CancelTransfer": answering(pb.CancelTransferRequest, self._cancel, MOST_ASKED),
            "Pause": answering(shared.PauseRequest, self._pause, MOST_ASKED),
            "Resume": answering(shared.ResumeRequest, self._resume, MOST_ASKED),
        }

    async def _status(self, _request: pb.GetCoordinatorStatusRequest, _peer: Peer) -> Message:
        return records.status_message(await self._handler.status())

    async def _sync(self, content: bytes, peer: Peer) -> bytes:
        if len(content) < _LARGE:
            request = _sync_in(content, peer)
        else:
            request = await asyncio.to_thread(_sync_in, content, peer)
        reply = await self._handler.sync(request, peer)
        if reply.ownership is None:
            return sync_reply_bytes(reply, self._views)
        async with self._writing:
            if self._views.has_written(reply.ownership):
                return sync_reply_bytes(reply, self._views)
            # A hundred thousand domains would hold up other calls for too long.
            content = await asyncio.to_thread(sync_reply_bytes, reply, self._views)
        self._handler.require_leader()
        return content

    async def _quotas(self, _request: pb.ListQuotasRequest, _peer: Peer) -> bytes:
        return await answer_of(
            await self._handler.quotas(),
            lambda some: pb.ListQuotasResponse(quotas=map(records.quota_message, some)),
        )

    async def _set_quota(self, request: pb.SetQuotaRequest, peer: Peer) -> Message:
        audit, (provider, region) = audit_of(request.audit), _pool_of(request)
        if request.total < 0:
            text = f"total is {request.total}; a quota is 0 or more, and none is unlimited"
            raise Rejected(Code.INVALID_ARGUMENT, text)
        quota = await self._handler.set_quota(
            provider, region, request.total, audit, peer, force=request.force
        )
        return pb.SetQuotaResponse(quota=records.quota_message(quota))

    async def _delete_quota(self, request: pb.DeleteQuotaRequest, peer: Peer) -> Message:
        audit, (provider, region) = audit_of(request.audit), _pool_of(request)
        await self._handler.delete_quota(provider, region, audit, peer)
        return pb.DeleteQuotaResponse()

    async def _providers(self, _request: pb.ListProvidersRequest, _peer: Peer) -> bytes:
        return await answer_of(
            await self._handler.providers(),
            lambda some: pb.ListProvidersResponse(providers=map(records.provider_message, some)),
        )

    async def _upsert(self, request: pb.UpsertProviderRequest, peer: Peer) -> Message:
        audit, told = audit_of(request.audit), request.provider
        needed("provider.name", told.name)
        needed("provider.address", told.address)
        name_of("provider.region", told.region)
        most_of("provider.attached_shards", len(told.attached_shards), MOST_ATTACHED)
        entry = await self._handler.upsert_provider(records.provider_of(told), audit, peer)
        return pb.UpsertProviderResponse(provider=records.provider_message(entry))

    async def _delete_provider(self, request: pb.DeleteProviderRequest, peer: Peer) -> Message:
        audit = audit_of(request.audit)
        await self._handler.delete_provider(needed("name", request.name), audit, peer)
        return pb.DeleteProviderResponse()

    async def _bindings(self, request: pb.ListClusterBindingsRequest, _peer: Peer) -> bytes:
        return await answer_of(
            await self._handler.bindings(name_of("shard_id", request.shard_id)),
            lambda some: pb.ListClusterBindingsResponse(
                bindings=map(records.binding_message, some)
            ),
        )

    async def _unbind(self, request: pb.UnbindClusterRequest, peer: Peer) -> Message:
        audit = audit_of(request.audit)
        await self._handler.unbind(needed("cluster_id", request.cluster_id), audit, peer)
        return pb.UnbindClusterResponse()

    async def _set_default_owner(self, request: pb.SetDefaultOwnerRequest, peer: Peer) -> Message:
        audit = audit_of(request.audit)
        address = needed("provider_address", request.provider_address)
        shard = needed("shard_id", request.shard_id)
        owner = await self._handler.set_default_owner(address, shard, audit, peer)
        row = pb.DefaultOwner(provider_address=address, shard_id=owner)
        return pb.SetDefaultOwnerResponse(default_owner=row)

    async def _default_owners(self, _request: pb.ListDefaultOwnersRequest, _peer: Peer) -> bytes:
        return await answer_of(
            await self._handler.default_owners(),
            lambda some: pb.ListDefaultOwnersResponse(default_owners=default_messages(some)),
        )

    async def _transfers(self, request: pb.ListTransfersRequest, _peer: Peer) -> bytes:
        return await answer_of(
            await self._handler.transfers(request.include_finished, max(0, request.limit)),
            lambda some: pb.ListTransfersResponse(transfers=map(records.transfer_message, some)),
        )

    async def _cancel(self, request: pb.CancelTransferRequest, peer: Peer) -> Message:
        audit = audit_of(request.audit)
        transfer = needed("transfer_id", request.transfer_id)
        cancelled = await self._handler.cancel_transfer(transfer, audit, peer)
        return pb.CancelTransferResponse(transfer=records.transfer_message(cancelled))

    async def _instructions(self, request: pb.ListInstructionsRequest, _peer: Peer) -> bytes:
        return await answer_of(
            await self._handler.instructions(name_of("shard_id", request.shard_id)),
            lambda some: pb.ListInstructionsResponse(
                instructions=map(records.pending_message, some)
            ),
        )

    async def _pause(self, request: shared.PauseRequest, peer: Peer) -> Message:
        return paused_message(await self._handler.pause(pause_call_of(request), peer))

    async def _resume(self, request: shared.ResumeRequest, peer: Peer) -> Message:
        return resumed_message(await self._handler.resume(resume_call_of(request), peer))

    async def _pauses(self, request: shared.ListPausesRequest, _peer: Peer) -> Message:
        return pause_list_message(await self._handler.pauses(request.include_expired))

    async def _events(self, request: bytes, _peer: Peer) -> AsyncGenerator[bytes, None]:
        asked = read_as(pb.TailEventsRequest, request, MOST_ASKED)
        async with aclosing(self._handler.events(asked.from_revision, asked.follow)) as events:
            async for event in events:
                yield records.event_message(event).SerializeToString()


def _pool_of(request: pb.SetQuotaRequest | pb.DeleteQuotaRequest) -> tuple[str, str]:
    """A provider that lies in one place only may have no name of a region."""
    return needed("provider", request.provider), name_of("region", request.region)


def _sync_in(content: bytes, peer: Peer) -> SyncRequest:
    """Raises Rejected or DecodeError."""
    request = read_as(pb.SyncShardRequest, content, MOST_SYNCED)
    require_shard(peer, request.shard_id)
    if not request.shard_id:
        raise Rejected(Code.INVALID_ARGUMENT, "shard_id is missing; a sync names its shard")
    return sync_of(request)
