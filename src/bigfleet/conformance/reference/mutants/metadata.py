"""Mutants of metadata: cleaned, merged, cut, late or shared maps."""

from dataclasses import replace

from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import EDGES, Kind, Reference
from bigfleet.model.provider_calls import ConfigureCall, MachineRecord, Mutation

SLOW = 0.15


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
