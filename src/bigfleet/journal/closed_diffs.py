"""Two engines that each live with what they decide, on the demand of a journal.

Both begin with the machines and the memory of the first cycle. From then on demand, options and
what happens to machines by itself are the recorded ones, and actions are carried out with the given
latencies, all of them and without failures. Differences add up; what was really decided and done is
not part of the comparison.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.snapshot import Snapshot
from bigfleet.journal.answers import Answer, answer_of, shortfalls_of
from bigfleet.journal.comparison import Comparison
from bigfleet.journal.diffs import with_settings
from bigfleet.journal.digests import output_digest
from bigfleet.journal.history import RecordedCycle
from bigfleet.journal.recorded_machines import RecordedMachines
from bigfleet.model.latencies import Latencies
from bigfleet.model.memory import EngineMemory

#: Answers for the next recorded cycle; told the digest of what the other engine decided, it
#: explains its own actions where they differ.
ClosedCandidate = Callable[[RecordedCycle, str], Answer]


@dataclass(frozen=True, slots=True)
class ClosedCycle:
    epoch: int
    given: EngineInput
    decision: Decision
    digest: str

    def answer(self, *, explained: bool) -> Answer:
        return answer_of(self.epoch, self.given, self.decision, explained=explained)


class ClosedEngine:
    """This engine, cycle after cycle."""

    def __init__(
        self,
        settings: Mapping[str, str],
        latencies: Latencies,
        *,
        workers: int = 1,
        run_workers: RunWorkers = map,
    ) -> None:
        self._settings = settings
        self._latencies = latencies
        self._workers = workers
        self._run_workers = run_workers
        self._machines: RecordedMachines | None = None
        self._recorded: Snapshot | None = None
        self._memory = EngineMemory()
        self._began, self._epoch = 0, 0

    def answer(self, cycle: RecordedCycle, other: str) -> Answer:
        decided = self.decide(cycle)
        return decided.answer(explained=decided.digest != other)

    def decide(self, cycle: RecordedCycle) -> ClosedCycle:
        """Cycles are to be given in their order."""
        given, decision = self.live_through(cycle)
        return ClosedCycle(cycle.epoch, given, decision, output_digest(decision).hex())

    def live_through(self, cycle: RecordedCycle) -> tuple[EngineInput, Decision]:
        """The same without the digest, which costs more than a quiet cycle."""
        recorded = cycle.given
        if self._machines is None or self._recorded is None:
            self._machines = self.machines_of(recorded.snapshot)
            self._began = recorded.at
        else:
            elapsed = recorded.at - self._began
            self._machines.finish(elapsed, recorded.now)
            self._machines.follow(self._recorded, recorded.snapshot, elapsed)
        if cycle.epoch != self._epoch:
            # A shard that starts anew remembers what the record says.
            self._memory, self._epoch = recorded.memory, cycle.epoch
        self._recorded = recorded.snapshot
        given = replace(
            recorded,
            snapshot=self._machines.snapshot(),
            memory=self._memory,
            options=with_settings(recorded.options, self._settings),
        )
        decision = self.decided(given)
        self._memory = decision.memory
        self._machines.start(decision, recorded.at - self._began)
        return given, decision

    def machines_of(self, first: Snapshot) -> RecordedMachines:
        return RecordedMachines(first, self._latencies)

    def decided(self, given: EngineInput) -> Decision:
        return given.decide(workers=self._workers, run_workers=self._run_workers)


def compare_closed(
    cycles: Iterable[RecordedCycle],
    base: ClosedEngine,
    candidate: ClosedCandidate,
    each_cycle: Callable[[int], None] = lambda cycles: None,
) -> Comparison:
    """`each_cycle` is told how many are done."""
    comparison = Comparison()
    for cycle in cycles:
        then = base.decide(cycle)
        now = candidate(cycle, then.digest)
        short = shortfalls_of(then.decision.memory.shortfalls)
        if now.digest == then.digest and now.shortfalls == short:
            comparison.take_same(now.name, now)
        else:
            comparison.take(then.answer(explained=now.digest != then.digest), now)
        each_cycle(comparison.cycles)
    return comparison
