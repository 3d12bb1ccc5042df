"""The people's side of a shard on the wire: calls in as records, answers out as records.

Calls that change something say who and why. Who may call what is decided before anything here runs
(`authorising`); what a call means is its handler's business.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

import grpc
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_admin import (
    Audit,
    ClearedMachine,
    MachineStory,
    PauseCall,
    Paused,
    PauseList,
    ReleasedQuarantine,
    ResumeCall,
    Resumed,
    StoryCall,
)
from bigfleet.model.shard_views import (
    ClearMode,
    MachineQuery,
    MachineView,
    NeedListing,
    NeedQuery,
    OfferingView,
    Quarantine,
    QuarantineKind,
    SessionView,
    ShardStatus,
)
from bigfleet.wire import shard_views as views
from bigfleet.wire.audits import audit_of
from bigfleet.wire.cluster_reports import METHOD as REPORT_CLUSTER
from bigfleet.wire.cluster_reports import answering_reports
from bigfleet.wire.fleet_dumps import METHOD as DUMP_FLEET
from bigfleet.wire.fleet_dumps import dumping_fleets
from bigfleet.wire.handler_runner import Answering, HandlerRunner, answering
from bigfleet.wire.machine_views import machine_view_message, query_of
from bigfleet.wire.need_listings import METHOD as LIST_NEEDS
from bigfleet.wire.need_listings import listing_needs
from bigfleet.wire.pause_rpcs import (
    pause_call_of,
    pause_list_message,
    paused_message,
    resume_call_of,
    resumed_message,
)

SERVICE = views.SERVICE
#: Ids, zones and the like that a selector may name.
_MOST_SELECTED = 10_000


@dataclass(frozen=True, slots=True)
class MachineListing:
    """The head of a listing and its rows, which are asked for one by one while they are sent."""

    cycle: int
    computed_at: Instant
    #: Matching machines, before limit and after_id.
    total: int
    machines: AsyncGenerator[MachineView, None]


class ShardAdminHandler(Protocol):
    """What answers; each raises Rejected where the contract says so."""

    async def status(self) -> ShardStatus: ...
    async def pause(self, call: PauseCall, peer: Peer) -> Paused: ...
    async def resume(self, call: ResumeCall, peer: Peer) -> Resumed: ...
    async def pauses(self, include_expired: bool) -> PauseList: ...
    async def sessions(self, cluster: str) -> Sequence[SessionView]: ...
    async def machines(self, query: MachineQuery) -> MachineListing: ...
    async def story(self, call: StoryCall) -> MachineStory: ...
    async def clear(
        self, machine_id: str, mode: ClearMode, audit: Audit, peer: Peer
    ) -> ClearedMachine: ...
    async def quarantines(self) -> Sequence[Quarantine]: ...
    async def release(
        self, kind: QuarantineKind, subject: str, accept: bool, audit: Audit, peer: Peer
    ) -> ReleasedQuarantine: ...
    async def offerings(self) -> Sequence[OfferingView]: ...
    async def reset_offering(self, name: str, audit: Audit, peer: Peer) -> str:
        """A sentence."""

    async def report_cluster(self, report: ClusterReport) -> ClusterReportReply: ...
    async def list_needs(self, query: NeedQuery) -> NeedListing: ...
    def dump_fleet(self) -> AsyncGenerator[bytes, None]:
        """Whole lines of a fleet file."""


class ShardAdminService:
    name = SERVICE

    def __init__(self, handler: ShardAdminHandler) -> None:
        self._handler = handler

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        reads: dict[str, Answering] = {
            "GetStatus": answering(pb.GetShardStatusRequest, self._status),
            "ListPauses": answering(shared.ListPausesRequest, self._pauses),
            "ListSessions": answering(pb.ListSessionsRequest, self._sessions),
            "GetMachineStory": answering(pb.GetMachineStoryRequest, self._story),
            "ListQuarantines": answering(pb.ListQuarantinesRequest, self._quarantines),
            "ListOfferings": answering(pb.ListOfferingsRequest, self._offerings),
            REPORT_CLUSTER: answering_reports(self._handler.report_cluster),
        }
        writes: dict[str, Answering] = {
            "Pause": answering(shared.PauseRequest, self._pause),
            "Resume": answering(shared.ResumeRequest, self._resume),
            "ClearFailedMachine": answering(pb.ClearFailedMachineRequest, self._clear),
            "ReleaseQuarantine": answering(pb.ReleaseQuarantineRequest, self._release),
            "ResetOffering": answering(pb.ResetOfferingRequest, self._reset_offering),
        }
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                **{name: serving.reads(name, answering) for name, answering in reads.items()},
                **{name: serving.writes(name, answering) for name, answering in writes.items()},
                "ListMachines": serving.streams("ListMachines", self._machines),
                LIST_NEEDS: serving.streams(LIST_NEEDS, listing_needs(self._handler.list_needs)),
                DUMP_FLEET: serving.streams(DUMP_FLEET, dumping_fleets(self._handler.dump_fleet)),
            },
        )

    async def _status(self, _request: pb.GetShardStatusRequest, _peer: Peer) -> Message:
        return views.status_message(await self._handler.status())

    async def _pause(self, request: shared.PauseRequest, peer: Peer) -> Message:
        return paused_message(await self._handler.pause(pause_call_of(request), peer))

    async def _resume(self, request: shared.ResumeRequest, peer: Peer) -> Message:
        return resumed_message(await self._handler.resume(resume_call_of(request), peer))

    async def _pauses(self, request: shared.ListPausesRequest, _peer: Peer) -> Message:
        return pause_list_message(await self._handler.pauses(request.include_expired))

    async def _sessions(self, request: pb.ListSessionsRequest, _peer: Peer) -> Message:
        found = await self._handler.sessions(request.cluster_id)
        return pb.ListSessionsResponse(sessions=[views.session_message(view) for view in found])

    async def _machines(self, request: bytes, _peer: Peer) -> AsyncGenerator[bytes, None]:
        asked = pb.ListMachinesRequest.FromString(request)
        wanted = asked.selector
        many = (wanted.ids, wanted.zones, wanted.instance_types, wanted.labels)
        if max(map(len, many)) > _MOST_SELECTED:
            text = f"a selector names {_MOST_SELECTED} ids, zones, types or labels at most"
            raise Rejected(Code.INVALID_ARGUMENT, text)
        listing = await self._handler.machines(query_of(asked))
        header = pb.ListMachinesHeader(
            cycle=listing.cycle, computed_at_unix_nanos=listing.computed_at, total=listing.total
        )
        yield pb.ListMachinesResponse(header=header).SerializeToString()
        async with aclosing(listing.machines) as rows:
            async for view in rows:
                row = pb.ListMachinesResponse(machine=machine_view_message(view))
                yield row.SerializeToString(deterministic=True)

    async def _story(self, request: pb.GetMachineStoryRequest, _peer: Peer) -> Message:
        call = StoryCall(request.machine_id, request.since_unix_nanos, max(0, request.limit))
        story = await self._handler.story(call)
        return pb.GetMachineStoryResponse(
            machine=machine_view_message(story.machine) if story.machine else None,
            events=[views.event_message(event) for event in story.events],
            truncated=story.truncated,
        )

    async def _clear(self, request: pb.ClearFailedMachineRequest, peer: Peer) -> Message:
        audit, mode = audit_of(request.audit), views.known(ClearMode, request.mode)
        if mode is None:
            raise Rejected(Code.INVALID_ARGUMENT, "clear it how? RECHECK, RETRY or FORGET")
        cleared = await self._handler.clear(request.machine_id, mode, audit, peer)
        return pb.ClearFailedMachineResponse(
            machine=machine_view_message(cleared.machine) if cleared.machine else None,
            text=cleared.text,
        )

    async def _quarantines(self, _request: pb.ListQuarantinesRequest, _peer: Peer) -> Message:
        held = await self._handler.quarantines()
        messages = [views.quarantine_message(quarantine) for quarantine in held]
        return pb.ListQuarantinesResponse(quarantines=messages)

    async def _release(self, request: pb.ReleaseQuarantineRequest, peer: Peer) -> Message:
        audit, kind = audit_of(request.audit), views.known(QuarantineKind, request.kind)
        if kind is None:
            raise Rejected(Code.INVALID_ARGUMENT, "release what? ROLLUP or PROVIDER_LIST")
        released = await self._handler.release(kind, request.subject, request.accept, audit, peer)
        return pb.ReleaseQuarantineResponse(
            quarantine=views.quarantine_message(released.quarantine), text=released.text
        )

    async def _offerings(self, _request: pb.ListOfferingsRequest, _peer: Peer) -> Message:
        resting = await self._handler.offerings()
        return pb.ListOfferingsResponse(
            offerings=[views.offering_message(view) for view in resting]
        )

    async def _reset_offering(self, request: pb.ResetOfferingRequest, peer: Peer) -> Message:
        audit = audit_of(request.audit)
        text = await self._handler.reset_offering(request.name, audit, peer)
        return pb.ResetOfferingResponse(text=text)
