"""Mutants of what callers read: records, Lists and cursors."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from unicodedata import normalize

from bigfleet.conformance.reference.mutants import breaks
from bigfleet.conformance.reference.mutants.transitions import TooWide
from bigfleet.conformance.reference.provider import MARK, Kind, Reference
from bigfleet.conformance.reference.record_list import Cursor, RecordList
from bigfleet.model.machines import CapacityType, Host
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    ListCall,
    MachineRecord,
    Mutation,
    Peer,
    Rejected,
)


class Reseeded(Reference):
    """Slots that are wrong from the start."""

    def prepare(self) -> None:
        super().prepare()
        for record in list(self.records.values()):
            self.publish(self.bent(record))

    def bent(self, record: MachineRecord) -> MachineRecord:
        raise NotImplementedError


@breaks("type in labels")
class TypeInLabels(Reseeded):
    def bent(self, record: MachineRecord) -> MachineRecord:
        return replace(record, labels={**record.labels, "instance-type": record.instance_type})


@breaks("spot at 0")
class SpotAtZero(Reseeded):
    def bent(self, record: MachineRecord) -> MachineRecord:
        if record.capacity_type is CapacityType.SPOT:
            return replace(record, interruption_probability=0.0)
        return record


@breaks('resources "0"')
class ZeroResources(Reseeded):
    def bent(self, record: MachineRecord) -> MachineRecord:
        return replace(record, resources={**record.resources, "cpu": "0"})


class WrongAtIdle(Reference):
    """Create makes an Idle machine with one field missing."""

    def landed(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        landed = super().landed(kind, call, record)
        return self.bent(landed) if kind is Kind.CREATE else landed

    def bent(self, record: MachineRecord) -> MachineRecord:
        raise NotImplementedError


@breaks("I without host")
class IdleWithoutHost(WrongAtIdle):
    def bent(self, record: MachineRecord) -> MachineRecord:
        return replace(record, host=None)


@breaks("zone lost at Create")
class ZoneLost(WrongAtIdle):
    def bent(self, record: MachineRecord) -> MachineRecord:
        return replace(record, zone="")


@breaks("provider renamed at C")
class ProviderRenamed(Reference):
    def landed(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        landed = super().landed(kind, call, record)
        if kind is Kind.CONFIGURE and landed.host:
            return replace(landed, host=Host("another", landed.host.ref))
        return landed


@breaks("delete keeps host")
class DeleteKeepsHost(Reference):
    def deleted(self, record: MachineRecord) -> MachineRecord:
        return replace(super().deleted(record), host=record.host)


@breaks("only first state used")
class OnlyFirstState(Reference):
    async def list(self, call: ListCall, peer: Peer) -> bytes:
        return await super().list(replace(call, states=call.states[:1]), peer)


@breaks("cap + 1")
class CapPlusOne(Reference):
    async def list(self, call: ListCall, peer: Peer) -> bytes:
        cap = call.max_results + 1 if call.max_results else 0
        return await super().list(replace(call, max_results=cap), peer)


@breaks("Create not in delta")
class CreateNotInDelta(Reference):
    def accept(
        self, kind: Kind, call: Mutation, record: MachineRecord
    ) -> tuple[str, MachineRecord]:
        accepted = super().accept(kind, call, record)
        self.hide(kind, record.id)
        return accepted

    def finish(self, kind: Kind, call: Mutation, operation: str) -> None:
        super().finish(kind, call, operation)
        self.hide(kind, call.machine_id)

    def hide(self, kind: Kind, machine: str) -> None:
        """Put the change before all others, where no cursor looks."""
        if kind is Kind.CREATE:
            changed = self.memory.record_list.changed
            changed.pop(machine)
            later = dict(changed)
            changed.clear()
            changed[machine] = 0
            changed.update(later)


class InclusiveRecordList(RecordList):
    def changed_after(self, since: int) -> list[str]:
        return super().changed_after(since - 1)


@breaks("since inclusive")
class SinceInclusive(Reference):
    record_list_kind = InclusiveRecordList


class ForgetfulRecordList(RecordList):
    def changed_after(self, since: int) -> list[str]:
        return super().changed_after(since)[-1:]


@breaks("only last delta kept")
class OnlyLastDelta(Reference):
    record_list_kind = ForgetfulRecordList


class PedanticRecordList(RecordList):
    def cursor_of(self, content: bytes) -> Cursor | None:
        cursor = super().cursor_of(content)
        if content and cursor is None:
            raise Rejected(Code.INVALID_ARGUMENT, "no cursor of ours")
        return cursor


@breaks("junk gives error")
class JunkGivesError(Reference):
    record_list_kind = PedanticRecordList


class LossyRecordList(RecordList):
    def delta(self, call: ListCall, since: int, cap: int) -> tuple[Sequence[str], Cursor]:
        page, cursor = super().delta(call, since, cap)
        return (page[:-1], cursor) if cap and len(page) == cap else (page, cursor)


@breaks("one record lost per page")
class RecordLostPerPage(Reference):
    record_list_kind = LossyRecordList


@breaks("refresh bumps")
class RefreshBumps(Reference):
    """A look at the substrate that finds nothing new and is published all the same."""

    def prepare(self) -> None:
        super().prepare()
        asyncio.get_running_loop().call_soon(lambda: self.start(self.refresh()))

    async def refresh(self) -> None:
        while True:
            await self.clock.sleep(0.02)
            record_list = self.memory.record_list
            record_list.head += 1
            for machine in [m for m, record in self.records.items() if record.state is S.IDLE]:
                record_list.changed.pop(machine)
                record_list.changed[machine] = record_list.head


class PrefixRecordList(RecordList):
    def cursor_of(self, content: bytes) -> Cursor | None:
        for length in range(len(content), 0, -1):
            if cursor := super().cursor_of(content[:length]):
                return cursor
        return None


@breaks("prefix parse")
class PrefixParse(Reference):
    record_list_kind = PrefixRecordList


@breaks("tokens compared as text")
class TokensAsText(Reference):
    def newer(self, token: MARK, mark: MARK) -> bool:
        return tuple(map(str, token)) > tuple(map(str, mark))


@breaks("Unicode NFC applied")
class UnicodeNormalised(Reference):
    def stored(self, metadata: object) -> dict[str, str]:
        return {
            normalize("NFC", key): normalize("NFC", text)
            for key, text in super().stored(metadata).items()
        }


@breaks("Drain on S accepted")
class DrainAcceptsSpeculative(TooWide):
    kind, source = Kind.DRAIN, S.SPECULATIVE


@breaks("mark per machine")
class MarkPerMachine(Reference):
    def mark_key(self, call: Mutation) -> tuple[str, str]:
        return ("", call.machine_id)


@breaks("big map gives FP")
class BigMapIsStale(Reference):
    def check_request(self, call: Mutation) -> None:
        if isinstance(call, ConfigureCall) and len(call.shard_metadata) >= 400:
            raise Rejected(Code.FAILED_PRECONDITION, "too much metadata")
        super().check_request(call)
