"""Why a Need got what it got, read off the columns of a finished decision.

Nothing is decided again here: who holds a machine, what was taken, what is eligible, which victims
score how are the engine's own columns and functions. Law: every machine of the shard has exactly
one outcome, so the counts of `rejects` add up to the machines of the shard.
"""

import numpy as np

from bigfleet.engine.decision import Verdict
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.need_views import NeedViews
from bigfleet.engine.outcome import Outcome
from bigfleet.explain.candidates import candidate_verdicts, classify
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.domain_trace import domain_verdicts
from bigfleet.explain.need_victims import victim_verdicts
from bigfleet.explain.needs import reasons_of_need
from bigfleet.model.explanations import (
    CANDIDATES,
    MOST_CANDIDATES,
    Competitor,
    NeedExplanation,
)
from bigfleet.model.machine_answers import MachineStep
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources

#: Machines a step names, Needs that are told as competitors.
_MOST_NAMES = 8
_MOST_COMPETITORS = 8


def explain_need(
    cycle: DecidedCycle, row: int, max_candidates: int = CANDIDATES
) -> NeedExplanation:
    """`row`: of the normalised demand (DecidedCycle.need_row finds it)."""
    given, decision, outcome = cycle.given, cycle.decision, cycle.outcome
    own = np.flatnonzero(outcome.credit.holder == row)
    ids = outcome.scene.snapshot.ids
    verdict = decision.verdict(row, tuple(ids[each] for each in own.tolist()))
    reasons = reasons_of_need(cycle.facts, verdict)
    found = classify(given, outcome, verdict, row)
    shown = _clamped(max_candidates)
    notes = []
    if max_candidates > MOST_CANDIDATES:
        notes.append(f"max_candidates {max_candidates} is more than {MOST_CANDIDATES}, the most")
    if verdict.folded:
        gangs = len(verdict.members)
        notes.append(f"{gangs} gangs that fit one machine each are served together, as this Need")
    domains = domain_verdicts(cycle, row)
    if verdict.domain and not domains:
        notes.append("its domain was chosen by the machines that it preempts there, all together")
    return NeedExplanation(
        cycle=given.cycle,
        view=NeedViews(decision).view(row),
        sentence=reasons[0].text,
        steps=tuple(_steps(outcome, verdict, row, own, given)),
        candidates=candidate_verdicts(outcome, verdict, row, found, shown),
        total_candidates=len(found.pool),
        competitors=_competitors(outcome, row),
        victims=victim_verdicts(outcome, row, given.options),
        reservations=_reservations(given, verdict.need.key),
        reasons=tuple(reason.told for reason in reasons),
        rejects=found.counts(),
        machines=len(outcome.scene.snapshot),
        need_id=verdict.need.key.need_id,
        decided_at=given.now,
        notes=tuple(notes),
        domains=domains,
    )


def _clamped(asked: int) -> int:
    return min(asked, MOST_CANDIDATES) if asked > 0 else CANDIDATES


# -- parts of the answer ---------------------------------------------------------------------------


def _steps(
    outcome: Outcome, verdict: Verdict, row: int, own: Int64s, given: EngineInput
) -> list[MachineStep]:
    """What each phase added; `remaining` of the second is the deficit (law 2 of the engine)."""
    start, count = int(outcome.acquired.start[row]), int(outcome.acquired.count[row])
    taken = outcome.acquired.taken[start : start + count]
    credited = own[~np.isin(own, taken)]
    wanted = outcome.needs.wanted[row]
    after_credit = np.maximum(wanted - _units(outcome, credited), 0)
    cluster = verdict.need.cluster
    steps = [
        _step(
            outcome,
            "credit",
            f"{_machines(len(credited))} of cluster {cluster}",
            credited,
            after_credit,
        ),
        _step(
            outcome,
            "acquire",
            f"{verdict.bootstraps} idle, {verdict.provisions} to be created",
            taken,
            outcome.credit.remaining[row],
        ),
    ]
    if verdict.satisfied:
        return steps
    victims = outcome.preempted.row[outcome.preempted.need == row]
    draining = _draining(given, outcome, verdict.need.key)
    text = f"{_machines(len(victims))} now, {len(draining)} drain for it already"
    rows = np.concatenate([victims, draining]).astype(np.int64)
    return [*steps, _step(outcome, "preempt", text, rows, outcome.preempted.unresolved[row])]


def _step(
    outcome: Outcome, phase: str, text: str, rows: Int64s | Int32s, remaining: Int64s
) -> MachineStep:
    ids = outcome.scene.snapshot.ids
    names = tuple(ids[each] for each in rows[:_MOST_NAMES].tolist())
    covered = outcome.resources(_units(outcome, rows).tolist())
    return MachineStep(phase, text, covered, _resources(outcome, remaining), names)


def _units(outcome: Outcome, rows: Int64s | Int32s) -> Int64s:
    total: Int64s = outcome.kinds.units[outcome.scene.supply.kind[rows]].sum(axis=0)
    return total


def _resources(outcome: Outcome, amounts: Int64s) -> Resources:
    return outcome.resources(amounts.tolist())


def _machines(count: int) -> str:
    return f"{count:,} machine{'' if count == 1 else 's'}"


def _draining(given: EngineInput, outcome: Outcome, key: NeedKey) -> Int64s:
    snapshot = outcome.scene.snapshot
    rows = [
        row
        for machine, reservation in given.memory.reservations.items()
        if reservation.holder == key and (row := snapshot.row_of(machine)) >= 0
    ]
    found = np.array(sorted(rows), np.int64)
    draining: Int64s = found[snapshot.columns.state[found] == MachineState.DRAINING]
    return draining


def _competitors(outcome: Outcome, row: int) -> tuple[Competitor, ...]:
    """Needs of at least its precedence that claim machines that fit; the largest first."""
    holder, needs = outcome.credit.holder, outcome.needs
    fits: Bools = outcome.kinds.eligible[needs.key[row]][outcome.scene.supply.kind]
    held = holder[fits & (holder >= 0) & (holder != row)]
    machines = np.bincount(held, minlength=len(outcome))
    machines[needs.precedence < needs.precedence[row]] = 0
    largest = np.argsort(-machines, kind="stable")[:_MOST_COMPETITORS]
    return tuple(
        Competitor(
            outcome.key(each),
            int(needs.priority[each]),
            int(machines[each]),
            bool(needs.precedence[each] > needs.precedence[row]),
        )
        for each in largest.tolist()
        if machines[each]
    )


def _reservations(given: EngineInput, key: NeedKey) -> tuple[Reservation, ...]:
    kept = given.memory.reservations
    return tuple(kept[machine] for machine in sorted(kept) if kept[machine].holder == key)
