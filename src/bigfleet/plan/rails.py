"""Rails: what is held back of a decision, and that it leaves no trace.

The reclaim cap keeps, per cluster, the first max(1, floor(fraction x Configured)) Reclaims of a
cycle and, where there is a clock, of any trailing ten seconds. The action budget keeps the most
urgent actions: what serves or preempts for a Need by that Need's priority, then Reclaims, then
Deletes. What is kept stays in emission order; a Preempt that is cut leaves no reservation.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, PlanOptions
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND
from bigfleet.plan.cycle import FileDecision

WINDOW = 10 * SECOND

_RANK_OF_KIND = {
    ActionKind.PREEMPT: (0, 0),
    ActionKind.BOOTSTRAP: (0, 1),
    ActionKind.PROVISION: (0, 2),
    ActionKind.RECLAIM: (1, 0),
    ActionKind.DELETE: (2, 0),
}


@dataclass(frozen=True, slots=True)
class PastReclaims:
    """How many machines a cluster lost at one instant."""

    at: Instant
    count_of_cluster: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Kept:
    """What the rails let through."""

    actions: tuple[Action, ...]
    memory: EngineMemory
    capped: int = 0
    deferred: int = 0
    #: Reclaims of the trailing window, this cycle's included; empty without a clock.
    reclaims: tuple[PastReclaims, ...] = ()


def kept_of(decision: FileDecision, fleet: Fleet, past: tuple[PastReclaims, ...] = ()) -> Kept:
    recent = _recent(past, fleet.now)
    within_cap = _within_reclaim_cap(decision.actions, fleet, recent)
    kept = _within_budget(within_cap, decision, fleet.plan)
    lost = Counter(a.cluster for a in kept if a.kind is ActionKind.RECLAIM)
    return Kept(
        actions=kept,
        memory=_without_cut_preemptions(decision, kept),
        capped=len(decision.actions) - len(within_cap),
        deferred=len(within_cap) - len(kept),
        reclaims=() if fleet.now is None else (*recent, PastReclaims(fleet.now, lost)),
    )


def reclaim_cap(fraction: float, configured: int) -> int:
    return max(1, int(fraction * configured))


def _recent(past: tuple[PastReclaims, ...], now: Instant | None) -> tuple[PastReclaims, ...]:
    return () if now is None else tuple(p for p in past if now - p.at < WINDOW)


def _within_reclaim_cap(
    actions: tuple[Action, ...], fleet: Fleet, recent: tuple[PastReclaims, ...]
) -> tuple[Action, ...]:
    fraction = fleet.plan.reclaim_cap_fraction
    if not fraction:
        return actions
    configured = Counter(
        m.machine.cluster for m in fleet.machines if m.machine.state is MachineState.CONFIGURED
    )
    lost: Counter[str] = Counter()
    for past in recent:
        lost.update(past.count_of_cluster)
    kept: list[Action] = []
    for action in actions:
        if action.kind is ActionKind.RECLAIM:
            if lost[action.cluster] >= reclaim_cap(fraction, configured[action.cluster]):
                continue
            lost[action.cluster] += 1
        kept.append(action)
    return tuple(kept)


def _within_budget(
    actions: tuple[Action, ...], decision: FileDecision, plan: PlanOptions
) -> tuple[Action, ...]:
    budget = plan.max_actions_per_cycle
    if not budget or len(actions) <= budget:
        return actions

    def urgency(position: int) -> tuple[int, int, int, int]:
        action = actions[position]
        group, kind = _RANK_OF_KIND[action.kind]
        need = decision.verdicts[action.need].need if action.need is not None else None
        return (group, -need.profile.priority if need else 0, kind, position)

    most_urgent = sorted(range(len(actions)), key=urgency)[:budget]
    return tuple(actions[position] for position in sorted(most_urgent))


def _without_cut_preemptions(decision: FileDecision, kept: tuple[Action, ...]) -> EngineMemory:
    preempted = {a.machine for a in decision.actions if a.kind is ActionKind.PREEMPT}
    cut = preempted - {a.machine for a in kept if a.kind is ActionKind.PREEMPT}
    if not cut:
        return decision.memory
    reservations = {m: r for m, r in decision.memory.reservations.items() if m not in cut}
    return replace(decision.memory, reservations=reservations)
