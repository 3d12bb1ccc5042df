"""A fleet that lives: machines take their time, demand changes, machines come and go."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Held, HeldBy
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from tests.closedloop.simulator import Simulator
from tests.generated.fleets import fleet_of_seed

START = 1_767_225_600 * SECOND


class LivingFleet:
    """Keeps an inventory and a table of Needs as a shard does: only what changes is written."""

    def __init__(self, seed: int, changed: Callable[[Fleet], Fleet] = lambda fleet: fleet) -> None:
        self.chance = Random(seed)
        fleet = changed(fleet_of_seed(seed))
        self.simulator = Simulator(replace(fleet, now=START), self.chance)
        self.inventory = Inventory()
        self.needs = NeedsTable()
        self._machines: dict[str, FleetMachine] = {}
        self._demand: dict[str, tuple[Need, ...]] = {}
        self.cycle = 0

    def cycles(self, count: int) -> Iterator[FinishedCycle]:
        for _ in range(count):
            self._disturb()
            self._catch_up()
            self.cycle += 1
            finished: list[FinishedCycle] = []

            def decide(fleet: Fleet, into: list[FinishedCycle] = finished) -> Decision:
                given = EngineInput(
                    self.cycle,
                    fleet.now or START,
                    self.inventory.snapshot(),
                    self.needs.freeze(),
                    fleet.memory,
                    fleet.options,
                )
                decision = given.decide()
                into.append(FinishedCycle(given, decision))
                return decision

            self.simulator.run_cycle(decide)
            yield finished[0]

    def restart(self) -> None:
        """The shard begins anew: with an empty memory, and what it lists and is told again."""
        self.inventory, self.needs = Inventory(), NeedsTable()
        self._machines, self._demand = {}, {}
        self.simulator.fleet = replace(self.simulator.fleet, memory=EngineMemory())
        self.cycle = 0

    def run_out(self) -> int:
        """Some offers are held after a failed order, others are free again; how many are held."""
        fleet, chance = self.simulator.fleet, self.chance
        machines = [
            replace(entry, marks=replace(entry.marks, held=_held(entry, chance)))
            for entry in fleet.machines
        ]
        self.simulator.fleet = replace(fleet, machines=tuple(machines))
        return sum(entry.marks.held is not None for entry in machines)

    def _disturb(self) -> None:
        fleet, chance = self.simulator.fleet, self.chance
        if chance.random() < 0.3 and fleet.needs:
            place = chance.randrange(len(fleet.needs))
            row = fleet.needs[place]
            needs = list(fleet.needs)
            if chance.random() < 0.3:
                del needs[place]
            else:
                doubled = replace(row.need, aggregate=row.need.aggregate.plus(row.need.aggregate))
                needs[place] = FleetNeed(doubled, row.name)
            self.simulator.fleet = replace(fleet, needs=tuple(needs))
        fleet = self.simulator.fleet
        free = [m for m in fleet.machines if m.machine.id not in self.simulator.left]
        if chance.random() < 0.1 and free:
            gone = chance.choice(free).machine.id
            left = tuple(m for m in fleet.machines if m.machine.id != gone)
            self.simulator.fleet = replace(fleet, machines=left)

    def _catch_up(self) -> None:
        fleet = self.simulator.fleet
        now = {entry.machine.id: entry for entry in fleet.machines}
        gone = [name for name in self._machines if name not in now]
        if gone:
            self.inventory.remove_all(gone)
        for name, entry in now.items():
            before = self._machines.get(name)
            if before is None:
                self.inventory.insert(entry.machine, entry.marks)
            elif before != entry:
                self.inventory.apply(entry.machine, adopted=True)
                self.inventory.mark(name, entry.marks)
        self._machines = now
        demand: dict[str, list[Need]] = {}
        for row in fleet.needs:
            demand.setdefault(row.need.cluster, []).append(row.need)
        for cluster in {*demand, *self._demand}:
            needs = tuple(demand.get(cluster, ()))
            if needs != self._demand.get(cluster):
                self.needs.replace(cluster, needs)
        self._demand = {cluster: tuple(needs) for cluster, needs in demand.items()}


def _held(entry: FleetMachine, chance: Random) -> Held | None:
    if entry.machine.state is not MachineState.SPECULATIVE:
        return entry.marks.held
    return Held(HeldBy.BACKOFF) if chance.random() < 0.2 else None
