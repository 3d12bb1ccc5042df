"""Mutants of the lifecycle: wrong states on the way, and what is kept or lost at its ends."""

from dataclasses import replace

from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import EDGES, Kind, Reference
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import ConfigureCall, MachineRecord, Mutation

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
