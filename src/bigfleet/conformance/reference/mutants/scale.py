"""Mutants of scale: wrong only where there are many machines, many rounds or little time."""

from collections.abc import Sequence
from dataclasses import replace

from bigfleet.conformance.reference.cursors import Cursor
from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import Kind, Reference
from bigfleet.conformance.reference.shelf import Shelf
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import ListCall, MachineRecord, Mutation, Peer

FEW = 500


class CappedShelf(Shelf):
    def page(self, call: ListCall, cursor: Cursor | None) -> tuple[Sequence[str], Cursor]:
        page, after = super().page(call, cursor)
        return page[:FEW], after


@breaks("List silently capped")
class ListSilentlyCapped(Reference):
    shelf_kind = CappedShelf


class NeighbourShelf(Shelf):
    def changed_after(self, since: int) -> list[str]:
        ids = list(self.records)
        changed = super().changed_after(since)
        near = {ids[(ids.index(machine) + 1) % len(ids)] for machine in changed}
        return [*changed, *(near - set(changed))]


@breaks("delta has neighbours")
class DeltaHasNeighbours(Reference):
    shelf_kind = NeighbourShelf


class RepeatingShelf(Shelf):
    def page(self, call: ListCall, cursor: Cursor | None) -> tuple[Sequence[str], Cursor]:
        page, after = super().page(call, cursor)
        if after.position is not None:
            after = replace(after, position=after.position - 1)
        return page, after


@breaks("page repeats a record")
class PageRepeats(Reference):
    shelf_kind = RepeatingShelf


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
                self.memory.shelf.remove(next(reversed(self.records)))


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
