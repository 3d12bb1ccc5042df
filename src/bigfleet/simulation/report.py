"""What a run is told as: one document, for programs and for the table of the command line."""

from collections import Counter
from typing import Any

from bigfleet.model.actions import ActionKind
from bigfleet.simulation.laws import LAWS
from bigfleet.simulation.simulator import Outcome


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    figures = outcome.figures
    kinds: Counter[str] = Counter()
    for key, count in figures.actions.items():
        kinds[key[0]] += count
    return {
        "scenario": outcome.scenario,
        "seed": outcome.seed,
        "ok": outcome.ok,
        "simulatedSeconds": outcome.seconds,
        "steps": outcome.steps,
        "cycles": outcome.cycles,
        "digest": outcome.digest,
        "actions": {kind.label: kinds[kind.label] for kind in ActionKind if kind.label in kinds},
        "costDollars": round(figures.cost_total, 4),
        "preemptionPenaltyDollars": figures.penalties,
        "timeToCoverSeconds": {
            f"p{round(share * 100)}": round(figures.time_to_cover((), share), 3)
            for share in (0.5, 0.95, 0.99)
        },
        "assertions": [
            {
                "name": each.name,
                "expression": each.text,
                "holds": each.holds,
                "failedAtSeconds": each.seconds,
                "why": each.why,
                "values": dict(each.values),
            }
            for each in outcome.results
        ],
        "violations": [
            {
                "law": each.law,
                "about": LAWS[each.law],
                "atSeconds": each.seconds,
                "text": each.text,
                "decisionsBefore": list(each.decisions),
            }
            for each in outcome.violations
        ],
        "happened": [{"atSeconds": at, "what": what} for at, what in outcome.happenings],
        "samples": [
            {
                "atSeconds": each.seconds,
                "machines": dict(each.machines),
                "dollarsPerHour": each.cost_per_hour,
                "needs": dict(each.needs),
                "pods": each.pods,
                "podsWaiting": each.pods_waiting,
                "actions": each.actions,
            }
            for each in figures.samples
        ],
    }


def repeat_command(path: str, seed: int) -> str:
    return f"bigfleet simulate {path} --seeds {seed}"
