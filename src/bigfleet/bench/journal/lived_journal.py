"""A journal as a fleet writes it: demand changes every second, and machines do what is decided.

Every second some Needs grow or shrink by a tenth, of a unit at least; what is
bought, bound, drained and released for it takes the latencies that a what-if assumes. The same life
with every run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from math import floor
from pathlib import Path
from random import Random

from bigfleet.bench.engine.exercises import loaded_inventory
from bigfleet.bench.engine.workload import NOW, EngineWorkload
from bigfleet.bench.measures import Say
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.latencies import Latencies
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.resources import Resources
from bigfleet.whatif.moving import MovingMachines

SEED = 1
#: Changes of demand in a minute, for each machine.
CHURN_A_MINUTE = 0.02
#: Tenths that a Need has more than it began with, at most.
SWING = 4
#: Cycles after which a fleet has settled, whether or not it goes on moving machines.
LONGEST_SETTLING = 1200


@dataclass(frozen=True, slots=True)
class LivedJournal:
    machines: int
    needs: int
    cycles: int
    #: Cycles that decided something, and how much all of them did.
    deciding_cycles: int
    actions: int
    written_bytes: int


def live(workload: EngineWorkload, directory: Path, cycles: int, say: Say) -> LivedJournal:
    file = JournalFile(directory, "shard-0", 1, "bench", JournalLimits())
    file.prepare()
    actions = deciding = 0
    for number, cycle in enumerate(islice(_cycles(workload), cycles), 1):
        say(f"cycle {number} of {cycles} lived")
        file.record(cycle, cycle.given.at)
        actions += cycle.decision.action_count
        deciding += bool(cycle.decision.action_count)
    file.close()
    return LivedJournal(
        workload.machine_count,
        workload.need_count,
        cycles,
        deciding,
        actions,
        file.written_bytes,
    )


def _cycles(workload: EngineWorkload) -> Iterator[FinishedCycle]:
    """For ever, from when the fleet has settled: a day does not begin with one that just came."""
    demand = _ChangingDemand(workload)
    machines = MovingMachines(loaded_inventory(workload.batches).snapshot(), Latencies())
    memory, is_settled = EngineMemory(), False
    for number in count(1):
        elapsed, now = number * SECOND, NOW + number * SECOND
        machines.finish(elapsed, now)
        given = EngineInput(
            number, now, machines.snapshot(), demand.needs.freeze(), memory, EngineOptions()
        )
        decision = given.decide()
        memory = decision.memory
        machines.start(decision, elapsed)
        is_settled |= number > LONGEST_SETTLING
        is_settled |= not decision.action_count and not machines.are_moving
        if is_settled:
            yield FinishedCycle(given, decision)
            demand.change()


class _ChangingDemand:
    def __init__(self, workload: EngineWorkload) -> None:
        self._chance = Random(SEED)
        self._began = workload.needs
        self._demand: dict[str, list[Need]] = {c: [*n] for c, n in workload.needs.items()}
        #: Of each Need, how many tenths it has more than it began with.
        self._more = {c: [0] * len(n) for c, n in workload.needs.items()}
        self._a_cycle = workload.machine_count * CHURN_A_MINUTE / 60
        self._clusters = sorted(self._demand)
        self.needs = NeedsTable()
        for cluster, needs in self._demand.items():
            self.needs.replace(cluster, needs)

    def change(self) -> None:
        whole = floor(self._a_cycle)
        some = whole + (self._chance.random() < self._a_cycle - whole)
        for _ in range(some):
            self._change_one(self._chance.choice(self._clusters))

    def _change_one(self, cluster: str) -> None:
        needs, more = self._demand[cluster], self._more[cluster]
        place = self._chance.randrange(len(needs))
        step = self._chance.choice((-1, 1))
        more[place] = abs(more[place] + step) if more[place] < SWING else SWING - 1
        began = self._began[cluster][place]
        grown = began.aggregate.plus(_tenth_of(began).times(more[place]))
        needs[place] = replace(began, aggregate=grown)
        self.needs.replace(cluster, needs)


def _tenth_of(need: Need) -> Resources:
    """In whole units."""
    name = next(iter(need.min_unit))
    units = need.aggregate[name] // need.min_unit[name]
    return need.min_unit.times(max(1, units // 10))
