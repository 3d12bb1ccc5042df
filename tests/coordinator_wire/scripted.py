"""A coordinator that answers from a script and remembers what it was asked, over real gRPC."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

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
from bigfleet.model.coordinator_calls import NotLeader, ReportReply, ShardReport
from bigfleet.model.provider_calls import Code, Peer
from bigfleet.model.shard_admin import Audit, PauseCall, Paused, PauseList, ResumeCall, Resumed
from bigfleet.wire.coordinator_handlers import Snapshot
from bigfleet.wire.coordinator_server import CoordinatorEndpoint
from bigfleet.wire.lines import TlsFiles
from tests.coordinator_wire import samples

#: A test that waits longer than this waits for what will not come.
PATIENCE = 60.0


@dataclass
class ScriptedCoordinator:
    #: Whom it follows; None: it leads; empty: it knows no leader.
    follows: str | None = None
    raises: Exception | None = None
    asked: list[tuple[object, ...]] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    synced: SyncReply = samples.SYNCED
    listed: Sequence[DomainAssignment] = samples.DOMAINS
    saved: Snapshot = field(default_factory=lambda: samples.snapshot_of(b"{}"))
    #: Set when a tail was closed.
    tail_closed: asyncio.Event = field(default_factory=asyncio.Event)

    def require_leader(self) -> None:
        if self.follows is not None:
            raise NotLeader("this replica does not lead", self.follows)

    def _asked(self, *words: object, peer: Peer | None = None) -> None:
        self.asked.append(words)
        if peer is not None:
            self.peers.append(peer)
        if self.raises is not None:
            raise self.raises

    async def report(self, report: ShardReport, peer: Peer) -> ReportReply:
        self._asked("report", report, peer=peer)
        return samples.REPLY

    async def assign_domain(
        self, key: str, value: str, shard: str, audit: Audit, peer: Peer
    ) -> None:
        self._asked("assign", key, value, shard, audit, peer=peer)

    async def unassign_domain(self, key: str, value: str, audit: Audit, peer: Peer) -> None:
        self._asked("unassign", key, value, audit, peer=peer)

    async def remove_shard(self, shard: str, audit: Audit, peer: Peer) -> None:
        self._asked("remove", shard, audit, peer=peer)

    async def shards(self) -> Sequence[ShardEntry]:
        self._asked("shards")
        return samples.SHARDS

    async def domains(self) -> Sequence[DomainAssignment]:
        self._asked("domains")
        return self.listed

    async def reports(self, shard: str) -> Sequence[ReportView]:
        self._asked("reports", shard)
        return (samples.REPORT_VIEW,)

    async def snapshot(self) -> Snapshot:
        self._asked("snapshot")
        return self.saved

    async def status(self) -> CoordinatorStatus:
        self._asked("status")
        return samples.STATUS

    async def sync(self, request: SyncRequest, peer: Peer) -> SyncReply:
        self._asked("sync", request, peer=peer)
        return self.synced

    async def quotas(self) -> Sequence[QuotaAllocation]:
        self._asked("quotas")
        return (samples.QUOTA,)

    async def set_quota(
        self,
        provider: str,
        region: str,
        total: int,
        force: bool,
        audit: Audit,
        peer: Peer,
    ) -> QuotaAllocation:
        self._asked("set_quota", provider, region, total, audit, force, peer=peer)
        return samples.QUOTA

    async def delete_quota(self, provider: str, region: str, audit: Audit, peer: Peer) -> None:
        self._asked("delete_quota", provider, region, audit, peer=peer)

    async def providers(self) -> Sequence[ProviderEntry]:
        self._asked("providers")
        return (samples.PROVIDER,)

    async def upsert_provider(
        self, entry: ProviderEntry, audit: Audit, peer: Peer
    ) -> ProviderEntry:
        self._asked("upsert_provider", entry, audit, peer=peer)
        return samples.PROVIDER

    async def delete_provider(self, name: str, audit: Audit, peer: Peer) -> None:
        self._asked("delete_provider", name, audit, peer=peer)

    async def bindings(self, shard: str) -> Sequence[ClusterBinding]:
        self._asked("bindings", shard)
        return (samples.BINDING,)

    async def unbind(self, cluster: str, audit: Audit, peer: Peer) -> None:
        self._asked("unbind", cluster, audit, peer=peer)

    async def set_default_owner(
        self, provider_address: str, shard: str, audit: Audit, peer: Peer
    ) -> tuple[str, str]:
        self._asked("set_default_owner", provider_address, shard, audit, peer=peer)
        return provider_address, shard

    async def default_owners(self) -> Sequence[tuple[str, str]]:
        self._asked("default_owners")
        return samples.DEFAULT_OWNERS

    async def transfers(self, include_finished: bool, limit: int) -> Sequence[Transfer]:
        self._asked("transfers", include_finished, limit)
        return (samples.TRANSFER,)

    async def cancel_transfer(self, transfer: str, audit: Audit, peer: Peer) -> Transfer:
        self._asked("cancel_transfer", transfer, audit, peer=peer)
        return samples.TRANSFER

    async def instructions(self, shard: str) -> Sequence[PendingInstruction]:
        self._asked("instructions", shard)
        return (samples.PENDING,)

    async def shortfalls(self, shard: str, limit: int) -> ShortfallList:
        self._asked("shortfalls", shard, limit)
        return samples.SHORTFALLS

    async def pause(self, call: PauseCall, peer: Peer) -> Paused:
        self._asked("pause", call, peer=peer)
        return Paused(samples.PAUSE, (samples.PAUSE,))

    async def resume(self, call: ResumeCall, peer: Peer) -> Resumed:
        self._asked("resume", call, peer=peer)
        return Resumed((samples.PAUSE,), ())

    async def pauses(self, include_expired: bool) -> PauseList:
        self._asked("pauses", include_expired)
        return PauseList((samples.PAUSE,), False)

    async def events(
        self, from_revision: int, follow: bool
    ) -> AsyncGenerator[CoordinatorEvent, None]:
        self._asked("events", from_revision, follow)
        try:
            yield samples.EVENT
            if follow:
                await asyncio.Event().wait()
        finally:
            self.tail_closed.set()


@dataclass
class Rig:
    endpoint: CoordinatorEndpoint
    address: str
    #: (method, code) of every call the endpoint finished.
    observed: list[tuple[str, Code]]


@asynccontextmanager
async def serving(
    coordinator: ScriptedCoordinator, *, tls: TlsFiles | None = None, reflection: bool = False
) -> AsyncIterator[Rig]:
    observed: list[tuple[str, Code]] = []
    endpoint = CoordinatorEndpoint(
        coordinator,
        coordinator,
        tls=tls,
        reflection=reflection,
        observe=lambda method, code, _seconds: observed.append((method, code)),
    )
    port = await endpoint.start()
    try:
        yield Rig(endpoint, f"127.0.0.1:{port}", observed)
    finally:
        await endpoint.stop()
