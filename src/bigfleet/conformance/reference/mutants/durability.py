"""Mutants of durability: one kind of fact that does not come back, or comes back wrong."""

from collections.abc import Iterator
from dataclasses import replace

from bigfleet.conformance.reference.fleet import seeded
from bigfleet.conformance.reference.memory import Memory
from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import Kind, Reference
from bigfleet.conformance.reference.statefile import Fact
from bigfleet.model.provider_calls import Code, MachineRecord, Mutation, Rejected


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
        return seeded(self.habits.provider, self.habits.seed_count, faults=self.habits.faults)


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
