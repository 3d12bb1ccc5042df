"""Mutants of the strict rows."""

from collections.abc import Iterator
from dataclasses import replace

from bigfleet.conformance.reference.memory import Memory
from bigfleet.conformance.reference.mutants import breaks
from bigfleet.conformance.reference.mutants.answers import Reseeded, WrongAtIdle
from bigfleet.conformance.reference.provider import Kind, Reference
from bigfleet.conformance.reference.record_list import Cursor, RecordList
from bigfleet.conformance.reference.statefile import Damaged, Fact, StateFile
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    ListCall,
    MachineRecord,
    Mutation,
    Peer,
    Rejected,
    Token,
)
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.provider_server import ProviderEndpoint
from bigfleet.wire.rpcs import Answering


@breaks("no zone before Create")
class NoZoneBeforeCreate(Reseeded):
    def bent(self, record: MachineRecord) -> MachineRecord:
        return replace(record, zone="") if record.state is S.SPECULATIVE else record


@breaks("rebinds to another cluster")
class Rebinds(Reference):
    def repeated(self, kind: Kind, call: Mutation, record: MachineRecord) -> str | None:
        if isinstance(call, ConfigureCall) and record.cluster:
            self.publish(self.bound(record, call))
            record = self.records[record.id]
        return super().repeated(kind, call, record)


@breaks("repeat rewrites metadata")
class RepeatRewrites(Reference):
    def repeated(self, kind: Kind, call: Mutation, record: MachineRecord) -> str | None:
        operation = super().repeated(kind, call, record)
        if operation and isinstance(call, ConfigureCall):
            self.publish(self.bound(record, call))
        return operation


@breaks("zone changes at Create")
class ZoneChanges(WrongAtIdle):
    def bent(self, record: MachineRecord) -> MachineRecord:
        return replace(record, zone=f"{record.zone}-real")


@breaks("price not in delta")
class PriceNotInDelta(Reference):
    def price_changed(self, machine: str) -> None:
        record_list = self.memory.record_list
        shown = dict(record_list.changed)
        super().price_changed(machine)
        record_list.changed = shown


@breaks("vanished host stays C")
class VanishedStays(Reference):
    def host_vanished(self, machine: str) -> None:
        """The substrate is not watched."""


@breaks("F is for ever")
class FailedForEver(Reference):
    async def heal(self, machine: str, hold: float) -> None:
        await self.never()


@breaks("stuck DELETING")
class StuckDeleting(Reference):
    def interrupted(self, record: MachineRecord) -> None:
        if record.state is not S.DELETING:
            super().interrupted(record)


class HastyMemory(Memory):
    """Writes go to the journal only once there are many."""

    waiting: list[Fact]

    def _keep(self, *facts: Fact) -> None:
        self.waiting = [*getattr(self, "waiting", ()), *facts]
        if any("seeded" in fact for fact in facts) or len(self.waiting) > 20:
            super()._keep(*self.waiting)
            self.waiting = []


@breaks("ack before write")
class AckBeforeWrite(Reference):
    memory_kind = HastyMemory


class ForgivingFile(StateFile):
    """What cannot be read was never there."""

    def _read(self) -> Iterator[Fact]:
        facts: list[Fact] = []
        try:
            facts.extend(super()._read())
        except Damaged:
            facts.clear()
        yield from facts
        if not any("seeded" in fact for fact in facts):
            yield {"seeded": 0}


@breaks("damage starts empty")
class DamageStartsEmpty(Reference):
    state_kind = ForgivingFile


class TrustingRecordList(RecordList):
    def cursor_of(self, content: bytes) -> Cursor | None:
        head, self.head = self.head, 2**62
        try:
            return super().cursor_of(content)
        finally:
            self.head = head


@breaks("future cursor gives nothing")
class FutureCursor(Reference):
    record_list_kind = TrustingRecordList


@breaks("serving to the end")
class ServingToTheEnd(Reference):
    shows_end = False


@breaks("any name speaks for any shard")
class AnyNameSpeaks(Reference):
    def check_identity(self, token: Token, peer: Peer) -> None:
        """Every certificate is trusted."""


@breaks("health never SERVING")
class HealthNeverServing(Reference):
    shows_start = False


@breaks("marks slow down reads")
class MarksSlowReads(Reference):
    async def get(self, machine_id: str, peer: Peer) -> bytes:
        await self.clock.sleep(len(self.memory.marks) * 1e-4)
        return await super().get(machine_id, peer)


class ForgetfulWalkRecordList(RecordList):
    def page(self, call: ListCall, cursor: Cursor | None) -> tuple[list[str], Cursor]:
        page, after = super().page(call, cursor)
        if cursor is not None and cursor.position is not None and after.position is None:
            after = Cursor(self.head)
        return list(page), after


@breaks("walk forgets changes")
class WalkForgetsChanges(Reference):
    record_list_kind = ForgetfulWalkRecordList


class PickyServing(HandlerRunner):
    """Refuses what it does not know; protobuf by itself would not."""

    def writes(self, method: str, answering: Answering) -> "object":  # type: ignore[override]
        async def picky(request: bytes, peer: Peer) -> bytes:
            if request.endswith(b"\x01x"):
                raise Rejected(Code.INVALID_ARGUMENT, "unknown field")
            return await answering(request, peer)

        return super().writes(method, picky)


@breaks("unknown field refused")
class UnknownFieldRefused(Reference):
    def dress(self, endpoint: ProviderEndpoint) -> None:
        endpoint._serving = PickyServing(secured=False)


@breaks("mutation half done")
class HalfDone(Reference):
    configures = 0

    def accept(
        self, kind: Kind, call: Mutation, record: MachineRecord
    ) -> tuple[str, MachineRecord]:
        self.configures += kind is Kind.CONFIGURE
        if kind is not Kind.CONFIGURE or self.configures % 3:
            return super().accept(kind, call, record)
        half = replace(record, state=S.CONFIGURED, cluster="")
        self.publish(half)
        return self.memory.next_operation(), half
