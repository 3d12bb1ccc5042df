"""Why a Need has what it has: for an unmet one everything that stands in its way, in tier order."""

from collections.abc import Iterable, Iterator
from typing import Any

from bigfleet.engine.decision import Verdict
from bigfleet.explain.need_facts import (
    Group,
    Holder,
    NeedFacts,
    TooSmall,
    demanded,
    machine_name,
    need_name,
)
from bigfleet.explain.topology import why_the_shape_fails
from bigfleet.model.fleet import HeldBy
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.quantities import quantity_text
from bigfleet.model.reasons import Reason, ordered
from bigfleet.model.requirements import Operator, Requirement

#: Holders a reason refers to.
_MOST_HOLDERS = 8
_CODE_OF_HOLD = {HeldBy.BACKOFF: "supply.backoff", HeldBy.QUOTA: "supply.quota"}
_OPERATOR_WORDS = {
    Operator.IN: "in",
    Operator.NOT_IN: "not in",
    Operator.EXISTS: "present",
    Operator.DOES_NOT_EXIST: "absent",
    Operator.SAME: "present (Same)",
}


_STEPS = (
    (MachineState.CREATING, "flight.creating"),
    (MachineState.CONFIGURING, "flight.configuring"),
)


def reasons_of_need(facts: NeedFacts, verdict: Verdict) -> tuple[Reason, ...]:
    """The deciding one first."""
    if verdict.satisfied:
        return ordered(_why_satisfied(facts, verdict))
    reasons = [
        *why_the_shape_fails(facts, verdict),
        *_why_no_supply(facts, verdict),
        *_what_is_on_its_way(facts, verdict),
        *_why_others_hold_it(facts, verdict),
    ]
    return ordered(reasons or [Reason("supply.none", {}, (), facts.cycle)])


