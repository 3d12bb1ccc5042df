"""Mutants of failure: errors swallowed, timeouts missing, reasons that change."""

from dataclasses import replace
from itertools import count

from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import Fault, Kind, Reference
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import ConfigureCall, MachineRecord, Mutation, Peer
from bigfleet.wire.machines import machine_bytes


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
        await self.clock.sleep(self.habits.transition_timeout * 1.5)
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
