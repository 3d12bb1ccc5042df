"""The calling end of the coordinator for people: records out, records back, failures a Rejected.

It takes every address of a coordinator and follows the leader; only a status is of the one replica
that is named.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Self, TypeVar

from google.protobuf.message import DecodeError, Message

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import (
    ClusterBinding,
    CoordinatorEvent,
    CoordinatorStatus,
    DomainAssignment,
    PendingInstruction,
    ProviderEntry,
    QuotaAllocation,
    ReportView,
    ShardEntry,
    Transfer,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import Audit, PauseCall, Paused, PauseList, ResumeCall, Resumed
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire import coordination as records
from bigfleet.wire.audits import audit_message, metadata_of
from bigfleet.wire.coordinator_handlers import SnapshotMeta
from bigfleet.wire.coordinator_paths import ADMIN_SERVICE, GET_STATUS, SERVICE
from bigfleet.wire.leader_lines import LeaderLines
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.pause_rpcs import (
    pause_list_of,
    pause_request,
    paused_of,
    resume_request,
    resumed_of,
)
from bigfleet.wire.snapshot_frames import SnapshotReader

DEADLINE = 30.0

M = TypeVar("M", bound=Message)
T = TypeVar("T")


class CoordinatorAdminClient:
    def __init__(
        self, addresses: Sequence[str], tls: TlsFiles | None = None, *, deadline: float = DEADLINE
    ) -> None:
        self._lines = LeaderLines(addresses, tls)
        self._deadline = deadline

    async def status(self, address: str) -> CoordinatorStatus:
        """Of the replica at this address, leader or not."""
        request = pb.GetCoordinatorStatusRequest().SerializeToString()
        answer = await self._lines.line(address).call(GET_STATUS, request, self._deadline)
        return _read("GetStatus", answer, pb.CoordinatorStatus(), records.status_of)

    # -- bigfleet.v1alpha1.Coordinator -----------------------------------------------------------

    async def shards(self) -> tuple[ShardEntry, ...]:
        return await self._ask(
            "ListShards",
            contract.ListShardsRequest(),
            contract.ListShardsResponse(),
            lambda m: tuple(map(records.shard_of, m.shards)),
        )

    async def domains(self) -> tuple[DomainAssignment, ...]:
        return await self._ask(
            "ListDomainAssignments",
            contract.ListDomainAssignmentsRequest(),
            contract.ListDomainAssignmentsResponse(),
            lambda m: tuple(map(records.domain_of, m.assignments)),
        )

    async def reports(self, shard: str = "") -> tuple[ReportView, ...]:
        """Empty right after a fail-over: the shards have not spoken yet."""
        return await self._ask(
            "ListShardReports",
            contract.ListShardReportsRequest(shard_id=shard),
            contract.ListShardReportsResponse(),
            lambda m: tuple(map(records.report_view_of, m.reports)),
        )

    async def assign_domain(self, key: str, value: str, shard: str, audit: Audit) -> None:
        request = contract.AssignDomainRequest(
            topology_key=key, topology_value=value, shard_id=shard
        )
        await self._change("AssignDomain", request, audit)

    async def unassign_domain(self, key: str, value: str, audit: Audit) -> None:
        request = contract.UnassignDomainRequest(topology_key=key, topology_value=value)
        await self._change("UnassignDomain", request, audit)

    async def remove_shard(self, shard: str, audit: Audit) -> None:
        await self._change("RemoveShard", contract.RemoveShardRequest(shard_id=shard), audit)

    async def snapshot(self, write: Callable[[bytes], None]) -> SnapshotMeta:
        """The state as it is now, piece by piece to `write`; it came whole where this returns.

        Nothing but the search for the leader has a deadline.
        """
        reader = SnapshotReader()
        request = contract.SnapshotSaveRequest().SerializeToString()
        stream = self._lines.stream(f"/{SERVICE}/SnapshotSave", request, self._deadline)
        async with aclosing(stream) as frames:
            async for frame in frames:
                try:
                    data = reader.data_in(frame)
                except (DecodeError, ValueError) as problem:
                    raise _unreadable("SnapshotSave", problem) from None
                if data:
                    write(data)
        return reader.meta()

    # -- bigfleet.admin.v1alpha1.CoordinatorAdmin ------------------------------------------------

    async def quotas(self) -> tuple[QuotaAllocation, ...]:
        return await self._admin(
            "ListQuotas",
            pb.ListQuotasRequest(),
            pb.ListQuotasResponse(),
            lambda m: tuple(map(records.quota_of, m.quotas)),
        )

    async def set_quota(
        self, provider: str, region: str, total: int, audit: Audit, *, force: bool = False
    ) -> QuotaAllocation:
        """Raises Rejected with ABORTED where more than that is in use, but for `force`."""
        request = pb.SetQuotaRequest(
            provider=provider, region=region, total=total, audit=audit_message(audit), force=force
        )
        answer = pb.SetQuotaResponse()
        return await self._admin("SetQuota", request, answer, lambda m: records.quota_of(m.quota))

    async def delete_quota(self, provider: str, region: str, audit: Audit) -> None:
        request = pb.DeleteQuotaRequest(
            provider=provider, region=region, audit=audit_message(audit)
        )
        await self._admin("DeleteQuota", request, pb.DeleteQuotaResponse(), _nothing)

    async def providers(self) -> tuple[ProviderEntry, ...]:
        return await self._admin(
            "ListProviders",
            pb.ListProvidersRequest(),
            pb.ListProvidersResponse(),
            lambda m: tuple(map(records.provider_of, m.providers)),
        )

    async def upsert_provider(self, entry: ProviderEntry, audit: Audit) -> ProviderEntry:
        return await self._admin(
            "UpsertProvider",
            pb.UpsertProviderRequest(
                provider=records.provider_message(entry), audit=audit_message(audit)
            ),
            pb.UpsertProviderResponse(),
            lambda m: records.provider_of(m.provider),
        )

    async def delete_provider(self, name: str, audit: Audit) -> None:
        request = pb.DeleteProviderRequest(name=name, audit=audit_message(audit))
        await self._admin("DeleteProvider", request, pb.DeleteProviderResponse(), _nothing)

    async def bindings(self, shard: str = "") -> tuple[ClusterBinding, ...]:
        return await self._admin(
            "ListClusterBindings",
            pb.ListClusterBindingsRequest(shard_id=shard),
            pb.ListClusterBindingsResponse(),
            lambda m: tuple(map(records.binding_of, m.bindings)),
        )

    async def unbind(self, cluster: str, audit: Audit) -> None:
        request = pb.UnbindClusterRequest(cluster_id=cluster, audit=audit_message(audit))
        await self._admin("UnbindCluster", request, pb.UnbindClusterResponse(), _nothing)

    async def set_default_owner(self, provider_address: str, shard: str, audit: Audit) -> str:
        """The owner as it is shown now: empty while it changes hands."""
        return await self._admin(
            "SetDefaultOwner",
            pb.SetDefaultOwnerRequest(
                provider_address=provider_address, shard_id=shard, audit=audit_message(audit)
            ),
            pb.SetDefaultOwnerResponse(),
            lambda m: m.default_owner.shard_id,
        )

    async def default_owners(self) -> tuple[tuple[str, str], ...]:
        """Address of a provider and its owner; no owner while it changes hands."""
        return await self._admin(
            "ListDefaultOwners",
            pb.ListDefaultOwnersRequest(),
            pb.ListDefaultOwnersResponse(),
            lambda m: tuple((row.provider_address, row.shard_id) for row in m.default_owners),
        )

    async def transfers(
        self, include_finished: bool = False, limit: int = 0
    ) -> tuple[Transfer, ...]:
        return await self._admin(
            "ListTransfers",
            pb.ListTransfersRequest(include_finished=include_finished, limit=limit),
            pb.ListTransfersResponse(),
            lambda m: tuple(map(records.transfer_of, m.transfers)),
        )

    async def cancel_transfer(self, transfer: str, audit: Audit) -> Transfer:
        return await self._admin(
            "CancelTransfer",
            pb.CancelTransferRequest(transfer_id=transfer, audit=audit_message(audit)),
            pb.CancelTransferResponse(),
            lambda m: records.transfer_of(m.transfer),
        )

    async def instructions(self, shard: str = "") -> tuple[PendingInstruction, ...]:
        return await self._admin(
            "ListInstructions",
            pb.ListInstructionsRequest(shard_id=shard),
            pb.ListInstructionsResponse(),
            lambda m: tuple(map(records.pending_of, m.instructions)),
        )

    async def pause(self, call: PauseCall) -> Paused:
        return await self._admin("Pause", pause_request(call), shared.PauseResponse(), paused_of)

    async def resume(self, call: ResumeCall) -> Resumed:
        answer = shared.ResumeResponse()
        return await self._admin("Resume", resume_request(call), answer, resumed_of)

    async def pauses(self, include_expired: bool = False) -> PauseList:
        request = shared.ListPausesRequest(include_expired=include_expired)
        return await self._admin("ListPauses", request, shared.ListPausesResponse(), pause_list_of)

    async def events(
        self, from_revision: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[CoordinatorEvent, None]:
        """Until there are no more, or with `follow` until the line breaks; that is a Rejected."""
        request = pb.TailEventsRequest(from_revision=from_revision, follow=follow)
        stream = self._lines.stream(
            f"/{ADMIN_SERVICE}/TailEvents", request.SerializeToString(), self._deadline
        )
        async with aclosing(stream) as frames:
            async for frame in frames:
                yield _read("TailEvents", frame, pb.CoordinatorEvent(), records.event_of)

    async def close(self) -> None:
        await self._lines.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()

    async def _ask(self, method: str, request: Message, answer: M, read: Callable[[M], T]) -> T:
        return await self._call(SERVICE, method, request, answer, read)

    async def _change(self, method: str, request: Message, audit: Audit) -> None:
        """These requests have no place for who and why: it goes beside them."""
        path = f"/{SERVICE}/{method}"
        told = metadata_of(audit)
        await self._lines.call(path, request.SerializeToString(), self._deadline, told)

    async def _admin(self, method: str, request: Message, answer: M, read: Callable[[M], T]) -> T:
        return await self._call(ADMIN_SERVICE, method, request, answer, read)

    async def _call(
        self, service: str, method: str, request: Message, answer: M, read: Callable[[M], T]
    ) -> T:
        content = await self._lines.call(
            f"/{service}/{method}", request.SerializeToString(), self._deadline
        )
        return _read(method, content, answer, read)


def _nothing(_answer: Message) -> None:
    """There is nothing in it."""


def _read(method: str, content: bytes, answer: M, read: Callable[[M], T]) -> T:
    try:
        answer.ParseFromString(content)
        return read(answer)
    except (DecodeError, ValueError) as problem:
        raise _unreadable(method, problem) from None


def _unreadable(method: str, problem: Exception) -> Rejected:
    text = f"the answer to {method} cannot be read, is the coordinator newer? {problem}"
    return Rejected(Code.INTERNAL, text)