def _why_satisfied(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    acquired = verdict.bootstraps + verdict.provisions
    refs = (need_name(verdict.need.key),)
    if acquired:
        bought = {"bootstraps": verdict.bootstraps, "provisions": verdict.provisions}
        yield Reason("cost.rank", bought, refs, facts.cycle)
    kept = len(verdict.claimed) - acquired
    if kept:
        facts_kept = {"kept": kept, "cluster": verdict.need.cluster}
        yield Reason("keep.order", facts_kept, refs, facts.cycle)
    elif not acquired:
        yield Reason("keep.order", {}, refs, facts.cycle)


def _why_no_supply(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    yield from _held_supply(facts, verdict)
    if verdict.matching_supply:
        return
    if not facts.has_supply:
        yield Reason("supply.none", {"machines": facts.machine_count}, (), facts.cycle)
        return
    yield from _rejections(facts, verdict)


def _held_supply(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    """Machines that fit and may not be taken now, by what holds them."""
    for by, (group, until) in sorted(facts.held_supply(verdict).items()):
        said: dict[str, Any] = {"held": group.count, "by": by.value}
        if until is not None and by is HeldBy.BACKOFF:
            said["until"] = instant_text(until)
        code = _CODE_OF_HOLD.get(by, "supply.none")
        yield Reason(code, said, _refs(group.names), facts.cycle)


def _rejections(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    """Of all that could be supply: how many fail at which requirement, or are too small."""
    found = facts.rejections(verdict)
    for each in sorted(found.failed, key=lambda each: (-each.count, each.requirement)):
        said = {
            "requirement": requirement_text(each.requirement),
            "rejected": each.count,
            "machines": found.machines,
            "example": each.example,
            "value": each.value or "none",
        }
        yield Reason("supply.requirement", said, (machine_name(each.example),), facts.cycle)
    if found.small is not None:
        yield _too_small(facts, verdict.need, found.small)


def _too_small(facts: NeedFacts, need: Need, small: TooSmall) -> Reason:
    """In the dimension of which the nearest machine has the smallest part."""
    have, want = small.capacity, need.min_unit
    lacking = [name for name, amount in want.amounts if have[name] < amount]
    dimension = max(lacking, key=lambda name: (-have[name] / want[name], name))
    said = {
        "rejected": small.count,
        "dimension": dimension,
        "have": quantity_text(dimension, have[dimension]),
        "want": quantity_text(dimension, want[dimension]),
        "example": small.nearest,
    }
    return Reason("supply.min-unit", said, (machine_name(small.nearest),), facts.cycle)


def requirement_text(requirement: Requirement) -> str:
    words = _OPERATOR_WORDS.get(requirement.operator, "unknown")
    values = f" [{', '.join(requirement.values)}]" if requirement.values else ""
    return f"{requirement.key} {words}{values}"


def _what_is_on_its_way(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    need = verdict.need
    for state, code in _STEPS:
        if (group := facts.coming(verdict, state)).count:
            yield _flight(facts, need, code, group)
    if verdict.preempts:
        yield _new_victims(facts, verdict)
    if (draining := facts.reserved(verdict, MachineState.DRAINING)).count:
        yield _flight(facts, need, "flight.draining", draining)
    if (waiting := facts.reserved(verdict, MachineState.IDLE)).count:
        said = {"own": waiting.count}
        yield Reason("flight.reserved", said, _refs(waiting.names), facts.cycle)
    if (others := facts.reserved_for_others(verdict)).count:
        said = {"count": others.count}
        yield Reason("flight.reserved", said, _refs(others.names), facts.cycle)


def _flight(facts: NeedFacts, need: Need, code: str, group: Group) -> Reason:
    said = {"count": group.count, "capacity": demanded(group.capacity, need)}
    return Reason(code, said, _refs(group.names), facts.cycle)


def _new_victims(facts: NeedFacts, verdict: Verdict) -> Reason:
    """Its Preempts of this cycle; a victim is one kind of thing on its way."""
    victims = facts.new_victims(verdict)
    said = {"victims": victims.count, "grace": victims.grace_seconds}
    return Reason("flight.draining", said, _refs(victims.names), facts.cycle)


def _refs(names: Iterable[str]) -> tuple[str, ...]:
    """A few names to start from."""
    return tuple(map(machine_name, names))


def _why_others_hold_it(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    """Needs ahead of it, and machines it may not preempt."""
    yield from _ahead(facts, verdict)
    if verdict.unresolved.is_zero() or verdict.parked:
        return
    if verdict.preempts:
        said = {
            "victims": verdict.preempts,
            "unresolved": verdict.unresolved.positive().texts(),
        }
        yield Reason("preempt.exhausted", said, (need_name(verdict.need.key),), facts.cycle)
    else:
        yield from _none_lower(facts, verdict)


def _ahead(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    """Other Needs' machines that fit, by whether the holder stands above or only came first."""
    mine = verdict.need.profile.precedence
    holders = list(facts.holders(verdict))
    higher = [each for each in holders if each.need.profile.precedence > mine]
    equal = [each for each in holders if each.need.profile.precedence == mine]
    for code, found in (("claim.higher", higher), ("claim.earlier", equal)):
        if found:
            yield _held_by(facts, code, found)


def _held_by(facts: NeedFacts, code: str, holders: list[Holder]) -> Reason:
    largest = sorted(holders, key=lambda each: (-each.machines, each.need.key))
    said: dict[str, Any] = {
        "count": sum(each.machines for each in holders),
        "holder": need_name(largest[0].need.key),
        "priority": largest[0].need.profile.priority,
    }
    if len(holders) > 1:
        said["others"] = len(holders) - 1
    refs = tuple(need_name(each.need.key) for each in largest[:_MOST_HOLDERS])
    return Reason(code, said, refs, facts.cycle)


def _none_lower(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    need = verdict.need
    configured, lowest = facts.configured(verdict)
    if not configured or lowest < need.profile.priority:
        return  # some are lower, but outside the Need's domain, its skew, or spoken for
    said = {"configured": configured, "priority": need.profile.priority, "lowest": lowest}
    yield Reason("preempt.none-lower", said, (need_name(need.key),), facts.cycle)
