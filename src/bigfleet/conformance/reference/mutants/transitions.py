"""Mutants of the lifecycle: wrong states, wrong refusals, and what is kept or lost on the way."""

from dataclasses import replace
from itertools import count

from bigfleet.conformance.reference.mutants import breaks
from bigfleet.conformance.reference.provider import EDGES, MARK, Fault, Kind, Reference
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
#: Long enough to be seen settled first, and shorter than the window in which it must rest.
SETTLED_FOR = 0.04


@breaks("drain keeps metadata")
class DrainKeepsMetadata(Reference):
    def drained(self, record: MachineRecord) -> MachineRecord:
        return replace(record, cluster="")


class WrongWay(Reference):
    """A transition that shows another one's state."""

    kind: Kind
    shown: S

    async def actuate(self, kind: Kind, call: Mutation, operation: str) -> None:
        if kind is self.kind:
            self.latency = SLOW
            self.publish(replace(self.records[call.machine_id], state=self.shown))
        await super().actuate(kind, call, operation)


@breaks("configure shows DRAINING")
class ConfigureShowsDraining(WrongWay):
    kind, shown = Kind.CONFIGURE, S.DRAINING


@breaks("drain shows CONFIGURING")
class DrainShowsConfiguring(WrongWay):
    kind, shown = Kind.DRAIN, S.CONFIGURING


@breaks("delete shows DRAINING")
class DeleteShowsDraining(WrongWay):
    kind, shown = Kind.DELETE, S.DRAINING


@breaks("Create lands in C")
class CreateLandsConfigured(Reference):
    def landed(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        landed = super().landed(kind, call, record)
        return replace(landed, state=S.CONFIGURED) if kind is Kind.CREATE else landed


@breaks("binding only at C")
class BindingOnlyAtConfigured(Reference):
    def entered(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        self.latency = SLOW
        return replace(record, state=EDGES[kind].via)

    def landed(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        landed = super().landed(kind, call, record)
        return self.bound(landed, call) if isinstance(call, ConfigureCall) else landed


@breaks("drain drops host")
class DrainDropsHost(Reference):
    def drained(self, record: MachineRecord) -> MachineRecord:
        return replace(super().drained(record), host=None)


@breaks("machine flaps once")
class MachineFlapsOnce(Reference):
    def finish(self, kind: Kind, call: Mutation, operation: str) -> None:
        super().finish(kind, call, operation)
        if kind in (Kind.CONFIGURE, Kind.DRAIN):
            self.start(self.flap(call.machine_id))

    async def flap(self, machine: str) -> None:
        await self.clock.sleep(SETTLED_FOR)
        settled = self.records[machine]
        self.publish(replace(settled, state=S.CONFIGURING))
        await self.clock.sleep(SLOW)
        self.publish(settled)


#: Long enough that a watcher cannot look away.


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


@breaks("error reverts to I")
class ErrorReverts(Reference):
    def failed(self, record: MachineRecord, why: str) -> MachineRecord:
        if record.state is S.CONFIGURING:
            return self.drained(replace(record, state=S.IDLE))
        return super().failed(record, why)


@breaks("create error ignored")
class CreateErrorIgnored(Reference):
    async def actuate(self, kind: Kind, call: Mutation, operation: str) -> None:
        try:
            await super().actuate(kind, call, operation)
        except Fault:
            if kind is not Kind.CREATE:
                raise


@breaks("no timeout")
class NoTimeout(Reference):
    def fail(self, machine: str, operation: str, why: str) -> None:
        if not why.startswith("timeout"):
            super().fail(machine, operation, why)


@breaks("late success applied")
class LateSuccessApplied(Reference):
    async def finish_late(self, call: ConfigureCall, operation: str) -> None:
        await self.clock.sleep(self.settings.transition_timeout * 1.5)
        self.running[call.machine_id] = operation
        self.finish(Kind.CONFIGURE, call, operation)


@breaks("F restarts")
class FailedRestarts(Reference):
    def check_position(self, kind: Kind, call: Mutation, record: MachineRecord) -> None:
        if record.state is not S.FAILED:
            super().check_position(kind, call, record)

    def repeated(self, kind: Kind, call: Mutation, record: MachineRecord) -> str | None:
        return None if record.state is S.FAILED else super().repeated(kind, call, record)


@breaks("drain error hangs")
class DrainErrorHangs(Reference):
    def fail(self, machine: str, operation: str, why: str) -> None:
        if self.records[machine].state is not S.DRAINING:
            super().fail(machine, operation, why)


@breaks("last_error rewritten")
class LastErrorRewritten(Reference):
    reads = count()

    async def get(self, machine_id: str, peer: Peer) -> bytes:
        record = self.records.get(machine_id)
        if record is not None and record.last_error:
            said = f"{record.last_error} (read {next(self.reads)})"
            return machine_bytes(replace(record, last_error=said))
        return await super().get(machine_id, peer)


@breaks("no readiness gate")
class NoReadinessGate(Reference):
    async def wait_for_readiness(self) -> None:
        await self.clock.sleep(0)


@breaks("NUL stripped")
class NulStripped(Reference):
    def stored(self, metadata: object) -> dict[str, str]:
        stored = super().stored(metadata)
        return {key: text.replace("\x00", "") for key, text in stored.items()}


@breaks("maps merged")
class MapsMerged(Reference):
    old: dict[str, dict[str, str]]

    def prepare(self) -> None:
        super().prepare()
        self.old = {}

    def bound(self, record: MachineRecord, call: ConfigureCall) -> MachineRecord:
        merged = {**self.old.get(record.id, {}), **call.shard_metadata}
        self.old[record.id] = merged
        return replace(super().bound(record, call), shard_metadata=merged)


@breaks("values cut at 4 KiB")
class ValuesCut(Reference):
    def stored(self, metadata: object) -> dict[str, str]:
        return {key: text[:4096] for key, text in super().stored(metadata).items()}


@breaks("metadata late")
class MetadataLate(Reference):
    def entered(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        self.latency = SLOW
        entered = super().entered(kind, call, record)
        return replace(entered, shard_metadata={}) if kind is Kind.CONFIGURE else entered

    def landed(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        landed = super().landed(kind, call, record)
        assert landed.state is EDGES[kind].target
        return self.bound(landed, call) if isinstance(call, ConfigureCall) else landed


@breaks("one shared map")
class OneSharedMap(Reference):
    """Every assignment is read from one map, which each Configure overwrites."""

    shared: dict[str, str]

    def prepare(self) -> None:
        super().prepare()
        self.shared = {}

    def stored(self, metadata: object) -> dict[str, str]:
        self.shared.update(super().stored(metadata))
        for record in list(self.records.values()):
            if record.cluster:
                self.publish(replace(record, shard_metadata=dict(self.shared)))
        return dict(self.shared)
