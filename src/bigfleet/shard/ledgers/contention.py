"""How the workers of Phase 1 got in each other's way, as counts.

The broker commits in precedence order and proposes a stale proposal again on the spot (ADR-0005).
So no Need is displaced in a cycle, a retry cannot conflict, and no retries run out: these series
stand at 0, and one that moves is a defect of the engine.
"""

from bigfleet.edge.counts import FINE, Counts
from bigfleet.engine.decision import Counters, Decision, Mode


def measure_contention(counts: Counts, decision: Decision, broker_seconds: float) -> None:
    """`broker_seconds`: what all proposals of the cycle took at the broker."""
    total = decision.counters
    counts.add("phase1_occ_proposals_total", total.committed, outcome="committed")
    counts.add("phase1_occ_proposals_total", total.conflicts, outcome="conflict")
    counts.add("phase1_occ_displacements_total", total.displacements)
    counts.add("phase1_occ_retries_exhausted_total", 0)
    for mode, counters in decision.counters_of_mode.items():
        _measure_mode(counts, mode, counters)
        if counters.proposals:
            # Both modes stand in one queue and are timed together: a kernel reads no clock.
            each = broker_seconds / total.proposals
            counts.observe(
                "phase1_proposal_duration_seconds", each, FINE, counters.proposals, mode=mode.value
            )


def _measure_mode(counts: Counts, mode: Mode, counters: Counters) -> None:
    fraction = counters.conflicts / max(1, counters.committed)
    counts.set("phase1_occ_conflict_fraction", fraction, mode=mode.value)
    outcomes = {
        "committed": counters.retries_committed,
        "empty": counters.retries - counters.retries_committed,
        "conflict": 0,
    }
    for outcome, retries in outcomes.items():
        counts.add("phase1_occ_retries_total", retries, mode=mode.value, outcome=outcome)
