"""Result: what one run of one shape showed; its fields are the keys of `-o json`.

Runs one shape: load, warm up, measure, and say what it cost.

A measured cycle is an inventory snapshot, a needs snapshot and a decision with an empty memory,
after one machine and one cluster were written again; reconcile and execution are not part of it.
Actions stay columns: making records of them is not timed. The collector runs between cycles and
never inside one.
"""

import gc
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from cProfile import Profile
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from bigfleet.bench.engine.exercises import (
    Exercise,
    InventorySnapshot,
    NeedsSnapshot,
    WholeCycle,
    lent_threads,
    loaded_inventory,
)
from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.engine.workload import EngineWorkload, Measure, Shape
from bigfleet.bench.timing import Stopwatch, percentile_ms, unit_ms
from bigfleet.edge.process_usage import cores, resident_bytes
from bigfleet.engine.acquisition import RunWorkers
from bigfleet.engine.inventory import Inventory


@dataclass(frozen=True, slots=True)
class Result:
    shape: str
    #: `full`: every cycle decides everything anew.
    mode: str
    workers: int
    cores: int
    machines: int
    needs: int
    cycles: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    #: p50 of each part, by name, in the order they ran.
    phases: Mapping[str, float]
    actions: int
    #: Of the proposals of Phase 1, the part that found its machines taken and was made again.
    conflict_fraction: float
    rss_mb: float
    bytes_per_machine: float
    warmup_s: float
    unit_ms: float

    @property
    def machines_per_second(self) -> float:
        return self.machines * 1000 / self.p50_ms

    @property
    def needs_per_second(self) -> float:
        return self.needs * 1000 / self.p50_ms

    def json_line(self) -> str:
        return json.dumps(asdict(self), default=float)


DEFAULT_CYCLES = 11

#: Called with what is going on, the measured cycles done, and how many there will be.
OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Request:
    shape: str
    scale: float = 1.0
    cycles: int = DEFAULT_CYCLES
    workers: int = 1
    #: Where to write a pstats file of the measured cycles; timings then include the profiler.
    profile: Path | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    stopwatch: Stopwatch
    warmup_s: float
    actions: int


def silent(step: str, done: int, total: int) -> None:
    """For runs without a terminal."""


def run(request: Request, on_progress: OnProgress = silent) -> Result:
    shape = SHAPES[request.shape]
    on_progress("load", 0, request.cycles)
    inventory, bytes_per_machine = _weighed_inventory(shape, request.scale)
    workload = shape.build(request.scale)
    with lent_threads(request.workers) as run_workers:
        exercise = _exercise_of(shape, workload, inventory, request.workers, run_workers)
        measured = _measure(exercise, request, on_progress)
        resident = resident_bytes()
    times = measured.stopwatch.cycles
    return Result(
        shape=shape.name,
        mode="full",
        workers=request.workers,
        cores=cores(),
        machines=workload.machine_count,
        needs=workload.need_count,
        cycles=len(times),
        p50_ms=round(percentile_ms(times, 0.5), 4),
        p99_ms=round(percentile_ms(times, 0.99), 4),
        max_ms=round(percentile_ms(times, 1.0), 4),
        phases={part: round(ms, 4) for part, ms in measured.stopwatch.p50_ms_of_parts().items()},
        actions=measured.actions,
        conflict_fraction=round(exercise.conflict_fraction, 4),
        rss_mb=round(resident / 2**20, 1),
        bytes_per_machine=round(bytes_per_machine, 1),
        warmup_s=round(measured.warmup_s, 3),
        unit_ms=round(unit_ms(), 3),
    )


def _weighed_inventory(shape: Shape, scale: float) -> tuple[Inventory, float]:
    """The loaded inventory, and the resident bytes it and one snapshot added per machine.

    The workload built here is dropped again, so that only the inventory is weighed: ids, which the
    two share, must count, and Needs must not.
    """
    # The kernels of a first snapshot take memory of their own: have them before weighing.
    loaded_inventory(SHAPES["B12"].build(0.001).batches).snapshot()
    gc.collect()
    before = resident_bytes()
    inventory = loaded_inventory(shape.build(scale).batches)
    snapshot = inventory.snapshot()
    gc.collect()
    grown = resident_bytes() - before
    return inventory, max(0, grown) / len(snapshot) if len(snapshot) else 0.0


def _exercise_of(
    shape: Shape,
    workload: EngineWorkload,
    inventory: Inventory,
    workers: int,
    run_workers: RunWorkers,
) -> Exercise:
    match shape.measure:
        case Measure.INVENTORY_SNAPSHOT:
            return InventorySnapshot(workload)
        case Measure.NEEDS_SNAPSHOT:
            return NeedsSnapshot(workload)
        case Measure.CYCLE:
            return WholeCycle(workload, inventory, workers, run_workers)


def _measure(exercise: Exercise, request: Request, on_progress: OnProgress) -> _Measured:
    on_progress("warm up", 0, request.cycles)
    started = perf_counter()
    exercise.prepare()
    exercise.run(Stopwatch())
    warmup_s = perf_counter() - started
    stopwatch, actions = Stopwatch(), 0
    profiler = Profile() if request.profile else None
    for done in range(request.cycles):
        on_progress("measure", done, request.cycles)
        exercise.prepare()
        with _undisturbed(), profiler or nullcontext():
            stopwatch.resume()
            actions = exercise.run(stopwatch)
            stopwatch.cycle_ended()
    on_progress("measure", request.cycles, request.cycles)
    if profiler:
        profiler.dump_stats(str(request.profile))
    return _Measured(stopwatch, warmup_s, actions)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No collection inside: what earlier cycles left is collected first."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
