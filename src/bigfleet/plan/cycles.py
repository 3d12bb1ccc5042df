"""The cycles of a plan, one after the other, each on what the one before left."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.model.fleet import Fleet
from bigfleet.model.reclaim_cap import PastReclaims
from bigfleet.plan.completion import next_fleet
from bigfleet.plan.cycle import FileDecision, cycle_input
from bigfleet.plan.rails import Kept, kept_of


@dataclass(frozen=True, slots=True)
class PlannedCycle:
    #: From 1.
    number: int
    fleet: Fleet
    decision: FileDecision
    kept: Kept
    #: How long the decision itself took, by the clock given.
    seconds: float

    @property
    def name(self) -> str:
        """The cycle as reasons name it: the recorded one where the file is a dump."""
        recorded = self.fleet.provenance.cycle
        if not recorded:
            return str(self.number)
        return recorded if self.number == 1 else f"{recorded}+{self.number - 1}"


def planned_cycles(
    fleet: Fleet,
    *,
    workers: int,
    clock: Callable[[], float],
    run_workers: RunWorkers = map,
) -> Iterator[PlannedCycle]:
    past: tuple[PastReclaims, ...] = ()
    for number in range(1, fleet.plan.cycles + 1):
        given = cycle_input(fleet, workers=workers, run_workers=run_workers)
        started = clock()
        decided = given.decide()
        seconds = clock() - started
        decision = given.in_file_order(decided)
        kept = kept_of(decision, fleet, past)
        yield PlannedCycle(number, fleet, decision, kept, seconds)
        past = kept.reclaims
        fleet = next_fleet(fleet, kept.actions, kept.memory)
