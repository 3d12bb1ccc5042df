"""Who holds what a Need could use: Needs ahead of it, and machines it may not preempt."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bigfleet.engine.decision import Verdict
from bigfleet.explain.situation import Situation, need_name
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.reasons import Reason


def why_others_hold_it(situation: Situation, verdict: Verdict) -> Iterator[Reason]:
    yield from _ahead(situation, verdict)
    if verdict.unresolved.is_zero() or verdict.parked:
        return
    if verdict.preempts:
        facts = {
            "victims": verdict.preempts,
            "unresolved": verdict.unresolved.positive().texts(),
        }
        yield Reason("preempt.exhausted", facts, (need_name(verdict.need),), situation.cycle)
    else:
        yield from _none_lower(situation, verdict.need)


def _ahead(situation: Situation, verdict: Verdict) -> Iterator[Reason]:
    """Other Needs' machines that fit, by whether the holder stands above or only came first."""
    mine = verdict.need.profile.precedence
    held: Counter[NeedKey] = Counter()
    holders: dict[NeedKey, Need] = {}
    for entry in situation.fitting(verdict.need):
        holder = situation.holder_of_machine.get(entry.machine.id)
        if holder is not None and holder is not verdict:
            held[holder.need.key] += 1
            holders[holder.need.key] = holder.need
    higher = [key for key in holders if holders[key].profile.precedence > mine]
    equal = [key for key in holders if holders[key].profile.precedence == mine]
    for code, keys in (("claim.higher", higher), ("claim.earlier", equal)):
        if keys:
            yield _held_by(situation, code, keys, held, holders)


def _held_by(
    situation: Situation,
    code: str,
    keys: list[NeedKey],
    held: Counter[NeedKey],
    holders: dict[NeedKey, Need],
) -> Reason:
    largest = sorted(keys, key=lambda key: (-held[key], key))
    facts: dict[str, Any] = {
        "count": sum(held[key] for key in keys),
        "holder": need_name(holders[largest[0]]),
        "priority": holders[largest[0]].profile.priority,
    }
    if len(keys) > 1:
        facts["others"] = len(keys) - 1
    refs = tuple(need_name(holders[key]) for key in largest[:8])
    return Reason(code, facts, refs, situation.cycle)


def _none_lower(situation: Situation, need: Need) -> Iterator[Reason]:
    configured = [
        entry.machine
        for entry in situation.fitting(need)
        if entry.machine.state is MachineState.CONFIGURED
    ]
    if not configured:
        return
    lowest = min(_victim_priority(situation, machine) for machine in configured)
    if lowest < need.profile.priority:
        return  # some are lower, but outside the Need's domain, its skew, or spoken for
    facts = {"configured": len(configured), "priority": need.profile.priority, "lowest": lowest}
    yield Reason("preempt.none-lower", facts, (need_name(need),), situation.cycle)


def _victim_priority(situation: Situation, machine: Machine) -> int:
    """The priority of the Need that claims it this cycle, else the stamped one."""
    holder = situation.holder_of_machine.get(machine.id)
    return holder.need.profile.priority if holder else machine.assigned.priority
