"""The six RPCs: each mutation is decided under its machine's lock and committed before its answer.

Reads take no lock: they see what is published, which is what is durable.
"""

import asyncio

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.provider_calls import (
    STORE,
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    Mutation,
    Peer,
    Rejected,
)
from bigfleet.provider.backend import BackendError, CapacityUnavailable, QuotaExceeded
from bigfleet.provider.calls import BackendCalls
from bigfleet.provider.committer import Committer, WriteSet
from bigfleet.provider.ledger.decisions import (
    Accepted,
    Refusal,
    Refused,
    Repeated,
    decided,
    why_malformed,
    why_not_read,
    why_not_this_caller,
)
from bigfleet.provider.ledger.entries import Entry
from bigfleet.provider.ledger.fences import Mark, MarkKey
from bigfleet.provider.ledger.published import cursor_bytes, cursor_of
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.operations.limits import MachineLocks
from bigfleet.provider.operations.operations import Operations
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.stores.store import StoreFailed
from bigfleet.wire.machines import ack_bytes, list_bytes

#: Above this many records a join leaves the event loop.
JOIN_IN_LOOP = 20_000
_METHODS = {
    Kind.CREATE: "Create",
    Kind.CONFIGURE: "Configure",
    Kind.DRAIN: "Drain",
    Kind.DELETE: "Delete",
}


