"""Recorded cycles decided again, and compared with what was decided then."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.journal.digests import claimed_digest, claims_of, output_digest
from bigfleet.journal.history import RecordedCycle
from bigfleet.journal.recorder import changed_claims, claimed_rows


@dataclass(frozen=True, slots=True)
class Replayed:
    recorded: RecordedCycle
    decision: Decision
    #: Whether the actions, and the claims behind them, are those recorded.
    same_actions: bool
    same_claims: bool
    #: Rows of the machines whose claims are digested: all claimed ones in a key frame's cycle, else
    #: those whose claim differs from the cycle before.
    told_claims: Int64s

    @property
    def identical(self) -> bool:
        return self.same_actions and self.same_claims


def replayed(
    cycles: Iterable[RecordedCycle],
    *,
    first: tuple[int, int] = (0, 0),
    workers: int = 1,
    run_workers: RunWorkers = map,
) -> Iterator[Replayed]:
    """From the cycle `first` (epoch and number) on; the one before it is decided too, because
    claims are compared with those of the cycle before."""
    before: RecordedCycle | None = None
    ids: list[str] = []
    claims: Int64s = np.zeros(0, np.int64)
    for cycle in cycles:
        if (cycle.epoch, cycle.given.cycle) < first:
            before = cycle
            continue
        if before is not None:
            ids = before.given.snapshot.ids
            claims = claims_of(before.given.decide(workers=workers, run_workers=run_workers))
            before = None
        given = cycle.given
        decision = given.decide(workers=workers, run_workers=run_workers)
        now = claims_of(decision)
        yield _compared(cycle, decision, now, changed_claims(ids, claims, given.snapshot.ids, now))
        ids, claims = given.snapshot.ids, now


def _compared(
    cycle: RecordedCycle, decision: Decision, claims: Int64s, changed: Int64s
) -> Replayed:
    output = cycle.output
    if output is None:
        return Replayed(cycle, decision, not decision.action_count, not len(changed), changed)
    told = claimed_rows(claims) if cycle.keyframe else changed
    return Replayed(
        cycle,
        decision,
        output_digest(decision) == output.digest,
        claimed_digest(decision, told) == output.claimed_digest,
        told,
    )
