"""A closed loop: decide, carry out, decide again, in virtual time, until nothing happens any more.

Demand stays as it is and nothing fails. The first cycle decides on the input itself, so it is what
`once` decides. A cycle is quiet if it decides nothing and nothing is under way; the loop ends with
the second in a row, or after MOST_CYCLES decisions. Releases at the end of a hold come later and
are not waited for. Rails and caps of a shard hold nothing back here.

Cycles that can decide nothing new are not decided: where nothing was decided, and neither before
nor after it a gang counted its cycles or a machine was reserved, only a step or a hold that ends
can change a decision.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.model.batches import NEVER
from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND
from bigfleet.whatif.moving import LATER, MovingMachines

MOST_CYCLES = 200
QUIET_CYCLES = 2
#: Between two cycles, as the shard's default.
STEP = SECOND


@dataclass(frozen=True, slots=True)
class SettlingCycle:
    #: Nanoseconds since the first cycle.
    elapsed: int
    given: EngineInput
    decision: Decision
    #: How many quiet cycles in a row end with this one.
    quiet: int

    @property
    def is_last(self) -> bool:
        return self.quiet == QUIET_CYCLES


def settling_cycles(
    given: EngineInput, latencies: Latencies, *, every_cycle: bool = False
) -> Iterator[SettlingCycle]:
    """`every_cycle`: none is left out; the outcome is the same."""
    machines, elapsed, quiet = MovingMachines(given.snapshot, latencies), 0, 0
    for _ in range(MOST_CYCLES):
        decision = given.decide()
        is_quiet = not decision.action_count and not machines.are_moving
        quiet = quiet + 1 if is_quiet else 0
        yield SettlingCycle(elapsed, given, decision, quiet)
        if quiet == QUIET_CYCLES:
            return
        machines.start(decision, elapsed)
        later = elapsed + STEP
        if not every_cycle:
            later = _next_change(elapsed, given, decision, machines)
        cycles = (later - elapsed) // STEP
        now = None if given.now is None else given.now + later - elapsed
        elapsed = later
        machines.finish(elapsed, now)
        given = replace(
            given,
            cycle=given.cycle + cycles,
            now=now,
            snapshot=machines.snapshot(),
            memory=_aged(decision.memory, cycles - 1),
        )


def _next_change(
    elapsed: int, given: EngineInput, decision: Decision, machines: MovingMachines
) -> int:
    """When the next cycle is that may decide otherwise than the last one."""
    remembers = any(each.parking or each.reservations for each in (given.memory, decision.memory))
    if decision.action_count or remembers or not machines.are_moving:
        return elapsed + STEP
    soonest = min(machines.next_due, next_release(given, elapsed))
    return max(elapsed + STEP, -(-soonest // STEP) * STEP)


def next_release(given: EngineInput, elapsed: int) -> int:
    """When the next hold of an Idle machine ends that has not ended yet."""
    if given.now is None:
        return LATER
    columns = given.snapshot.columns
    hold = np.full(len(CapacityType), LATER, np.int64)
    for kind, seconds in given.options.release_holds.items():
        hold[kind] = round(seconds * SECOND)
    kinds = given.snapshot.offerings.capacity_type[columns.offering]
    idle = (columns.state == int(MachineState.IDLE)) & (columns.idle_since != NEVER)
    ends = columns.idle_since[idle] + hold[kinds[idle]]
    ends = ends[(ends > given.now) & (ends < LATER)]
    return elapsed + int(ends.min()) - given.now if len(ends) else LATER


def _aged(memory: EngineMemory, cycles: int) -> EngineMemory:
    """As if so many more cycles had decided the same."""
    if not cycles or not memory.shortfalls:
        return memory
    short = {key: replace(each, age=each.age + cycles) for key, each in memory.shortfalls.items()}
    return replace(memory, shortfalls=short)
