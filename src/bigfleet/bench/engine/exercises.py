"""What is done once a cycle: a decision, or one of the two snapshots alone.

An exercise prepares outside the stopwatch and runs inside it. None of them executes anything, so
every cycle has the same work before it.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

from bigfleet.bench.engine.workload import NOW, EngineWorkload, machine_at
from bigfleet.bench.timing import Stopwatch
from bigfleet.engine.acquisition import RunWorkers
from bigfleet.engine.decide import decide
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.batches import MachineBatch
from bigfleet.model.machines import Machine
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import EngineOptions

#: Changed machines before the last of B12's three snapshots: a busy second of a large shard.
MANY_CHANGES = 100


class Exercise(Protocol):
    def prepare(self) -> None: ...

    def run(self, stopwatch: Stopwatch) -> int:
        """Do it once and tell the number of actions that came of it."""
        ...

    @property
    def conflict_fraction(self) -> float:
        """Of the proposals of the last run, those that had to be made again."""
        ...


def loaded_inventory(batches: Sequence[MachineBatch]) -> Inventory:
    inventory = Inventory()
    for batch in batches:
        inventory.load(batch)
    return inventory


def loaded_needs(workload: EngineWorkload) -> NeedsTable:
    table = NeedsTable()
    for cluster, needs in workload.needs.items():
        table.replace(cluster, needs)
    return table


@contextmanager
def lent_threads(workers: int) -> Iterator[RunWorkers]:
    """What the engine runs its workers with: threads if there are several, else the caller."""
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as threads:
        yield threads.map


class WholeCycle:
    """Both snapshots and a decision with an empty memory."""

    def __init__(
        self, workload: EngineWorkload, inventory: Inventory, workers: int, run_workers: RunWorkers
    ) -> None:
        self._inventory = inventory
        self._needs = loaded_needs(workload)
        self._options = EngineOptions(workers=workers)
        self._run_workers = run_workers
        self._machines = _first_machines(workload, 1)
        self._cluster, self._cluster_needs = next(iter(workload.needs.items()), ("", ()))
        self.conflict_fraction = 0.0

    def prepare(self) -> None:
        """Write one machine and one cluster anew, as they were: both snapshots are then stale."""
        for machine in self._machines:
            self._inventory.apply(machine, now=NOW)
        self._needs.replace(self._cluster, ())
        self._needs.replace(self._cluster, self._cluster_needs)

    def run(self, stopwatch: Stopwatch) -> int:
        snapshot = self._inventory.snapshot()
        stopwatch.ended("inventory")
        demand = self._needs.snapshot()
        stopwatch.ended("needs")
        decision = decide(
            snapshot,
            demand,
            EngineMemory(),
            self._options,
            NOW,
            run_workers=self._run_workers,
            phase_ended=stopwatch.ended,
        )
        stopwatch.ended("rest")
        counters = decision.counters
        self.conflict_fraction = counters.conflicts / max(1, counters.proposals)
        return decision.action_count


class InventorySnapshot:
    """The first snapshot of a loaded inventory; aside, those after one and after many changes."""

    conflict_fraction = 0.0

    def __init__(self, workload: EngineWorkload) -> None:
        self._batches = workload.batches
        self._machines = _first_machines(workload, MANY_CHANGES)
        self._inventory = Inventory()

    def prepare(self) -> None:
        self._inventory = loaded_inventory(self._batches)

    def run(self, stopwatch: Stopwatch) -> int:
        self._inventory.snapshot()
        stopwatch.ended("cold")
        for changes in (1, MANY_CHANGES):
            for machine in self._machines[:changes]:
                self._inventory.apply(machine, now=NOW)
            stopwatch.resume()
            self._inventory.snapshot()
            stopwatch.aside(f"after-{changes}")
        return 0


class NeedsSnapshot:
    """The snapshot after a cluster withdrew its Needs; aside, a second one without a change."""

    conflict_fraction = 0.0

    def __init__(self, workload: EngineWorkload) -> None:
        self._needs = loaded_needs(workload)
        self._cluster, self._cluster_needs = next(iter(workload.needs.items()))

    def prepare(self) -> None:
        self._needs.replace(self._cluster, self._cluster_needs)
        self._needs.snapshot()
        self._needs.replace(self._cluster, ())

    def run(self, stopwatch: Stopwatch) -> int:
        self._needs.snapshot()
        stopwatch.ended("rebuild")
        self._needs.snapshot()
        stopwatch.aside("clean")
        return 0


def _first_machines(workload: EngineWorkload, count: int) -> list[Machine]:
    rows = ((batch, row) for batch in workload.batches for row in range(len(batch.ids)))
    return [machine_at(batch, row) for (batch, row), _ in zip(rows, range(count), strict=False)]
