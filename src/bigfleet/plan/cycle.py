"""One cycle over a fleet's records: the engine's inputs built from them, its verdicts put back into
the order of the file. Decides nothing itself.
"""

from dataclasses import dataclass, replace

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.engine.decision import Counters, Decision, Verdict
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.actions import Action
from bigfleet.model.fleet import Fleet
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need


@dataclass(frozen=True, slots=True)
class FileDecision:
    """A decision whose verdicts name needs by their place in the file."""

    actions: tuple[Action, ...]
    #: `members` are positions in `Fleet.needs`, ascending.
    verdicts: tuple[Verdict, ...]
    memory: EngineMemory
    counters: Counters


@dataclass(frozen=True, slots=True)
class CycleInput:
    """What the engine is given, ready to be decided on."""

    fleet: Fleet
    given: EngineInput
    run_workers: RunWorkers

    def decide(self) -> Decision:
        return self.given.decide(run_workers=self.run_workers)

    def in_file_order(self, decision: Decision) -> FileDecision:
        """A need's identity is unique in a file, so it leads from the engine's order to it."""
        index_of_key = {row.need.key: index for index, row in enumerate(self.fleet.needs)}
        place_of = [index_of_key[need.key] for need in self.given.needs.demand]
        verdicts = tuple(
            replace(verdict, members=tuple(sorted(place_of[m] for m in verdict.members)))
            for verdict in decision.verdicts
        )
        return FileDecision(decision.actions, verdicts, decision.memory, decision.counters)


def cycle_input(fleet: Fleet, *, workers: int = 1, run_workers: RunWorkers = map) -> CycleInput:
    """`run_workers` lends the engine threads; without them it uses its own, one after another."""
    given = engine_input_of(fleet)
    given = replace(given, options=replace(given.options, workers=workers))
    return CycleInput(fleet, given, run_workers)


def engine_input_of(fleet: Fleet) -> EngineInput:
    inventory = Inventory()
    for entry in fleet.machines:
        inventory.insert(entry.machine, entry.marks)
    table = NeedsTable()
    needs_of_cluster: dict[str, list[Need]] = {}
    for row in fleet.needs:
        needs_of_cluster.setdefault(row.need.cluster, []).append(row.need)
    for cluster, needs in needs_of_cluster.items():
        table.replace(cluster, needs)
    cycle = fleet.provenance.cycle.rpartition(":")[2]
    return EngineInput(
        int(cycle) if cycle.isdecimal() else 0,
        fleet.now,
        inventory.snapshot(),
        table.freeze(),
        fleet.memory,
        fleet.options,
    )


def decide_fleet(fleet: Fleet, *, workers: int = 1) -> FileDecision:
    given = cycle_input(fleet, workers=workers)
    return given.in_file_order(given.decide())
