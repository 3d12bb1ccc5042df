"""Phase 2 of one Need: its victims with each term of their score, and the best that was spared.

The runs and the score are the engine's own.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bigfleet.engine.kernels.compiled import Floats
from bigfleet.engine.kernels.records import VictimArrays
from bigfleet.engine.kernels.victims import grace_seconds, victim_score
from bigfleet.engine.outcome import Outcome
from bigfleet.engine.preemption import victim_runs
from bigfleet.engine.release import ready_clusters
from bigfleet.model.explanations import VictimVerdict
from bigfleet.model.options import EngineOptions, VictimWeights

#: Victims that are told.
_MOST_VICTIMS = 8


def victim_verdicts(
    outcome: Outcome, row: int, options: EngineOptions
) -> tuple[VictimVerdict, ...]:
    """In the order in which they were taken; the best that was not comes last."""
    if not outcome.unsatisfied[row] or outcome.needs.parked[row]:
        return ()
    runs = _runs(outcome, row, options)
    if not len(runs.start):
        return ()
    chosen = outcome.preempted.row[outcome.preempted.need == row]
    told = []
    for machine in chosen[:_MOST_VICTIMS].tolist():
        place = int(np.flatnonzero(runs.rows == machine)[0])
        run = int(np.searchsorted(runs.end, place, side="right"))
        told.append(_verdict(outcome, row, options, runs, run, machine, ""))
    spared = _best_spared(outcome, row, options, runs)
    if spared is not None:
        why = "not needed: the victims before it cover what is short"
        if outcome.preempted.unresolved[row].any():
            why = "outside what its spread allows, or spoken for"
        told.append(_verdict(outcome, row, options, runs, spared.run, spared.row, why))
    return tuple(told)


class Spared(NamedTuple):
    """The machine that would have been preempted next, and the run of machines it is in."""

    run: int
    row: int


def best_spared(outcome: Outcome, row: int, options: EngineOptions) -> Spared | None:
    """Of the machines that could make way for a Need; None: none is left."""
    return _best_spared(outcome, row, options, _runs(outcome, row, options))


def _runs(outcome: Outcome, row: int, options: EngineOptions) -> VictimArrays:
    """All that may be preempted for a Need of this priority, as the engine groups them."""
    ready, asker = ready_clusters(outcome.scene, options), np.array([row], np.int64)
    return victim_runs(outcome.scene, outcome.needs, outcome.kinds, outcome.credit, asker, ready)


def _best_spared(
    outcome: Outcome, row: int, options: EngineOptions, runs: VictimArrays
) -> Spared | None:
    taken = np.isin(runs.rows, outcome.preempted.row)
    same, kinds = int(outcome.needs.same[row]), outcome.kinds
    best: tuple[tuple[bool, float, int], Spared] | None = None
    for run in np.flatnonzero(runs.priority < outcome.needs.priority[row]).tolist():
        kind = int(runs.kind[run])
        if same >= 0 and kinds.domain[same, kind] != outcome.credit.domain[row]:
            continue
        begin, end = int(runs.start[run]), int(runs.end[run])
        left = np.flatnonzero(~taken[begin:end])
        if not len(left):
            continue
        machine = int(runs.rows[begin + int(left[0])])
        score = sum(_terms(outcome, row, options, runs, run))
        order = (not runs.excess[run], -score, machine)
        if best is None or order < best[0]:
            best = order, Spared(run, machine)
    return None if best is None else best[1]


class VictimTerms(NamedTuple):
    """What adds up to a victim's score."""

    gap: float
    drain: float
    interruption: float
    reclamation: float


def victim_terms(
    options: EngineOptions, gap: int, interruption: float, reclamation: float
) -> VictimTerms:
    """The engine's score with one weight at a time: its formula is written there only."""
    seconds = float(options.drain_seconds)
    return VictimTerms(
        *(
            float(victim_score(gap, seconds, interruption, reclamation, alone))
            for alone in _one_at_a_time(options.victim_weights)
        )
    )


@lru_cache(maxsize=16)
def _one_at_a_time(weights: VictimWeights) -> tuple[Floats, ...]:
    named = (weights.priority, weights.drain, weights.interruption, weights.reclamation)
    return tuple(np.diag(np.array(named, np.float64)))


def _terms(
    outcome: Outcome, row: int, options: EngineOptions, runs: VictimArrays, run: int
) -> VictimTerms:
    gap = int(outcome.needs.priority[row] - runs.priority[run])
    return victim_terms(options, gap, float(runs.interruption[run]), float(runs.reclamation[run]))


def _verdict(
    outcome: Outcome,
    row: int,
    options: EngineOptions,
    runs: VictimArrays,
    run: int,
    machine: int,
    excluded: str,
) -> VictimVerdict:
    snapshot = outcome.scene.snapshot
    terms = _terms(outcome, row, options, runs, run)
    gap = int(outcome.needs.priority[row] - runs.priority[run])
    cluster = int(snapshot.columns.cluster[machine])
    return VictimVerdict(
        snapshot.ids[machine],
        snapshot.tables.clusters.rows[cluster],
        int(runs.priority[run]),
        sum(terms),
        *terms,
        chosen=not excluded,
        grace_seconds=0 if excluded else grace_seconds(gap),
        excluded_reason=excluded,
    )
