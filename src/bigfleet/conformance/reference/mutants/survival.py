"""Mutants of durability and of scale: facts that do not come back, faults of large or long runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bigfleet.conformance.reference.fleet import seeded
from bigfleet.conformance.reference.memory import Memory
from bigfleet.conformance.reference.mutants import breaks
from bigfleet.conformance.reference.provider import Kind, Reference
from bigfleet.conformance.reference.record_list import Cursor, RecordList
from bigfleet.conformance.reference.statefile import Fact
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, ListCall, MachineRecord, Mutation, Peer, Rejected


class MarklessMemory(Memory):
    def recall(self, fact: Fact) -> None:
        if "mark" not in fact:
            super().recall(fact)


@breaks("marks in memory")
class MarksInMemory(Reference):
    memory_kind = MarklessMemory


class OperationlessMemory(Memory):
    def recall(self, fact: Fact) -> None:
        super().recall(fact)
        self.operations.clear()


@breaks("ids in memory")
class IdsInMemory(Reference):
    memory_kind = OperationlessMemory


class MetadatalessMemory(Memory):
    def recall(self, fact: Fact) -> None:
        match fact:
            case {"m": dict(machine)}:
                super().recall({"m": {**machine, "metadata": {}}})
            case _:
                super().recall(fact)


@breaks("metadata in memory")
class MetadataInMemory(Reference):
    memory_kind = MetadatalessMemory


@breaks("reseed at boot")
class ReseedAtBoot(Reference):
    def prepare(self) -> None:
        super().prepare()
        for record in self.fresh_slots():
            self.publish(record)

    def fresh_slots(self) -> Iterator[MachineRecord]:
        return seeded(self.settings.provider, self.settings.seed_count, faults=self.settings.faults)


class RestartingMemory(Memory):
    def recall(self, fact: Fact) -> None:
        super().recall(fact)
        self.counter = 0


@breaks("counter restarts")
class CounterRestarts(Reference):
    memory_kind = RestartingMemory


@breaks("stuck CONFIGURING")
class StuckConfiguring(Reference):
    def interrupted(self, record: MachineRecord) -> None:
        self.publish(replace(record))


@breaks("one global mark after load")
class OneMarkAfterLoad(Reference):
    def check_fence(self, kind: Kind, call: Mutation) -> None:
        loaded = self.loaded
        if loaded and (call.token.epoch, call.token.sequence) <= loaded:
            raise Rejected(Code.FAILED_PRECONDITION, "stale token")
        super().check_fence(kind, call)

    def prepare(self) -> None:
        super().prepare()
        self.loaded = max(self.memory.marks.values(), default=None)


FEW = 500


class CappedRecordList(RecordList):
    def page(self, call: ListCall, cursor: Cursor | None) -> tuple[Sequence[str], Cursor]:
        page, after = super().page(call, cursor)
        return page[:FEW], after


@breaks("List silently capped")
class ListSilentlyCapped(Reference):
    record_list_kind = CappedRecordList


class NeighbourRecordList(RecordList):
    def changed_after(self, since: int) -> list[str]:
        ids = list(self.records)
        changed = super().changed_after(since)
        near = {ids[(ids.index(machine) + 1) % len(ids)] for machine in changed}
        return [*changed, *(near - set(changed))]


@breaks("delta has neighbours")
class DeltaHasNeighbours(Reference):
    record_list_kind = NeighbourRecordList


class RepeatingRecordList(RecordList):
    def page(self, call: ListCall, cursor: Cursor | None) -> tuple[Sequence[str], Cursor]:
        page, after = super().page(call, cursor)
        if after.position is not None:
            after = replace(after, position=after.position - 1)
        return page, after


@breaks("page repeats a record")
class PageRepeats(Reference):
    record_list_kind = RepeatingRecordList


@breaks("leak every 100th drain")
class LeakingDrain(Reference):
    drains = 0

    def drained(self, record: MachineRecord) -> MachineRecord:
        self.drains += 1
        clean = super().drained(record)
        if self.drains % 100:
            return clean
        return replace(clean, shard_metadata=record.shard_metadata)


@breaks("delete loses slot")
class DeleteLosesSlot(Reference):
    deletes = 0

    def finish(self, kind: Kind, call: Mutation, operation: str) -> None:
        super().finish(kind, call, operation)
        if kind is Kind.DELETE:
            self.deletes += 1
            if self.deletes % 10 == 0:
                self.memory.record_list.remove(next(reversed(self.records)))


@breaks("300 ms added to Get")
class SlowGet(Reference):
    async def get(self, machine_id: str, peer: Peer) -> bytes:
        await self.clock.sleep(0.3)
        return await super().get(machine_id, peer)


@breaks("quadratic List")
class QuadraticList(Reference):
    async def list(self, call: ListCall, peer: Peer) -> bytes:
        if not call.since_revision:
            await self.clock.sleep(4e-7 * len(self.records) ** 2)
        return await super().list(call, peer)


@breaks("ids from clock ms")
class IdsFromClock(Reference):
    """Of a clock that ticks every twenty milliseconds, so that a slow machine is caught too."""

    def mint(self, kind: Kind, call: Mutation) -> str:
        return f"op-{self.clock.wall() // 20_000_000}"


@breaks("idle drift")
class IdleDrift(Reference):
    def finish(self, kind: Kind, call: Mutation, operation: str) -> None:
        super().finish(kind, call, operation)
        if kind is Kind.CREATE:
            self.start(self.drift(call.machine_id))

    async def drift(self, machine: str) -> None:
        await self.clock.sleep(0.3)
        record = self.records[machine]
        if record.state is S.IDLE:
            self.publish(replace(record, state=S.CONFIGURING, cluster="drift"))
