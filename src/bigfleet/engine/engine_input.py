"""What one cycle is decided on, as columns: the form in which a decision is kept and questioned.

A live shard freezes one per cycle, the journal rebuilds them, a fleet file is read into one. All
that is asked about a decision (why, what if, was it the same) decides again on such an input.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.engine.decide import decide, unobserved
from bigfleet.engine.decision import Decision
from bigfleet.engine.needs_table import FrozenNeeds
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.machines import Instant
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import EngineOptions


@dataclass(frozen=True, slots=True)
class EngineInput:
    """Nothing in it changes any more."""

    cycle: int
    #: None: a fleet file without a time.
    now: Instant | None
    snapshot: Snapshot
    #: Sorted when a decision asks: that costs every row there is.
    needs: FrozenNeeds
    memory: EngineMemory
    options: EngineOptions

    @property
    def at(self) -> Instant:
        """As a record of it is stamped; 0 where no time is known."""
        return 0 if self.now is None else self.now

    def decide(
        self,
        *,
        workers: int | None = None,
        run_workers: RunWorkers = map,
        phase_ended: Callable[[str], None] = unobserved,
    ) -> Decision:
        """`workers`: as many as the options say, unless told otherwise; they decide nothing."""
        options = self.options if workers is None else replace(self.options, workers=workers)
        return decide(
            self.snapshot,
            self.needs.demand,
            self.memory,
            options,
            self.now,
            run_workers=run_workers,
            phase_ended=phase_ended,
        )
