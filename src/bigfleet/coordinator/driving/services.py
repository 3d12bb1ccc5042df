"""Answers to shards and people: what they ask becomes an operation on the leader's book.

The log and the event of a change name the caller who made it. Who may call is decided before
anything here runs.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.driving.duties import Duties
from bigfleet.coordinator.driving.leading_replica import LeadingReplica, Operation
from bigfleet.coordinator.membership import (
    bindings,
    domains,
    instructions,
    pauses,
    registry,
    removal,
    reports,
    shard_sync,
)
from bigfleet.coordinator.rebalancing import quotas, shortfall_views, transfers
from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
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
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_admin import Audit, PauseCall, Paused, PauseList, ResumeCall, Resumed
from bigfleet.model.syntax import who_text
from bigfleet.wire.coordinator_handlers import Snapshot

T = TypeVar("T")


class _Answers:
    def __init__(self, leading: LeadingReplica, log: Log) -> None:
        self._leading = leading
        self._log = log

    def require_leader(self) -> None:
        self._leading.require_leader()

    async def _changed(
        self, what: str, subject: str, audit: Audit, peer: Peer, operation: Operation[T]
    ) -> T:
        """Done, durable, and told who did it."""
        who = who_text(audit.owner, peer.identity)
        text = f"{who}: {what} ({audit.reason})" if audit.reason else f"{who}: {what}"

        def noted(book: Book, draft: Draft) -> T:
            result = operation(book, draft)
            draft.note("admin", subject, text, peer.identity or "")
            return result

        result = await self._leading.transact(noted)
        self._log.info(
            "admin", msg=text, owner=audit.owner, reason=audit.reason, peer=peer.identity or ""
        )
        return result


class CoordinatorAnswers(_Answers):
    """Of `bigfleet.v1alpha1.Coordinator`."""

    def __init__(
        self,
        leading: LeadingReplica,
        log: Log,
        duties: Duties,
        most_changes: Callable[[], int | None],
    ) -> None:
        super().__init__(leading, log)
        self._duties = duties
        self._most_changes = most_changes

    async def report(self, report: ShardReport, _peer: Peer) -> ReportReply:
        return await self._leading.transact(
            lambda book, draft: reports.on_report(book, draft, report)
        )

    async def assign_domain(
        self, key: str, value: str, shard: str, audit: Audit, peer: Peer
    ) -> None:
        await self._changed(
            f"assign {key}={value} to {shard}",
            f"{key}={value}",
            audit,
            peer,
            lambda book, draft: domains.assign(book, draft, key, value, shard),
        )

    async def unassign_domain(self, key: str, value: str, audit: Audit, peer: Peer) -> None:
        await self._changed(
            f"unassign {key}={value}",
            f"{key}={value}",
            audit,
            peer,
            lambda book, draft: domains.unassign(book, draft, key, value),
        )

    async def remove_shard(self, shard: str, audit: Audit, peer: Peer) -> None:
        most = self._most_changes()
        await self._changed(
            f"remove shard {shard}",
            shard,
            audit,
            peer,
            lambda book, draft: removal.remove_shard(book, draft, shard, most),
        )

    async def shards(self) -> Sequence[ShardEntry]:
        return reports.shard_entries(self._leading.book())

    async def domains(self) -> Sequence[DomainAssignment]:
        return await self._leading.beside(domains.assignments)

    async def reports(self, shard: str) -> Sequence[ReportView]:
        return reports.report_views(self._leading.book(), shard)

    async def snapshot(self) -> Snapshot:
        return await self._duties.snapshot()


class AdminAnswers(_Answers):
    """Of `bigfleet.admin.v1alpha1.CoordinatorAdmin`."""

    def __init__(
        self,
        leading: LeadingReplica,
        log: Log,
        clock: Clock,
        new_id: Callable[[], str],
        backend: str,
        version: str,
    ) -> None:
        super().__init__(leading, log)
        self._clock = clock
        self._new_id = new_id
        self._backend = backend
        self._version = version

    async def status(self) -> CoordinatorStatus:
        leading, book = self._leading, self._leading.book_or_none()
        heard = leading.heard()
        known = CoordinatorStatus(
            replica_id=leading.settings.id,
            is_leader=leading.leads,
            leader_address=leading.leader_address(),
            term=heard.term,
            backend=self._backend,
            store_revision=heard.revision,
            version=self._version,
            store_error=leading.trouble(),
        )
        return known if book is None else _with_book(known, book, self._clock.now())

    async def sync(self, request: SyncRequest, _peer: Peer) -> SyncReply:
        return await self._leading.transact(
            lambda book, draft: shard_sync.on_sync(book, draft, request),
            lambda book, reply: shard_sync.finish_sync(book, request, reply),
        )

    # -- quotas and providers --------------------------------------------------------------------

    async def quotas(self) -> Sequence[QuotaAllocation]:
        return quotas.quotas(self._leading.book())

    async def set_quota(
        self,
        provider: str,
        region: str,
        total: int,
        force: bool,
        audit: Audit,
        peer: Peer,
    ) -> QuotaAllocation:
        return await self._changed(
            f"set the quota of {provider} in {region} to {total}",
            f"{provider}/{region}",
            audit,
            peer,
            lambda book, draft: quotas.set_quota(book, draft, provider, region, total, force=force),
        )

    async def delete_quota(self, provider: str, region: str, audit: Audit, peer: Peer) -> None:
        await self._changed(
            f"delete the quota of {provider} in {region}",
            f"{provider}/{region}",
            audit,
            peer,
            lambda book, draft: quotas.delete_quota(book, draft, provider, region),
        )

    async def providers(self) -> Sequence[ProviderEntry]:
        return registry.providers(self._leading.book())

    async def upsert_provider(
        self, entry: ProviderEntry, audit: Audit, peer: Peer
    ) -> ProviderEntry:
        return await self._changed(
            f"register provider {entry.name} at {entry.address}",
            entry.name,
            audit,
            peer,
            lambda book, draft: registry.upsert_provider(book, draft, entry),
        )

    async def delete_provider(self, name: str, audit: Audit, peer: Peer) -> None:
        await self._changed(
            f"delete provider {name}",
            name,
            audit,
            peer,
            lambda book, draft: registry.delete_provider(book, draft, name),
        )

    # -- clusters and default owners -------------------------------------------------------------

    async def bindings(self, shard: str) -> Sequence[ClusterBinding]:
        return await self._leading.beside(lambda book: bindings.bindings(book, shard))

    async def unbind(self, cluster: str, audit: Audit, peer: Peer) -> None:
        await self._changed(
            f"unbind cluster {cluster}",
            cluster,
            audit,
            peer,
            lambda book, draft: bindings.unbind(book, draft, cluster),
        )

    async def set_default_owner(
        self, provider_address: str, shard: str, audit: Audit, peer: Peer
    ) -> tuple[str, str]:
        owner = await self._changed(
            f"make {shard} the default owner of {provider_address}",
            provider_address,
            audit,
            peer,
            lambda book, draft: domains.set_default_owner(book, draft, provider_address, shard),
        )
        return provider_address, owner

    async def default_owners(self) -> Sequence[tuple[str, str]]:
        return domains.default_owners(self._leading.book())

    # -- transfers and instructions --------------------------------------------------------------

    async def transfers(self, include_finished: bool, limit: int) -> Sequence[Transfer]:
        return transfers.transfers(self._leading.book(), include_finished, limit)

    async def cancel_transfer(self, transfer: str, audit: Audit, peer: Peer) -> Transfer:
        reason = f"{who_text(audit.owner, peer.identity)}: {audit.reason}"
        return await self._changed(
            f"cancel transfer {transfer}",
            transfer,
            audit,
            peer,
            lambda book, draft: transfers.cancel(book, draft, transfer, reason),
        )

    async def instructions(self, shard: str) -> Sequence[PendingInstruction]:
        return instructions.pending(self._leading.book(), shard)

    async def shortfalls(self, shard: str, limit: int) -> ShortfallList:
        return shortfall_views.shortfalls(self._leading.book(), shard, limit)

    # -- pauses ----------------------------------------------------------------------------------

    async def pause(self, call: PauseCall, peer: Peer) -> Paused:
        identity = peer.identity or ""
        return await self._changed(
            f"pause {call.pause_id}".strip(),
            call.pause_id,
            call.audit,
            peer,
            lambda book, draft: pauses.pause(book, draft, call, identity, self._new_id),
        )

    async def resume(self, call: ResumeCall, peer: Peer) -> Resumed:
        return await self._changed(
            "resume everything" if call.everything else f"resume {call.pause_id}",
            call.pause_id,
            call.audit,
            peer,
            lambda book, draft: pauses.resume(book, draft, call, peer.identity or ""),
        )

    async def pauses(self, include_expired: bool) -> PauseList:
        return pauses.pauses(self._leading.book(), include_expired, self._clock.now())

    # -- events ----------------------------------------------------------------------------------

    async def events(
        self, from_revision: int, follow: bool
    ) -> AsyncGenerator[CoordinatorEvent, None]:
        """The remembered events from there on; a reader too slow to keep up is disconnected."""
        due: int | None = None
        term = self._leading.book().term
        while True:
            book, news = self._leading.book(), self._leading.news()
            if book.term != term:
                text = f"term {book.term} has begun, and its events are counted anew; tail anew"
                raise Rejected(Code.ABORTED, text)
            first = book.events[0].revision if book.events else due or 1
            if due is not None and due < first:
                text = f"events {due} to {first - 1} are forgotten; read faster, or tail anew"
                raise Rejected(Code.RESOURCE_EXHAUSTED, text)
            due = max(due if due is not None else from_revision, first)
            for event in tuple(islice(book.events, due - first, None)):
                yield event
                due = event.revision + 1
            if not follow:
                return
            await news.wait()


def _with_book(known: CoordinatorStatus, book: Book, at: int) -> CoordinatorStatus:
    tables = book.tables
    return replace(
        known,
        shards=sum(not row.removed for row in tables.shards.rows.values()),
        clusters=len(tables.clusters.rows),
        domains=len(tables.domains.rows),
        pending_instructions=len(tables.instructions.rows),
        open_transfers=sum(row.transfer.state.open for row in tables.transfers.rows.values()),
        rebalance_paused=pauses.rebalance_paused(book, at),
    )
