"""Equal maps of many machines kept once: a hundred thousand slots have a few dozen shapes."""

import sys
from collections.abc import Mapping
from dataclasses import replace

from bigfleet.model.provider_calls import MachineRecord

#: Maps seen more often than this differ anyway (labels with host names): only their keys are kept.
_LIMIT = 4096


class SharedMaps:
    def __init__(self) -> None:
        self._seen: dict[frozenset[tuple[str, str]], Mapping[str, str]] = {}

    def shared(self, mapping: Mapping[str, str]) -> Mapping[str, str]:
        key = frozenset(mapping.items())
        found = self._seen.get(key)
        if found is not None:
            return found
        kept = {sys.intern(name): sys.intern(value) for name, value in mapping.items()}
        if len(self._seen) < _LIMIT:
            self._seen[key] = kept
        return kept

    def record(self, record: MachineRecord) -> MachineRecord:
        return replace(
            record,
            instance_type=sys.intern(record.instance_type),
            zone=sys.intern(record.zone),
            resources=self.shared(record.resources),
            allocatable=self.shared(record.allocatable),
            labels=self.shared(record.labels),
            shard_metadata=self.shared(record.shard_metadata),
        )
