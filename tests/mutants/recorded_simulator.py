"""A world whose inventory and needs table live on from cycle to cycle, as a shard's do.

Beside what the decisions do, prices move, machines come and go, and clusters report again: the
engine sees it all through the inventory and table it keeps, the oracle through the fleet's records.
"""

from dataclasses import dataclass, field, replace
from random import Random
from unittest.mock import patch

from bigfleet.engine import inventory, needs_table
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.actions import Action
from bigfleet.model.fleet import FleetMachine, FleetNeed
from bigfleet.model.machines import Host, Machine, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.plan.cycle import CycleInput
from tests.closedloop.simulator import Simulator
from tests.generated.agreement import differences
from tests.generated.fleets import fleet_of_seed
from tests.generated.parts import PRICES
from tests.oracle import decide as oracle

_MAY_LEAVE = (MachineState.IDLE, MachineState.SPECULATIVE, MachineState.CONFIGURED)


@dataclass(slots=True)
class RecordedSimulator(Simulator):
    inventory: Inventory = field(default_factory=Inventory)
    table: NeedsTable = field(default_factory=NeedsTable)
    #: Everything the clusters ever asked for: rows may be withdrawn and come back.
    known: dict[str, list[Need]] = field(default_factory=dict)
    reports: int = 0

    def __post_init__(self) -> None:
        Simulator.__post_init__(self)
        for each in self.fleet.machines:
            self.inventory.insert(each.machine, each.marks)
        for row in self.fleet.needs:
            self.known.setdefault(row.need.cluster, []).append(row.need)
        for cluster, needs in self.known.items():
            self.table.replace(cluster, needs)

    def _put(self, machine: Machine) -> None:
        Simulator._put(self, machine)
        self.inventory.apply(machine, now=self.fleet.now)

    def cycle_input(self, workers: int) -> CycleInput:
        fleet = self.fleet
        given = EngineInput(
            0,
            fleet.now,
            self.inventory.snapshot(),
            self.table.freeze(),
            fleet.memory,
            replace(fleet.options, workers=workers),
        )
        return CycleInput(fleet, given, map)

    def be_disturbed(self) -> None:
        """What happens to a fleet beside decisions."""
        for _ in range(2):
            self._a_price_moves()
        if self.chance.random() < 0.3:
            self._a_machine_leaves()
        if self.chance.random() < 0.3:
            self._a_machine_comes()
        if self.chance.random() < 0.5:
            self._a_cluster_reports()
        if self.chance.random() < 0.5:
            self._a_cluster_tells_what_is_empty()

    def _a_price_moves(self) -> None:
        """A provider's refresh: nothing else of the machine changes, nor what the shard marked."""
        steady = [m for m in self.fleet.machines if not m.marks.overdue]
        if not steady:
            return
        each = self.chance.choice(steady)
        machine = replace(each.machine, price_per_hour=self.chance.choice(PRICES))
        changed = FleetMachine(machine, each.marks)
        machines = tuple(changed if m is each else m for m in self.fleet.machines)
        self.fleet = replace(self.fleet, machines=machines)
        self.inventory.apply(machine, now=self.fleet.now)

    def _a_machine_leaves(self) -> None:
        leaving = [m for m in self.fleet.machines if m.machine.state in _MAY_LEAVE]
        if leaving:
            each = self.chance.choice(leaving)
            rest = tuple(m for m in self.fleet.machines if m is not each)
            self.fleet = replace(self.fleet, machines=rest)
            self.inventory.remove(each.machine.id)

    def _a_machine_comes(self) -> None:
        """One like another, with a price of its own and a name somewhere among the others."""
        models = [m for m in self.fleet.machines if m.machine.state in _MAY_LEAVE]
        name = f"m{self.chance.randrange(40):02d}-{self.chance.randrange(10_000)}"
        if not models or any(m.machine.id == name for m in self.fleet.machines):
            return
        like = self.chance.choice(models)
        machine = replace(
            like.machine,
            id=name,
            host=Host() if like.machine.host.empty else Host("sim", name),
            price_per_hour=like.machine.price_per_hour + self.chance.choice((0.0, 0.25)),
        )
        self.fleet = replace(
            self.fleet, machines=(*self.fleet.machines, FleetMachine(machine, like.marks))
        )
        self.inventory.insert(machine, like.marks)

    def _a_cluster_tells_what_is_empty(self) -> None:
        """The whole of it: of what it does not name, nothing is empty any more."""
        serving = [m for m in self.fleet.machines if m.machine.state is MachineState.CONFIGURED]
        if not serving:
            return
        cluster = self.chance.choice(serving).machine.cluster
        told = {m.machine.id for m in serving if self.chance.random() < 0.4}
        self.inventory.report_empty(cluster, told)

        def as_told(each: FleetMachine) -> FleetMachine:
            if each not in serving or each.machine.cluster != cluster:
                return each
            return replace(each, marks=replace(each.marks, empty=each.machine.id in told))

        self.fleet = replace(self.fleet, machines=tuple(map(as_told, self.fleet.machines)))

    def _a_cluster_reports(self) -> None:
        """New rows get the report's time; a row that was there keeps the one it had."""
        if not self.known:
            return
        self.reports += 1
        cluster = self.chance.choice(sorted(self.known))
        asked = [n for n in self.known[cluster] if self.chance.random() < 0.8]
        self.chance.shuffle(asked)
        reported = [replace(n, arrival_unix_nanos=10 - self.reports) for n in asked]
        first: dict[NeedKey, int] = {
            row.need.key: row.need.arrival_unix_nanos for row in self.fleet.needs
        }
        kept = [
            replace(n, arrival_unix_nanos=first.get(n.key, n.arrival_unix_nanos)) for n in reported
        ]
        others = tuple(row for row in self.fleet.needs if row.need.cluster != cluster)
        self.fleet = replace(self.fleet, needs=others + tuple(FleetNeed(n) for n in kept))
        self.table.replace(cluster, reported)


def loop_disagreement(seed: int) -> str | None:
    """The first difference between an engine that keeps its inputs and the oracle, in words.

    In every other loop the engine's tables start anew after a few rows instead of thousands.
    """
    if seed % 2:
        return _disagreement_of(seed)
    with (
        patch.object(inventory, "_FEW_ROWS", 4),
        patch.object(needs_table, "_GARBAGE_FACTOR", 0),
        patch.object(needs_table, "_GARBAGE_BYTES", 0),
    ):
        return _disagreement_of(seed)


def _disagreement_of(seed: int, cycles: int = 12) -> str | None:
    chance = Random(seed)
    slowest, seconds = chance.choice((0, 2)), chance.choice((7, 30))
    world = RecordedSimulator(fleet_of_seed(seed), chance, slowest, seconds)
    remembered: tuple[CycleInput, tuple[Action, ...]] | None = None
    for cycle in range(cycles):
        given = world.cycle_input(workers=1)
        decision = given.in_file_order(given.decide())
        found = differences(decision, oracle.decide(world.fleet))
        if found:
            return f"cycle {cycle}: {found[0]}"
        if remembered is not None and remembered[0].decide().actions != remembered[1]:
            return f"cycle {cycle}: an earlier snapshot has changed"
        # Every other snapshot is dropped before the next one, so that its columns are used again.
        remembered = (given, decision.actions) if cycle % 4 < 2 else None
        del given, decision
        world.run_cycle(oracle.decide)
        world.be_disturbed()
    return None