class ProviderService:
    """A ProviderHandler."""

    def __init__(
        self,
        committer: Committer,
        operations: Operations,
        locks: MachineLocks,
        calls: BackendCalls,
        clock: Clock,
        options: ProviderOptions,
        metrics: ProviderMetrics,
        log: Log,
    ) -> None:
        self._committer = committer
        self._operations = operations
        self._locks = locks
        self._calls = calls
        self._clock = clock
        self._options = options
        self._metrics = metrics
        self._log = log
        self._stopping = False
        #: The unfiltered answer of the head it was made at.
        self._full: tuple[int, bytes] = (-1, b"")

    def stop_mutations(self) -> None:
        self._stopping = True

    async def create(self, call: CreateCall, peer: Peer) -> bytes:
        return await self._mutate(Kind.CREATE, call, peer)

    async def configure(self, call: ConfigureCall, peer: Peer) -> bytes:
        return await self._mutate(Kind.CONFIGURE, call, peer)

    async def drain(self, call: DrainCall, peer: Peer) -> bytes:
        return await self._mutate(Kind.DRAIN, call, peer)

    async def delete(self, call: DeleteCall, peer: Peer) -> bytes:
        return await self._mutate(Kind.DELETE, call, peer)

    async def get(self, machine_id: str, peer: Peer) -> bytes:
        if refusal := why_not_read(peer):
            raise refusal.raised()
        if not machine_id:
            raise Rejected(Code.INVALID_ARGUMENT, "id is empty")
        published = self._committer.published.get(machine_id)
        if published is None:
            raise Rejected(Code.NOT_FOUND, f"no machine {machine_id}")
        return _machine_of(published.chunk)

    async def list(self, call: ListCall, peer: Peer) -> bytes:
        if refusal := why_not_read(peer):
            raise refusal.raised()
        published, incarnation = self._committer.published, self._committer.incarnation
        cursor = cursor_of(call.since_revision, incarnation) if call.since_revision else None
        whole = not call.states and call.max_results <= 0 and cursor is None
        head = published.head
        if whole and self._full[0] == head:
            return self._full[1]
        page = published.page(call, cursor)
        revision = cursor_bytes(page.cursor, incarnation)
        if len(page.chunks) > JOIN_IN_LOOP:
            answer = await asyncio.to_thread(list_bytes, page.chunks, revision)
        else:
            answer = list_bytes(page.chunks, revision)
        if whole:
            self._full = (head, answer)
        return answer

    async def _mutate(self, kind: Kind, call: Mutation, peer: Peer) -> bytes:
        began = self._clock.now()
        try:
            answer = await self._answered(kind, call, peer)
        except Rejected as rejected:
            self._tell(kind, call, rejected.code, rejected.reason, began)
            raise
        self._tell(kind, call, Code.OK, "", began)
        return answer

    async def _answered(self, kind: Kind, call: Mutation, peer: Peer) -> bytes:
        if refusal := why_not_this_caller(peer, call.token):
            raise refusal.raised()
        if refusal := why_malformed(call, self._options.sizes):
            raise refusal.raised()
        if kind is Kind.DELETE and not self._calls.can_delete:
            raise Rejected(Code.UNIMPLEMENTED, "this provider cannot delete machines")
        if self._stopping:
            raise Rejected(Code.UNAVAILABLE, "the provider is stopping")
        if self._committer.read_only:
            raise Rejected(Code.UNAVAILABLE, _unwritable(self._committer.trouble), STORE)
        async with self._locks.hold(call.machine_id):
            try:
                return await self._decided(kind, call)
            except StoreFailed as failed:
                raise Rejected(Code.UNAVAILABLE, _unwritable(str(failed)), STORE) from None

    async def _decided(self, kind: Kind, call: Mutation) -> bytes:
        committer = self._committer
        key = MarkKey(call.token.shard_id, call.machine_id)
        entry = committer.published.entry(call.machine_id)
        verdict = decided(
            kind,
            call,
            entry=entry,
            mark=committer.fences.mark(key, self._clock.now()),
            why_not_admitted=lambda entry: self._why_not_admitted(kind, entry),
            operation_id=committer.mint,
        )
        if isinstance(verdict, Accepted):
            await self._accept(kind, call, key, verdict, entry)
        else:
            await self._remember(key, verdict.mark)
        if isinstance(verdict, Refused):
            if verdict.refusal.code is Code.FAILED_PRECONDITION:
                self._metrics.counts.add("fenced_total", shard=call.token.shard_id)
            raise verdict.refusal.raised()
        if isinstance(verdict, Repeated) and verdict.payload_differs:
            self._metrics.counts.add("configure_payload_mismatch_total")
        published = committer.published.get(call.machine_id)
        assert published is not None
        return ack_bytes(verdict.operation_id, _machine_of(published.chunk))

    async def _remember(self, key: MarkKey, mark: Mark | None) -> None:
        if mark is not None:
            await self._committer.commit(WriteSet(mark=(key, mark)))

    async def _accept(
        self, kind: Kind, call: Mutation, key: MarkKey, verdict: Accepted, before: Entry | None
    ) -> None:
        running = self._operations.prepare(kind, call, verdict.operation_id)
        mark = (key, verdict.mark) if verdict.mark is not None else None
        write = WriteSet(shown=(verdict.entry,), mark=mark, journal=(running.row,))
        try:
            await self._committer.commit(write)
        except BaseException:
            self._operations.abandon(running)
            raise
        self._operations.start(running)
        shard, switched = call.token.shard_id, before.standing.shard_id if before else ""
        if shard and switched and shard != switched:
            self._metrics.counts.add("shard_switch_total")

    def _why_not_admitted(self, kind: Kind, entry: Entry) -> Refusal | None:
        if kind is Kind.CREATE:
            resting = self._operations.cooldowns.why_not(entry.offering, self._clock.now())
            if resting is not None:
                return resting
        try:
            self._calls.admit(kind, entry.record)
        except CapacityUnavailable as error:
            return Refusal(Code.RESOURCE_EXHAUSTED, str(error), "stockout")
        except QuotaExceeded as error:
            return Refusal(Code.RESOURCE_EXHAUSTED, str(error), "quota")
        except BackendError as error:
            return Refusal(Code.ABORTED, str(error), "out-of-position")
        return None

    def _tell(self, kind: Kind, call: Mutation, code: Code, reason: str, began: int) -> None:
        token = call.token
        tell = self._log.error if reason == STORE else self._log.info
        tell(
            "rpc",
            method=_METHODS[kind],
            machine=call.machine_id,
            shard=token.shard_id,
            token=[token.epoch, token.sequence],
            code=code,
            reason=reason,
            ms=(self._clock.now() - began) / 1e6,
        )


def _unwritable(why: str) -> str:
    return f"the provider's state cannot be written: {why}"


def _machine_of(chunk: bytes) -> bytes:
    """The machine without the tag and the varint length that make it an element of a list."""
    start = 1
    while chunk[start] & 0x80:
        start += 1
    return chunk[start + 1 :]
