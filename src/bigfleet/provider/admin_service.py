"""The people's side of a provider: what it knows as JSON, and the few things one may ask of it."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from bigfleet.edge.clock import Clock, SimulatedClock
from bigfleet.model.errors import BadInput
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.provider_calls import STORE, Code, Peer, Rejected
from bigfleet.provider.committer import Committer, WriteSet
from bigfleet.provider.ledger.entries import Entry, failed
from bigfleet.provider.ledger.transitions import Reason
from bigfleet.provider.parts import Parts
from bigfleet.provider.snapshots import Snapshot, imported, read, why_not_importable, written
from bigfleet.provider.stores.store import JournalRow, Store, StoreFailed
from bigfleet.wire.provider_admin import RPCS, AdminHandler, Arguments, JsonObject, Verb

T = TypeVar("T")


#: What instants of the provider are by people's watches.
RealOf = Callable[[Instant], Instant]


def admin_handlers(parts: Parts, store: Store, clock: Clock) -> Mapping[Verb, AdminHandler]:
    admin = _Admin(parts, store, clock)
    handlers: Mapping[Verb, AdminHandler] = {
        Verb.MACHINES: admin.machines,
        Verb.OPS: admin.operations,
        Verb.FENCES: admin.fences,
        Verb.FAILED: admin.failed,
        Verb.PRUNE_FENCES: admin.prune_fences,
        Verb.REPAIR: admin.repair,
        Verb.ADOPT: admin.adopt,
        Verb.FORGET: admin.forget,
        Verb.ACCEPT_DESCRIBE: admin.accept_describe,
        Verb.EXPORT: admin.export,
        Verb.IMPORT: admin.import_,
        Verb.BACKUP: admin.backup,
    }
    return {
        verb: _durable(handler, parts.committer) if RPCS[verb].writes else handler
        for verb, handler in handlers.items()
    }


def _durable(handler: AdminHandler, committer: Committer) -> AdminHandler:
    """The same, but refused before it begins where nothing can be written."""

    async def handle(asked: Arguments, peer: Peer) -> JsonObject:
        try:
            await committer.require_writable()
            return await handler(asked, peer)
        except StoreFailed as failed:
            text = f"not done, since it cannot be kept: {failed}; make room on that disk"
            text = f"{text}, then ask again"
            raise Rejected(Code.RESOURCE_EXHAUSTED, text, STORE) from None

    return handle


class _Admin:
    def __init__(self, parts: Parts, store: Store, clock: Clock) -> None:
        self._parts = parts
        self._store = store
        self._clock = clock
        self._real_of: RealOf = clock.real_of if isinstance(clock, SimulatedClock) else _itself

    async def machines(self, asked: Arguments, _peer: Peer) -> JsonObject:
        wanted = str(asked["state"]).lower()
        entries = [
            entry
            for entry in self._parts.committer.published.entries()
            if asked["machine_id"] in ("", entry.id) and wanted in ("", entry.state.label.lower())
        ]
        return await asyncio.to_thread(_machines, _cut(entries, asked), self._real_of)

    async def failed(self, asked: Arguments, _peer: Peer) -> JsonObject:
        entries = self._parts.committer.published.entries()
        failed = [entry for entry in entries if entry.state is MachineState.FAILED]
        return await asyncio.to_thread(_machines, _cut(failed, asked), self._real_of)

    async def operations(self, asked: Arguments, _peer: Peer) -> JsonObject:
        limit = int(asked["limit"]) or 1000
        machine_id, running = str(asked["machine_id"]), bool(asked["running"])

        def found() -> list[JournalRow]:
            return self._store.journal(limit, machine_id, running=running)

        rows = await asyncio.to_thread(found) if self._store.blocking else found()
        return _items([_operation(self._parts.operations.live(row), self._real_of) for row in rows])

    async def fences(self, asked: Arguments, _peer: Peer) -> JsonObject:
        marks: list[dict[str, object]] = [
            {"shard": key.shard_id, "machine": key.machine_id, **mark._asdict()}
            for key, mark in self._parts.committer.fences.all()
            if asked["shard_id"] in ("", key.shard_id)
            and asked["machine_id"] in ("", key.machine_id)
        ]
        return _items(_cut(marks, asked))

    async def prune_fences(self, asked: Arguments, _peer: Peer) -> JsonObject:
        shard_id = str(asked["shard_id"])
        if not shard_id:
            raise Rejected(Code.INVALID_ARGUMENT, "which shard's marks?")
        committer = self._parts.committer
        keys = committer.fences.keys_of(shard_id)
        await committer.commit(WriteSet(dropped_marks=keys))
        committer.fences.forget(keys)
        return {"pruned": len(keys)}

    async def repair(self, asked: Arguments, _peer: Peer) -> JsonObject:
        machine_id = self._failed_id(asked)
        return {"machine": machine_id, "now": await self._parts.healer.heal(machine_id)}

    async def adopt(self, asked: Arguments, _peer: Peer) -> JsonObject:
        machine_id = self._failed_id(asked)
        if not await self._parts.healer.adopt(machine_id):
            raise Rejected(Code.ABORTED, f"machine {machine_id} has no host to adopt")
        return {"machine": machine_id, "now": "idle"}

    async def forget(self, asked: Arguments, _peer: Peer) -> JsonObject:
        machine_id = self._failed_id(asked)
        await self._parts.healer.forget(machine_id)
        return {"machine": machine_id, "now": "slot"}

    def _failed_id(self, asked: Arguments) -> str:
        machine_id = str(asked["machine_id"])
        entry = self._parts.committer.published.entry(machine_id)
        if entry is None:
            raise Rejected(Code.NOT_FOUND, f"no machine {machine_id}")
        if entry.state is not MachineState.FAILED:
            raise Rejected(Code.ABORTED, f"machine {machine_id} is {entry.state.label}")
        return machine_id

    async def accept_describe(self, _asked: Arguments, _peer: Peer) -> JsonObject:
        was = self._parts.reconciler.quarantined
        self._parts.reconciler.accept()
        return {"quarantined": was}

    async def export(self, asked: Arguments, _peer: Peer) -> JsonObject:
        committer = self._parts.committer
        snapshot = Snapshot(
            committer.published.head,
            committer.counter,
            tuple(committer.published.entries()),
            dict(committer.fences.all()),
        )
        try:
            content = await asyncio.to_thread(written, snapshot, str(asked["format"]))
        except BadInput as bad:
            raise Rejected(Code.INVALID_ARGUMENT, str(bad)) from None
        return {"machines": len(snapshot.entries), "content": content}

    async def import_(self, asked: Arguments, _peer: Peer) -> JsonObject:
        """Transitional machines are ended: their operations belong to another process."""
        committer = self._parts.committer
        content = asked["content"]
        assert isinstance(content, bytes)
        try:
            snapshot = await asyncio.to_thread(read, content)
        except BadInput as bad:
            raise Rejected(Code.INVALID_ARGUMENT, str(bad)) from None
        current = {entry.id: entry for entry in committer.published.entries()}
        if problems := why_not_importable(snapshot, current):
            text = "; ".join(str(problem) for problem in problems[:10])
            raise Rejected(Code.ABORTED, text)
        slots = (committer.take_slot() for _ in snapshot.entries)
        entries = [self._at_rest(entry) for entry in imported(snapshot, current, slots)]
        committer.count_from(snapshot.counter)
        for key, mark in snapshot.marks.items():
            if (committer.fences.mark(key, self._clock.now()) or mark) <= mark:
                await committer.commit(WriteSet(mark=(key, mark)))
        await self._parts.changes.add(entries)
        return {"machines": len(entries), "marks": len(snapshot.marks)}

    def _at_rest(self, entry: Entry) -> Entry:
        if entry.running is None:
            return entry
        text = "imported in the middle of an operation"
        return failed(entry, Reason.INTERRUPTED, text, self._clock.now())

    async def backup(self, _asked: Arguments, _peer: Peer) -> JsonObject:
        content = await asyncio.to_thread(_backup, self._store)
        return {"bytes": len(content), "content": content}


def _backup(store: Store) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "state.db"
        try:
            store.backup(copy)
        except OSError as error:
            raise Rejected(Code.ABORTED, str(error)) from None
        return copy.read_bytes()


def _items(items: list[dict[str, object]]) -> JsonObject:
    return {"items": items}


def _cut(items: list[T], asked: Arguments) -> list[T]:
    limit = int(asked["limit"])
    return items[:limit] if limit > 0 else items


def _itself(instant: Instant) -> Instant:
    return instant


def _when(at: Instant, real_of: RealOf) -> str | None:
    return instant_text(real_of(at)) if at else None


def _machines(entries: list[Entry], real_of: RealOf) -> JsonObject:
    return _items([_machine(entry, real_of) for entry in entries])


def _machine(entry: Entry, real_of: RealOf) -> dict[str, object]:
    record, standing = entry.record, entry.standing
    return {
        "id": entry.id,
        "state": entry.state.label,
        "host": record.host.ref if record.host else "",
        "instanceType": record.instance_type,
        "zone": record.zone,
        "capacityType": record.capacity_type.label,
        "pricePerHour": record.price_per_hour,
        "interruptionProbability": record.interruption_probability,
        "cluster": record.cluster,
        "lastError": record.last_error,
        "revision": entry.revision,
        "shard": standing.shard_id,
        "operations": standing.operations,
        "failedAt": _when(standing.failed_at, real_of),
        "heals": standing.heals,
    }


def _operation(row: JournalRow, real_of: RealOf) -> dict[str, object]:
    return {
        "id": row.operation_id,
        "machine": row.machine_id,
        "kind": row.kind.value,
        "shard": row.shard_id,
        "cluster": row.cluster_id,
        "acceptedAt": _when(row.accepted_at, real_of),
        "startedAt": _when(row.started_at, real_of),
        "deadline": _when(row.deadline, real_of),
        "attempt": row.attempt,
        "note": row.note,
        "outcome": row.outcome,
        "reason": row.reason,
        "finishedAt": _when(row.finished_at, real_of),
    }
