"""`bigfleet.v1alpha1.Coordinator`: reports of shards, and what the oldest clients of people call.

That only a leader answers and who may call what is decided before anything here runs. A report
without a shard id is refused as such before its sender's name is looked at; arguments of all other
calls are looked at last. Those who change something may say who and why in their metadata.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from bigfleet.model.coordinator_calls import ShardReport
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_admin import Audit
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from bigfleet.wire import coordination as records
from bigfleet.wire.audits import audit_in, name_of, needed
from bigfleet.wire.coordinator_handlers import CoordinatorHandler
from bigfleet.wire.coordinator_paths import SERVICE
from bigfleet.wire.handler_runner import (
    AnsweringTold,
    HandlerRunner,
    Told,
    answering,
)
from bigfleet.wire.row_answers import answer_of
from bigfleet.wire.rpcs import Answering, read_as, require_shard
from bigfleet.wire.shard_reports import reply_bytes, report_of
from bigfleet.wire.snapshot_frames import frames_of

M = TypeVar("M", bound=Message)

#: Bytes of a report: more than a shard of this version sends. One of an earlier version sends a
#: hundred rows however long they are; what does not fit of them is not kept.
MOST_REPORTED = 64 * 1024 * 1024
#: Bytes of a report that is read beside the event loop.
_LARGE = 256 * 1024
#: Bytes of all reports that are listed at once.
_MOST_LISTED = 64 * 1024 * 1024
#: Bytes of any other request.
MOST_ASKED = 1024 * 1024
#: Characters of a label's key: a prefix of 253, a slash and a name of 63, and a little more.
LONGEST_KEY = 512


class CoordinatorService:
    name = SERVICE

    def __init__(self, handler: CoordinatorHandler) -> None:
        self._handler = handler

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        reads: dict[str, Answering] = {
            "ListShards": answering(pb.ListShardsRequest, self._shards, MOST_ASKED),
            "ListDomainAssignments": answering(
                pb.ListDomainAssignmentsRequest, self._domains, MOST_ASKED
            ),
            "ListShardReports": answering(pb.ListShardReportsRequest, self._reports, MOST_ASKED),
            "JoinRaftCluster": answering(pb.JoinRaftClusterRequest, self._join, MOST_ASKED),
        }
        changes: dict[str, AnsweringTold] = {
            "AssignDomain": _changing(pb.AssignDomainRequest, self._assign),
            "UnassignDomain": _changing(pb.UnassignDomainRequest, self._unassign),
            "RemoveShard": _changing(pb.RemoveShardRequest, self._remove),
        }
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "ReportShard": serving.writes("ReportShard", self._report),
                **{name: serving.reads(name, each) for name, each in reads.items()},
                **{name: serving.writes_told(name, each) for name, each in changes.items()},
                "SnapshotSave": serving.streams("SnapshotSave", self._snapshot),
            },
        )

    async def _report(self, content: bytes, peer: Peer) -> bytes:
        if len(content) < _LARGE:
            report = _report_in(content, peer)
        else:
            report = await asyncio.to_thread(_report_in, content, peer)
        return reply_bytes(await self._handler.report(report, peer))

    async def _assign(self, request: pb.AssignDomainRequest, audit: Audit, peer: Peer) -> Message:
        key, value = _pair_of(request)
        shard = needed("shard_id", request.shard_id)
        await self._handler.assign_domain(key, value, shard, audit, peer)
        return pb.AssignDomainResponse()

    async def _unassign(
        self, request: pb.UnassignDomainRequest, audit: Audit, peer: Peer
    ) -> Message:
        key, value = _pair_of(request)
        await self._handler.unassign_domain(key, value, audit, peer)
        return pb.UnassignDomainResponse()

    async def _remove(self, request: pb.RemoveShardRequest, audit: Audit, peer: Peer) -> Message:
        await self._handler.remove_shard(needed("shard_id", request.shard_id), audit, peer)
        return pb.RemoveShardResponse()

    async def _shards(self, _request: pb.ListShardsRequest, _peer: Peer) -> Message:
        found = await self._handler.shards()
        return pb.ListShardsResponse(shards=map(records.shard_message, found))

    async def _domains(self, _request: pb.ListDomainAssignmentsRequest, _peer: Peer) -> bytes:
        return await answer_of(
            await self._handler.domains(),
            lambda some: pb.ListDomainAssignmentsResponse(
                assignments=map(records.domain_message, some)
            ),
        )

    async def _reports(self, request: pb.ListShardReportsRequest, _peer: Peer) -> bytes:
        found = await self._handler.reports(name_of("shard_id", request.shard_id))
        most_bytes = _MOST_LISTED // max(1, len(found))
        return await answer_of(
            found,
            lambda some: pb.ListShardReportsResponse(
                reports=(records.fitting_report_view(each, most_bytes) for each in some)
            ),
        )

    async def _join(self, _request: pb.JoinRaftClusterRequest, _peer: Peer) -> Message:
        text = "there is no Raft here: replicas find each other in their etcd; start one more there"
        raise Rejected(Code.UNIMPLEMENTED, text)

    async def _snapshot(self, request: bytes, _peer: Peer) -> AsyncGenerator[bytes, None]:
        read_as(pb.SnapshotSaveRequest, request, MOST_ASKED)
        for frame in frames_of(await self._handler.snapshot()):
            yield frame


def _report_in(content: bytes, peer: Peer) -> ShardReport:
    """Raises Rejected or DecodeError."""
    request = read_as(pb.ShardReport, content, MOST_REPORTED)
    if not request.shard_id:
        raise Rejected(Code.INVALID_ARGUMENT, "shard_id is missing; a report names its shard")
    require_shard(peer, request.shard_id)
    return report_of(request)


def _changing(
    request_type: type[M], answer: Callable[[M, Audit, Peer], Awaitable[Message]]
) -> AnsweringTold:
    async def on_bytes(request: bytes, peer: Peer, told: Told) -> bytes:
        message = read_as(request_type, request, MOST_ASKED)
        return (await answer(message, audit_in(told), peer)).SerializeToString()

    return on_bytes


def _pair_of(request: pb.AssignDomainRequest | pb.UnassignDomainRequest) -> tuple[str, str]:
    key = needed("topology_key", request.topology_key, LONGEST_KEY)
    return key, needed("topology_value", request.topology_value)
