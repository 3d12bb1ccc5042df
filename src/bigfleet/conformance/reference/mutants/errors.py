"""Mutants of the transition matrix: calls accepted out of place, and wrong or half refusals."""

from dataclasses import replace

from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import EDGES, MARK, Kind, Reference
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    DrainCall,
    MachineRecord,
    Mutation,
    Peer,
    Rejected,
)
from bigfleet.wire.machines import machine_bytes

#: Long enough that a watcher cannot look away.
SLOW = 0.15


class TooWide(Reference):
    """A kind that accepts one state more than its source."""

    kind: Kind
    source: S

    def check_position(self, kind: Kind, call: Mutation, record: MachineRecord) -> None:
        if kind is not self.kind or record.state is not self.source:
            super().check_position(kind, call, record)


@breaks("Create resets C")
class CreateResetsConfigured(TooWide):
    kind, source = Kind.CREATE, S.CONFIGURED


@breaks("Configure accepts S")
class ConfigureAcceptsSpeculative(TooWide):
    kind, source = Kind.CONFIGURE, S.SPECULATIVE


@breaks("Delete accepts C")
class DeleteAcceptsConfigured(TooWide):
    kind, source = Kind.DELETE, S.CONFIGURED


@breaks("FP for position")
class StaleForPosition(Reference):
    def check_position(self, kind: Kind, call: Mutation, record: MachineRecord) -> None:
        if record.state is not EDGES[kind].source:
            raise Rejected(Code.FAILED_PRECONDITION, "wrong state")


@breaks("repeat restarts work")
class RepeatRestartsWork(Reference):
    def repeated(self, kind: Kind, call: Mutation, record: MachineRecord) -> str | None:
        operation = super().repeated(kind, call, record)
        if operation and record.state is EDGES[kind].target:
            self.latency = SLOW
            self.running[record.id] = operation
            self.publish(replace(record, state=EDGES[kind].via))
            self.start(self.work(kind, call, operation))
        return operation


@breaks("repeat mints id")
class RepeatMintsId(Reference):
    def repeated(self, kind: Kind, call: Mutation, record: MachineRecord) -> str | None:
        return super().repeated(kind, call, record) and self.memory.next_operation()


@breaks("unknown id auto-created")
class UnknownIsCreated(Reference):
    def known(self, kind: Kind, call: Mutation) -> MachineRecord:
        if call.machine_id not in self.records:
            like = next(iter(self.records.values()))
            self.publish(replace(like, id=call.machine_id, state=S.SPECULATIVE, host=None))
        return super().known(kind, call)


@breaks('"" gives NF')
class EmptyIsNotFound(Reference):
    def check_request(self, call: Mutation) -> None:
        if not call.machine_id:
            raise Rejected(Code.NOT_FOUND, "no machine")
        super().check_request(call)


@breaks("map cut to 256 keys")
class MapIsCut(Reference):
    def stored(self, metadata: object) -> dict[str, str]:
        return dict(list(super().stored(metadata).items())[:256])


@breaks("negative grace gives FP")
class NegativeGraceIsStale(Reference):
    def check_request(self, call: Mutation) -> None:
        if isinstance(call, DrainCall) and call.grace_period_seconds < 0:
            raise Rejected(Code.FAILED_PRECONDITION, "grace is negative")
        super().check_request(call)


@breaks("negative token gives FP")
class NegativeTokenIsStale(Reference):
    def check_request(self, call: Mutation) -> None:
        if min(call.token.epoch, call.token.sequence) < 0:
            raise Rejected(Code.FAILED_PRECONDITION, "token is negative")
        super().check_request(call)


@breaks("mark wraps")
class MarkWraps(Reference):
    def set_mark(self, key: tuple[str, str], mark: MARK) -> None:
        epoch, sequence = mark
        super().set_mark(key, ((epoch + 1) % 2**63 - 1, (sequence + 1) % 2**63 - 1))


@breaks("reject leaves CONFIGURING")
class RejectLeavesConfiguring(Reference):
    async def decide(self, kind: Kind, call: Mutation) -> bytes:
        if isinstance(call, ConfigureCall) and len(call.bootstrap_blob) > 2**20:
            self.publish(replace(self.known(kind, call), state=S.CONFIGURING))
            raise Rejected(Code.INVALID_ARGUMENT, "the blob is too big")
        return await super().decide(kind, call)


@breaks("one id per kind")
class OneIdPerKind(Reference):
    def mint(self, kind: Kind, call: Mutation) -> str:
        return f"op-{call.machine_id}-{kind}"


@breaks("Get gives empty record")
class GetGivesEmptyRecord(Reference):
    async def get(self, machine_id: str, peer: Peer) -> bytes:
        if machine_id and machine_id not in self.records:
            return machine_bytes(MachineRecord(machine_id, S.UNSPECIFIED))
        return await super().get(machine_id, peer)
