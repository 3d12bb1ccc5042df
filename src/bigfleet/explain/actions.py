"""Why each action: the rank of what was acquired, the score of what was preempted, the excess that
leaves, the hold that ended.
"""

import math
from collections.abc import Mapping
from typing import Any

from bigfleet.engine.decision import Verdict
from bigfleet.explain.situation import CandidatePool, Situation, machine_name, need_name
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.reasons import Reason, ordered


def reasons_of_action(situation: Situation, action: Action) -> tuple[Reason, ...]:
    """The deciding reason first."""
    match action.kind:
        case ActionKind.BOOTSTRAP | ActionKind.PROVISION:
            return (_why_acquired(situation, action),)
        case ActionKind.PREEMPT:
            return _why_preempted(situation, action)
        case ActionKind.RECLAIM:
            return (_why_reclaimed(situation, action),)
        case ActionKind.DELETE:
            return (_why_deleted(situation, action),)


def effective_cost(machine: Machine, need: Need) -> float:
    """Price plus expected interruption; a machine that is never interrupted costs its price."""
    probability = machine.interruption_probability
    penalty = upper_bound_dollars(need.profile.interruption_bucket)
    return machine.price_per_hour + (probability * penalty if probability else 0.0)


def _why_acquired(situation: Situation, action: Action) -> Reason:
    verdict = _verdict_of(situation, action)
    machine = situation.machine_of_id[action.machine].machine
    pool = _pool_of(situation, action, verdict, machine, machine.state)
    free = len(pool.position_of_machine)
    facts: dict[str, Any] = {
        "pricePerHour": machine.price_per_hour,
        "matches": free,
        "taken": pool.taken,
        "rank": pool.position_of_machine.get(machine.id, free) + 1,
    }
    if key := _domain_key(verdict.need):
        facts |= {"domainKey": key, "domain": machine.attribute(key)}
    if action.kind is ActionKind.PROVISION or machine.interruption_probability > 0:
        facts |= _cost_facts(machine, verdict.need)
    if action.kind is ActionKind.BOOTSTRAP:
        facts["state"] = MachineState.IDLE.label
    following = pool.following
    if following is None and machine.state is MachineState.IDLE:
        bought = _pool_of(situation, action, verdict, machine, MachineState.SPECULATIVE)
        following = bought.following
    if following is not None:
        facts |= {
            "next": following.id,
            "nextState": following.state.label,
            "nextCost": _cost_of(following, verdict.need),
        }
    refs = (machine_name(action.machine), need_name(verdict.need))
    return Reason("cost.rank", facts, refs, situation.cycle)


def _verdict_of(situation: Situation, action: Action) -> Verdict:
    assert action.need is not None, "an action that acquires or preempts names its Need"
    return situation.decision.verdicts[action.need]


def _pool_of(
    situation: Situation, action: Action, verdict: Verdict, machine: Machine, state: MachineState
) -> CandidatePool:
    """Of this state, in the machine's domain, not held, not others' by claim or reservation."""
    need = verdict.need
    key = _domain_key(need)
    domain = machine.attribute(key) if key else None
    pool_key = (action.need or 0, state, domain)
    if pool_key in situation.pools:
        return situation.pools[pool_key]
    free = [
        entry.machine
        for entry in situation.fitting(need)
        if entry.machine.state is state
        and entry.marks.held is None
        and situation.holder_of_machine.get(entry.machine.id, verdict) is verdict
        and not situation.reserved_for_other(entry.machine.id, need)
        and (key is None or entry.machine.attribute(key) == domain)
    ]
    free.sort(key=lambda m: (effective_cost(m, need), m.id))
    claimed = frozenset(verdict.claimed)
    pool = situation.pools[pool_key] = CandidatePool(
        {m.id: position for position, m in enumerate(free)},
        sum(m.id in claimed for m in free),
        next((m for m in free if m.id not in claimed), None),
    )
    return pool


def _domain_key(need: Need) -> str | None:
    if need.profile.same is not None:
        return need.profile.same.key
    return need.profile.strict_spread.topology_key if need.profile.strict_spread else None


