"""Mutants of field shape: records with one field wrong."""

from dataclasses import replace

from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import Kind, Reference
from bigfleet.model.machines import CapacityType, Host
from bigfleet.model.provider_calls import MachineRecord, Mutation


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
