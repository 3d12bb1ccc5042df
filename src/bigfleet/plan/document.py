"""A plan as one JSON object: the form in which cases are checked and other programs read it."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from bigfleet.engine.decision import Verdict
from bigfleet.explain.actions import reasons_of_action
from bigfleet.explain.needs import reasons_of_need
from bigfleet.explain.situation import Situation
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import FleetMachine, FleetNeed
from bigfleet.model.machines import MachineState
from bigfleet.plan.cycle import FileDecision
from bigfleet.plan.cycles import PlannedCycle, machines_after

Document = dict[str, Any]


def plan_document(cycles: Iterable[PlannedCycle], *, explain: bool) -> Document:
    """The first cycle, and each of them where there are several."""
    remaining = iter(cycles)
    first = next(remaining)
    decided = _decided(first, explain=explain)
    document = {**decided, "summary": summary_of(first)}
    if first.fleet.plan.cycles > 1:
        document["cycles"] = [{"cycle": first.number, **decided}] + [
            {"cycle": cycle.number, **_decided(cycle, explain=explain)} for cycle in remaining
        ]
    return document


def _decided(cycle: PlannedCycle, *, explain: bool) -> Document:
    situation = Situation.of(cycle.fleet, cycle.decision, cycle.name) if explain else None
    document: Document = {
        "actions": list(_actions_of(cycle, situation)),
        "needs": list(_needs_of(cycle, situation)),
    }
    if cycle.vetoes is not None:
        document["vetoes"] = [
            {
                "action": place,
                "invariant": veto.invariant.name,
                "incident": veto.incident,
                "text": veto.reason.text,
            }
            for place, veto in sorted(cycle.vetoes.items())
        ]
    return document


def _actions_of(cycle: PlannedCycle, situation: Situation | None) -> Iterator[Document]:
    for action in cycle.kept.actions:
        document = action_document(action, cycle.decision)
        if situation is not None:
            document["reasons"] = [r.document() for r in reasons_of_action(situation, action)]
        yield document


def action_document(action: Action, decision: FileDecision) -> Document:
    return {
        "kind": action.kind.label,
        "machine": action.machine,
        "cluster": action.cluster,
        "graceSeconds": action.grace_seconds,
        "preemptorPriority": action.preemptor_priority,
        "reason": action.rule.value,
        "need": file_index_of(action, decision),
    }


def file_index_of(action: Action, decision: FileDecision) -> int | None:
    """The Need an action serves: of a folded group its first member in the file."""
    return None if action.need is None else min(decision.verdicts[action.need].members)


def verdicts_by_file(decision: FileDecision) -> dict[int, Verdict]:
    return {member: verdict for verdict in decision.verdicts for member in verdict.members}


def _needs_of(cycle: PlannedCycle, situation: Situation | None) -> Iterator[Document]:
    verdict_of_need = verdicts_by_file(cycle.decision)
    for index, need in enumerate(cycle.fleet.needs):
        verdict = verdict_of_need[index]
        document = need_document(index, need, verdict)
        if situation is not None:
            document["reasons"] = [r.document() for r in reasons_of_need(situation, verdict)]
        yield document


def need_document(index: int, need: FleetNeed, verdict: Verdict) -> Document:
    return {
        "index": index,
        "id": need.need.key.need_id,
        "satisfied": verdict.satisfied,
        "deficit": verdict.deficit.positive().texts(),
        "unresolved": verdict.unresolved.positive().texts(),
        "claimed": list(verdict.claimed),
        "bootstraps": verdict.bootstraps,
        "provisions": verdict.provisions,
        "preempts": verdict.preempts,
        "domain": verdict.domain,
        "parked": verdict.parked,
        "unmetReason": verdict.unmet_reason.value if verdict.unmet_reason else None,
        "folded": verdict.folded,
    }


def summary_of(cycle: PlannedCycle) -> Document:
    fleet, kept = cycle.fleet, cycle.kept
    counts = Counter(action.kind for action in kept.actions)
    return {
        "cycleSeconds": cycle.seconds,
        "machines": len(fleet.machines),
        "needs": len(fleet.needs),
        "byKind": {kind.label: counts[kind] for kind in ActionKind},
        "capped": kept.capped,
        "deferred": kept.deferred,
        "hourlyCostBefore": hourly_cost(fleet.machines),
        "hourlyCostAfter": hourly_cost(machines_after(fleet, kept.actions)),
    }


def hourly_cost(machines: Iterable[FleetMachine]) -> float:
    """Billed dollars per hour: machines that have a host or are being created."""
    return math.fsum(
        entry.machine.price_per_hour
        for entry in machines
        if not entry.machine.host.empty or entry.machine.state is MachineState.CREATING
    )
