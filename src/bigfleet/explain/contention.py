"""Who holds what a Need could use: Needs ahead of it, and machines it may not preempt."""

from collections.abc import Iterator
from typing import Any

from bigfleet.engine.decision import Verdict
from bigfleet.explain.need_facts import Holder, NeedFacts, need_name
from bigfleet.model.reasons import Reason

#: Holders a reason refers to.
_MOST_HOLDERS = 8


def why_others_hold_it(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
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
