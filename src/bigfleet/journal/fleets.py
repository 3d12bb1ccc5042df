"""The input of a cycle as the records of a fleet file: `bigfleet plan` on it decides the same."""

from dataclasses import replace

from bigfleet.engine.encoding import machine_at
from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.fleet import Fleet, FleetNeed, Provenance
from bigfleet.model.journal import JournalHeader


def fleet_of(given: EngineInput, header: JournalHeader) -> Fleet:
    snapshot = given.snapshot
    return Fleet(
        machines=tuple(machine_at(snapshot, row) for row in range(len(snapshot))),
        needs=tuple(FleetNeed(need) for need in given.needs.demand),
        now=given.now,
        options=replace(given.options, workers=1),
        memory=given.memory,
        provenance=Provenance(
            header.shard_id,
            f"{header.epoch}:{given.cycle}",
            header.engine_version,
            given.at,
        ),
    )
