"""What each cycle of a shard costs: by the clock, in CPU time of the threads that work on it, and
in memory that was not there yet.

A cycle is its beginning and its end in the event loop, and the decision in the engine's thread. CPU
time does not hold waits for a processor or for another thread; a page fault is memory the cycle
had to be given.
"""

import resource
import time
from collections.abc import Callable
from typing import NamedTuple

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.model.machines import Instant
from bigfleet.shard.cycle import CycleInput, Deliberation, deliberate
from bigfleet.shard.driving import cycles as driving_cycles
from bigfleet.shard.instructions import Instruction
from bigfleet.shard.state import ShardState


class CycleCost(NamedTuple):
    seconds: float
    cpu: float
    faults: int
    #: CPU seconds of the engine's own thread.
    engine: float


class Spending:
    """Of the thread that asks, since it was made."""

    def __init__(self) -> None:
        self._cpu, self._faults = time.thread_time(), _faults()

    def so_far(self) -> tuple[float, int]:
        return time.thread_time() - self._cpu, _faults() - self._faults


class CycleWatch:
    def __init__(self, state: ShardState) -> None:
        self._began = 0.0
        self._cpu, self._engine, self._faults = 0.0, 0.0, 0
        self._costs: list[CycleCost] = []
        self._begin, self._end = state.begin_cycle, state.end_cycle
        # Only a load test looks at this.
        setattr(state, "begin_cycle", self._on_begin)  # noqa: B010
        setattr(state, "end_cycle", self._on_end)  # noqa: B010
        setattr(driving_cycles, "deliberate", self._deliberate)  # noqa: B010

    def taken(self) -> list[CycleCost]:
        """Of the cycles since it was last asked."""
        costs, self._costs = self._costs, []
        return costs

    def _on_begin(self, at: Instant) -> CycleInput:
        self._began = time.perf_counter()
        self._cpu, self._faults = 0.0, 0
        spending = Spending()
        given = self._begin(at)
        self._add(spending)
        return given

    def _deliberate(
        self, given: CycleInput, run_workers: RunWorkers, clock: Callable[[], float]
    ) -> Deliberation:
        """In the engine's thread, while the loop waits for it."""
        spending = Spending()
        thought = deliberate(given, run_workers, clock)
        self._engine = self._add(spending)
        return thought

    def _on_end(self, thought: Deliberation, at: Instant, seconds: float) -> list[Instruction]:
        spending = Spending()
        instructions = self._end(thought, at, seconds)
        self._add(spending)
        took = time.perf_counter() - self._began
        self._costs.append(CycleCost(took, self._cpu, self._faults, self._engine))
        return instructions

    def _add(self, spending: Spending) -> float:
        cpu, faults = spending.so_far()
        self._cpu += cpu
        self._faults += faults
        return cpu


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
