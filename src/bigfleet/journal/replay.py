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
from bigfleet.plan.verifier_facts import batch_of
from bigfleet.verifier.limits import RecentReclaims
from bigfleet.verifier.policy import Policy
from bigfleet.verifier.verify import verify


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


def vetoes_of(each: Replayed) -> list[str]:
    """What the verifier has against the actions of a cycle, as sentences. The journal does not
    know the policies of that time, so only the invariants are checked."""
    given, actions = each.recorded.given, each.decision.actions
    batch = batch_of(
        each.decision,
        actions,
        given.memory.reservations,
        reported=given.options.clusters_ready,
        at=given.now,
    )
    return [
        f"cycle {each.recorded.epoch}:{given.cycle}: {actions[place].kind.label} of"
        f" {actions[place].machine}: {veto.reason.text}"
        for place, veto in sorted(verify(batch, Policy(), RecentReclaims()).items())
    ]
