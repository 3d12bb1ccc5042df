"""Why each action: the cost of what was acquired, the score of what was preempted, the excess that
leaves, the hold that ended.

Written once, over ActionFacts. Two sources answer them, as for Needs: `Situation` from the records
of a fleet file, `ColumnFacts` from the columns of a live decision. Both give the same sentence.
Only a Situation adds how the machine ranks among those the Need could have had: that would take
too long in a cycle.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bigfleet.explain.need_facts import machine_name
from bigfleet.explain.need_victims import victim_terms
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.machines import Assigned, CapacityType, Instant, MachineState
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.reasons import Reason, ordered


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What a reason says about the machine of an action."""

    id: str
    cluster: str
    capacity_type: CapacityType
    price_per_hour: float
    interruption_probability: float
    assigned: Assigned
    empty: bool
    idle_since: Instant | None


@dataclass(frozen=True, slots=True)
class ActingNeed:
    """The Need that acquires or preempts a machine."""

    name: str
    #: Upper bound of its interruption penalty in dollars.
    penalty: float
    #: The domain of a gang, and how many machines are preempted for the Need in this cycle.
    domain: str | None
    preempts: int


class ActionFacts(Protocol):
    @property
    def cycle(self) -> str: ...
    @property
    def options(self) -> EngineOptions: ...
    @property
    def now(self) -> Instant | None: ...
    def machine_facts(self, machine: str) -> MachineFacts: ...
    def acting_need(self, action: Action) -> ActingNeed: ...
    def ranking(self, action: Action) -> Mapping[str, Any]:
        """How the machine ranks among those the Need could have had; empty if that is not known."""

    def claimed_by(self, machine: str) -> tuple[str, int] | None:
        """Name and priority of the Need that claims the machine in this cycle."""

    def cluster_counts(self, cluster: str) -> tuple[int, int]:
        """Configured machines of a cluster, and how many of them a Need claims."""


def reasons_of_action(facts: ActionFacts, action: Action) -> tuple[Reason, ...]:
    """The deciding reason first."""
    machine = facts.machine_facts(action.machine)
    match action.kind:
        case ActionKind.BOOTSTRAP | ActionKind.PROVISION:
            return (_why_acquired(facts, action, machine),)
        case ActionKind.PREEMPT:
            return _why_preempted(facts, action, machine)
        case ActionKind.RECLAIM:
            return (_why_reclaimed(facts, action, machine),)
        case ActionKind.DELETE:
            return (_why_deleted(facts, machine),)


def bill_change(facts: ActionFacts, action: Action) -> float:
    """Dollars per hour that it adds when it is done. A machine is billed from its Create to its
    Delete, whoever has it in between."""
    match action.kind:
        case ActionKind.PROVISION:
            return facts.machine_facts(action.machine).price_per_hour
        case ActionKind.DELETE:
            return 0.0 - facts.machine_facts(action.machine).price_per_hour
        case _:
            return 0.0


def effective_cost(price_per_hour: float, probability: float, penalty: float) -> float:
    """Price plus expected interruption; a machine that is never interrupted costs its price."""
    return price_per_hour + (probability * penalty if probability else 0.0)


def json_cost(cost: float) -> float | str:
    """JSON has no infinity."""
    return "infinite" if math.isinf(cost) else cost


def _json_penalty(dollars: float) -> float | str:
    return "pinned" if math.isinf(dollars) else dollars


def _why_acquired(facts: ActionFacts, action: Action, machine: MachineFacts) -> Reason:
    need = facts.acting_need(action)
    price, probability = machine.price_per_hour, machine.interruption_probability
    said: dict[str, Any] = {"need": need.name, "pricePerHour": price, **facts.ranking(action)}
    if action.kind is ActionKind.PROVISION or probability > 0:
        said |= {
            "interruptionProbability": probability,
            "penaltyDollars": _json_penalty(need.penalty),
            "effectiveCost": json_cost(effective_cost(price, probability, need.penalty)),
        }
    if action.kind is ActionKind.BOOTSTRAP:
        said["state"] = MachineState.IDLE.label
    return Reason("cost.rank", said, (machine_name(machine.id), need.name), facts.cycle)


def _why_preempted(facts: ActionFacts, action: Action, victim: MachineFacts) -> tuple[Reason, ...]:
    need, holder = facts.acting_need(action), facts.claimed_by(victim.id)
    priority = holder[1] if holder else victim.assigned.priority
    ready = facts.options.clusters_ready
    excess = holder is None and (ready is None or victim.cluster in ready)
    said = {
        "need": need.name,
        "preemptorPriority": action.preemptor_priority,
        "victimPriority": priority,
        **_score_terms(facts.options, victim.assigned, action.preemptor_priority - priority),
        "graceSeconds": action.grace_seconds,
        "excess": excess,
    }
    if action.whole_domain:
        said |= {"domain": need.domain, "victims": need.preempts}
    refs = (machine_name(victim.id), need.name)
    reasons = [
        Reason("claim.higher", said, (*refs, holder[0]) if holder else refs, facts.cycle),
    ]
    if excess:
        leaving = {"victim": victim.id, **_cluster_facts(facts, victim.cluster)}
        reasons.append(Reason("excess", leaving, refs[:1], facts.cycle))
    return ordered(reasons)


def _score_terms(options: EngineOptions, assigned: Assigned, gap: int) -> Mapping[str, Any]:
    penalties = assigned.interruption_penalty, assigned.reclamation_penalty
    terms = victim_terms(options, gap, *penalties)
    return {
        "gap": gap,
        "score": sum(terms),
        **{f"{name}Term": value for name, value in terms._asdict().items()},
        "drainSeconds": options.drain_seconds,
        "interruptionPenalty": _json_penalty(assigned.interruption_penalty),
        "reclamationPenalty": _json_penalty(assigned.reclamation_penalty),
    }


def _why_reclaimed(facts: ActionFacts, action: Action, machine: MachineFacts) -> Reason:
    said = _cluster_facts(facts, machine.cluster) | {
        "machine": machine.id,
        "pricePerHour": machine.price_per_hour,
        "reclamationPenalty": _json_penalty(machine.assigned.reclamation_penalty),
        "graceSeconds": action.grace_seconds,
    }
    if machine.empty:
        said["empty"] = True
    refs = (machine_name(machine.id), f"cluster/{machine.cluster}")
    return Reason("excess", said, refs, facts.cycle)


def _cluster_facts(facts: ActionFacts, cluster: str) -> dict[str, Any]:
    configured, claimed = facts.cluster_counts(cluster)
    return {"cluster": cluster, "configured": configured, "claimed": claimed}


def _why_deleted(facts: ActionFacts, machine: MachineFacts) -> Reason:
    now, since = facts.now, machine.idle_since
    said = {
        "capacityType": machine.capacity_type.label,
        "holdSeconds": facts.options.release_holds.get(machine.capacity_type, 0.0),
        "idleSeconds": 0 if now is None or since is None else (now - since) // SECOND,
        "pricePerHour": machine.price_per_hour,
    }
    return Reason("hold.idle", said, (machine_name(machine.id),), facts.cycle)
