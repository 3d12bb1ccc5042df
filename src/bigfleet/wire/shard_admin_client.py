"""The calling end of ShardAdmin: records out, records back, every failure a Rejected."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Self, TypeVar

from google.protobuf.message import DecodeError, Message

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.provider_calls import Code, Rejected
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
    MachinePage,
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
from bigfleet.wire.audits import audit_message
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.fleet_dumps import METHOD as DUMP_FLEET
from bigfleet.wire.fleet_dumps import lines_in
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.machine_views import machine_view_of, query_message
from bigfleet.wire.need_listings import METHOD as LIST_NEEDS
from bigfleet.wire.need_listings import need_listing_of, need_query_bytes
from bigfleet.wire.pause_rpcs import (
    pause_list_of,
    pause_request,
    paused_of,
    resume_request,
    resumed_of,
)
from bigfleet.wire.shard_views import SERVICE

DEADLINE = 30.0
#: A listing of everything is long.
LIST_DEADLINE = 120.0

M = TypeVar("M", bound=Message)
T = TypeVar("T")
_EVERYTHING = MachineQuery()
_EVERY_NEED = NeedQuery()


class ShardAdminClient:
    def __init__(
        self, address: str, tls: TlsFiles | None = None, *, deadline: float = DEADLINE
    ) -> None:
        self._line = ClientLine(address, tls)
        self._deadline = deadline

    async def status(self) -> ShardStatus:
        request = pb.GetShardStatusRequest()
        return await self._call("GetStatus", request, pb.ShardStatus(), views.status_of)

    async def pause(self, call: PauseCall) -> Paused:
        return await self._call("Pause", pause_request(call), shared.PauseResponse(), paused_of)

    async def resume(self, call: ResumeCall) -> Resumed:
        return await self._call("Resume", resume_request(call), shared.ResumeResponse(), resumed_of)

    async def pauses(self, include_expired: bool = False) -> PauseList:
        request = shared.ListPausesRequest(include_expired=include_expired)
        return await self._call("ListPauses", request, shared.ListPausesResponse(), pause_list_of)

    async def sessions(self, cluster: str = "") -> tuple[SessionView, ...]:
        return await self._call(
            "ListSessions",
            pb.ListSessionsRequest(cluster_id=cluster),
            pb.ListSessionsResponse(),
            lambda m: tuple(map(views.session_of, m.sessions)),
        )

    async def machines(
        self, query: MachineQuery = _EVERYTHING, deadline: float = LIST_DEADLINE
    ) -> MachinePage:
        request = query_message(query).SerializeToString()
        stream = self._line.stream(f"/{SERVICE}/ListMachines", request)
        header, rows = pb.ListMachinesHeader(), []
        try:
            async with asyncio.timeout(deadline), aclosing(stream) as frames:
                async for frame in frames:
                    answer = pb.ListMachinesResponse.FromString(frame)
                    if answer.HasField("header"):
                        header = answer.header
                    elif answer.HasField("machine"):
                        rows.append(_read("ListMachines", machine_view_of, answer.machine))
        except TimeoutError:
            raise Rejected(Code.DEADLINE_EXCEEDED, "the machines took too long to come") from None
        return MachinePage(header.cycle, header.computed_at_unix_nanos, header.total, tuple(rows))

    async def needs(
        self, query: NeedQuery = _EVERY_NEED, deadline: float = LIST_DEADLINE
    ) -> NeedListing:
        """Raises Rejected with UNIMPLEMENTED where the shard is older."""
        stream = self._line.stream(f"/{SERVICE}/{LIST_NEEDS}", need_query_bytes(query))
        frames: list[bytes] = []
        try:
            async with asyncio.timeout(deadline), aclosing(stream) as coming:
                frames = [frame async for frame in coming]
        except TimeoutError:
            raise Rejected(Code.DEADLINE_EXCEEDED, "the needs took too long to come") from None
        try:
            return need_listing_of(frames)
        except (DecodeError, ValueError) as problem:
            raise _unreadable(LIST_NEEDS, problem) from None

    async def fleet(self) -> AsyncGenerator[bytes, None]:
        """Pieces of a .jsonl fleet file, whole lines each; the caller keeps the deadline.

        Raises Rejected with UNIMPLEMENTED where the shard is older.
        """
        request = pb.DumpFleetRequest().SerializeToString()
        stream = self._line.stream(f"/{SERVICE}/{DUMP_FLEET}", request)
        async with aclosing(stream) as frames:
            async for frame in frames:
                try:
                    yield lines_in(frame)
                except DecodeError as problem:
                    raise _unreadable(DUMP_FLEET, problem) from None

    async def story(self, call: StoryCall) -> MachineStory:
        request = pb.GetMachineStoryRequest(
            machine_id=call.machine_id, since_unix_nanos=call.since, limit=call.limit
        )
        return await self._call(
            "GetMachineStory",
            request,
            pb.GetMachineStoryResponse(),
            lambda m: MachineStory(
                _machine_in(m), tuple(map(views.event_of, m.events)), m.truncated
            ),
        )

    async def clear(self, machine_id: str, mode: ClearMode, audit: Audit) -> ClearedMachine:
        request = pb.ClearFailedMachineRequest(
            machine_id=machine_id, mode=views.number(mode), audit=audit_message(audit)
        )
        return await self._call(
            "ClearFailedMachine",
            request,
            pb.ClearFailedMachineResponse(),
            lambda m: ClearedMachine(_machine_in(m), m.text),
        )

    async def quarantines(self) -> tuple[Quarantine, ...]:
        return await self._call(
            "ListQuarantines",
            pb.ListQuarantinesRequest(),
            pb.ListQuarantinesResponse(),
            lambda m: tuple(map(views.quarantine_of, m.quarantines)),
        )

    async def release(
        self, kind: QuarantineKind, subject: str, accept: bool, audit: Audit
    ) -> ReleasedQuarantine:
        request = pb.ReleaseQuarantineRequest(
            kind=views.number(kind), subject=subject, accept=accept, audit=audit_message(audit)
        )
        return await self._call(
            "ReleaseQuarantine",
            request,
            pb.ReleaseQuarantineResponse(),
            lambda m: ReleasedQuarantine(views.quarantine_of(m.quarantine), m.text),
        )

    async def offerings(self) -> tuple[OfferingView, ...]:
        return await self._call(
            "ListOfferings",
            pb.ListOfferingsRequest(),
            pb.ListOfferingsResponse(),
            lambda m: tuple(map(views.offering_of, m.offerings)),
        )

    async def reset_offering(self, name: str, audit: Audit) -> str:
        """A sentence."""
        request = pb.ResetOfferingRequest(name=name, audit=audit_message(audit))
        answer = pb.ResetOfferingResponse()
        return await self._call("ResetOffering", request, answer, lambda m: m.text)

    async def close(self) -> None:
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()

    async def _call(self, method: str, request: Message, answer: M, read: Callable[[M], T]) -> T:
        content = await self._line.call(
            f"/{SERVICE}/{method}", request.SerializeToString(), self._deadline
        )
        try:
            answer.ParseFromString(content)
        except DecodeError as problem:
            raise _unreadable(method, problem) from None
        return _read(method, read, answer)


def _read(method: str, read: Callable[[M], T], message: M) -> T:
    try:
        return read(message)
    except ValueError as problem:
        raise _unreadable(method, problem) from None


def _unreadable(method: str, problem: Exception) -> Rejected:
    text = f"the answer to {method} cannot be read, is the shard newer? {problem}"
    return Rejected(Code.INTERNAL, text)


def _machine_in(
    answer: pb.GetMachineStoryResponse | pb.ClearFailedMachineResponse,
) -> MachineView | None:
    return machine_view_of(answer.machine) if answer.HasField("machine") else None