def _cost_facts(machine: Machine, need: Need) -> dict[str, Any]:
    penalty = upper_bound_dollars(need.profile.interruption_bucket)
    return {
        "interruptionProbability": machine.interruption_probability,
        "penaltyDollars": "pinned" if math.isinf(penalty) else penalty,
        "effectiveCost": _cost_of(machine, need),
    }


def _cost_of(machine: Machine, need: Need) -> float | str:
    """The cost it was ranked by, as JSON can say it."""
    cost = effective_cost(machine, need)
    return "infinite" if math.isinf(cost) else cost


def _why_preempted(situation: Situation, action: Action) -> tuple[Reason, ...]:
    verdict = _verdict_of(situation, action)
    victim = situation.machine_of_id[action.machine].machine
    owner = situation.holder_of_machine.get(victim.id)
    priority = owner.need.profile.priority if owner else victim.assigned.priority
    terms = _score_terms(situation, victim, action.preemptor_priority - priority)
    facts = {
        "need": need_name(verdict.need),
        "preemptorPriority": action.preemptor_priority,
        "victimPriority": priority,
        **terms,
        "graceSeconds": action.grace_seconds,
        "excess": owner is None and situation.is_ready(victim.cluster),
    }
    if action.whole_domain:
        facts |= {"domain": verdict.domain, "victims": verdict.preempts}
    refs = [machine_name(victim.id), need_name(verdict.need)]
    if owner is not None:
        refs.append(need_name(owner.need))
    reasons = [Reason("claim.higher", facts, tuple(refs), situation.cycle)]
    if facts["excess"]:
        reasons.append(
            Reason("excess", _excess_facts(situation, victim), tuple(refs[:1]), situation.cycle)
        )
    return ordered(reasons)


def _score_terms(situation: Situation, victim: Machine, gap: int) -> Mapping[str, Any]:
    weights, options = situation.fleet.options.victim_weights, situation.fleet.options
    stamp = victim.assigned
    terms = {
        "gapTerm": max(0, gap) * weights.priority,
        "drainTerm": weights.drain / max(1.0, options.drain_seconds),
        "interruptionTerm": weights.interruption / max(0.01, stamp.interruption_penalty),
        "reclamationTerm": weights.reclamation / max(0.01, stamp.reclamation_penalty),
    }
    return {
        "gap": gap,
        "score": sum(terms.values()),
        **terms,
        "drainSeconds": options.drain_seconds,
        "interruptionPenalty": _penalty(stamp.interruption_penalty),
        "reclamationPenalty": _penalty(stamp.reclamation_penalty),
    }


def _penalty(dollars: float) -> float | str:
    return "pinned" if math.isinf(dollars) else dollars


def _why_reclaimed(situation: Situation, action: Action) -> Reason:
    entry = situation.machine_of_id[action.machine]
    machine = entry.machine
    facts = _excess_facts(situation, machine) | {
        "machine": machine.id,
        "pricePerHour": machine.price_per_hour,
        "reclamationPenalty": _penalty(machine.assigned.reclamation_penalty),
        "graceSeconds": action.grace_seconds,
    }
    if entry.marks.empty:
        facts["empty"] = True
    return Reason(
        "excess",
        {name: fact for name, fact in facts.items() if name != "victim"},
        (machine_name(machine.id), f"cluster/{machine.cluster}"),
        situation.cycle,
    )


def _excess_facts(situation: Situation, machine: Machine) -> dict[str, Any]:
    cluster = machine.cluster
    return {
        "victim": machine.id,
        "cluster": cluster,
        "configured": situation.configured_of_cluster.get(cluster, 0),
        "claimed": situation.claimed_of_cluster.get(cluster, 0),
    }


def _why_deleted(situation: Situation, action: Action) -> Reason:
    entry = situation.machine_of_id[action.machine]
    kind = entry.machine.capacity_type
    return Reason(
        "hold.idle",
        {
            "capacityType": kind.label,
            "holdSeconds": situation.fleet.options.release_holds.get(kind, 0.0),
            "idleSeconds": _idle_seconds(situation, entry),
            "pricePerHour": entry.machine.price_per_hour,
        },
        (machine_name(action.machine),),
        situation.cycle,
    )


def _idle_seconds(situation: Situation, entry: FleetMachine) -> float:
    now, since = situation.fleet.now, entry.marks.idle_since
    return 0.0 if now is None or since is None else (now - since) / SECOND
