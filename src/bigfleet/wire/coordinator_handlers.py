"""What answers the coordinator's calls, as the wire sees it; each raises Rejected where it must.

A replica that does not lead answers NotLeader to everything but `status`, before anything else.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

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
    ShortfallList,
    SyncReply,
    SyncRequest,
    Transfer,
)
from bigfleet.model.coordinator_calls import ReportReply, ShardReport
from bigfleet.model.provider_calls import Peer
from bigfleet.model.shard_admin import Audit, PauseCall, Paused, PauseList, ResumeCall, Resumed


@dataclass(frozen=True, slots=True)
class SnapshotMeta:
    id: str
    index: int
    term: int
    size: int
    version: int
    backend: str
    sha256: str
    created_unix_nanos: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    meta: SnapshotMeta
    data: bytes


class CoordinatorHandler(Protocol):
    """`bigfleet.v1alpha1.Coordinator`. `audit` is what request metadata said, maybe empty."""

    def require_leader(self) -> None:
        """Raises NotLeader."""
        ...

    async def report(self, report: ShardReport, peer: Peer) -> ReportReply: ...
    async def assign_domain(
        self, key: str, value: str, shard: str, audit: Audit, peer: Peer
    ) -> None: ...
    async def unassign_domain(self, key: str, value: str, audit: Audit, peer: Peer) -> None: ...
    async def remove_shard(self, shard: str, audit: Audit, peer: Peer) -> None: ...
    async def shards(self) -> Sequence[ShardEntry]: ...
    async def domains(self) -> Sequence[DomainAssignment]: ...
    async def reports(self, shard: str) -> Sequence[ReportView]: ...
    async def snapshot(self) -> Snapshot: ...


class CoordinatorAdminHandler(Protocol):
    """`bigfleet.admin.v1alpha1.CoordinatorAdmin`."""

    def require_leader(self) -> None:
        """Raises NotLeader."""
        ...

    async def status(self) -> CoordinatorStatus:
        """Of this replica, leader or not."""
        ...

    async def sync(self, request: SyncRequest, peer: Peer) -> SyncReply: ...
    async def quotas(self) -> Sequence[QuotaAllocation]: ...
    async def set_quota(
        self,
        provider: str,
        region: str,
        total: int,
        force: bool,
        audit: Audit,
        peer: Peer,
    ) -> QuotaAllocation: ...
    async def delete_quota(self, provider: str, region: str, audit: Audit, peer: Peer) -> None: ...
    async def providers(self) -> Sequence[ProviderEntry]: ...
    async def upsert_provider(
        self, entry: ProviderEntry, audit: Audit, peer: Peer
    ) -> ProviderEntry: ...
    async def delete_provider(self, name: str, audit: Audit, peer: Peer) -> None: ...
    async def bindings(self, shard: str) -> Sequence[ClusterBinding]: ...
    async def unbind(self, cluster: str, audit: Audit, peer: Peer) -> None: ...
    async def set_default_owner(
        self, provider_address: str, shard: str, audit: Audit, peer: Peer
    ) -> tuple[str, str]:
        """The address, and the owner as it is shown now: empty while it changes hands."""
        ...

    async def default_owners(self) -> Sequence[tuple[str, str]]:
        """Address of a provider and its owner, sorted; no owner while it changes hands."""
        ...

    async def transfers(self, include_finished: bool, limit: int) -> Sequence[Transfer]: ...
    async def cancel_transfer(self, transfer: str, audit: Audit, peer: Peer) -> Transfer: ...
    async def instructions(self, shard: str) -> Sequence[PendingInstruction]: ...
    async def shortfalls(self, shard: str, limit: int) -> ShortfallList: ...
    async def pause(self, call: PauseCall, peer: Peer) -> Paused: ...
    async def resume(self, call: ResumeCall, peer: Peer) -> Resumed: ...
    async def pauses(self, include_expired: bool) -> PauseList: ...
    def events(self, from_revision: int, follow: bool) -> AsyncGenerator[CoordinatorEvent, None]:
        """Closed when its reader leaves."""
        ...
