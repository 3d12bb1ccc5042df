"""Rails: what is held back of a decision, and that it leaves no trace.

The reclaim cap keeps, per cluster, the first max(1, floor(fraction x Configured)) Reclaims of a
cycle and, where there is a clock, of any trailing ten seconds. The action budget keeps the most
urgent actions: what serves or preempts for a Need by that Need's priority, then Reclaims, then
Deletes. What is kept stays in emission order; a Preempt that is cut leaves no reservation.
"""

from collections import Counter
from dataclasses import dataclass, replace

from bigfleet.model.actions import Action, ActionKind, most_urgent
from bigfleet.model.fleet import Fleet
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND
from bigfleet.model.reclaim_cap import PastReclaims, positions_over_cap, recent_reclaims
from bigfleet.plan.cycle import FileDecision

WINDOW = 10 * SECOND


@dataclass(frozen=True, slots=True)
class RailResult:
    """What the rails let through."""

    actions: tuple[Action, ...]
    memory: EngineMemory
    capped: int = 0
    deferred: int = 0
    #: Reclaims of the trailing window, this cycle's included; empty without a clock.
    reclaims: tuple[PastReclaims, ...] = ()


def kept_of(
    decision: FileDecision, fleet: Fleet, past: tuple[PastReclaims, ...] = ()
) -> RailResult:
    recent = _recent(past, fleet.now)
    within_cap = _within_reclaim_cap(decision.actions, fleet, recent)
    kept = _within_budget(within_cap, fleet.plan.max_actions_per_cycle)
    lost = Counter(a.cluster for a in kept if a.kind is ActionKind.RECLAIM)
    return RailResult(
        actions=kept,
        memory=_without_cut_preemptions(decision, kept),
        capped=len(decision.actions) - len(within_cap),
        deferred=len(within_cap) - len(kept),
        reclaims=() if fleet.now is None else (*recent, PastReclaims(fleet.now, lost)),
    )


def _recent(past: tuple[PastReclaims, ...], now: Instant | None) -> tuple[PastReclaims, ...]:
    return () if now is None else recent_reclaims(past, now, WINDOW)


def _within_reclaim_cap(
    actions: tuple[Action, ...], fleet: Fleet, recent: tuple[PastReclaims, ...]
) -> tuple[Action, ...]:
    configured = Counter(
        m.machine.cluster for m in fleet.machines if m.machine.state is MachineState.CONFIGURED
    )
    over = positions_over_cap(
        ((i, a.cluster) for i, a in enumerate(actions) if a.kind is ActionKind.RECLAIM),
        recent,
        fleet.plan.reclaim_cap_fraction,
        configured.__getitem__,
    )
    return tuple(a for i, a in enumerate(actions) if i not in over) if over else actions


def _within_budget(actions: tuple[Action, ...], budget: int) -> tuple[Action, ...]:
    if not budget or len(actions) <= budget:
        return actions
    return tuple(actions[i] for i in most_urgent(actions, range(len(actions)), budget))


def _without_cut_preemptions(decision: FileDecision, kept: tuple[Action, ...]) -> EngineMemory:
    preempted = {a.machine for a in decision.actions if a.kind is ActionKind.PREEMPT}
    cut = preempted - {a.machine for a in kept if a.kind is ActionKind.PREEMPT}
    if not cut:
        return decision.memory
    reservations = {m: r for m, r in decision.memory.reservations.items() if m not in cut}
    return replace(decision.memory, reservations=reservations)
