"""Beats 10 to 12: why and what would help, what if a zone is lost, the journal decided again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bigfleet.model.counterfactuals import CounterfactualAnswer
from bigfleet.model.explanations import NeedExplanation
from bigfleet.model.what_if import WhatIfAnswer
from bigfleet.sim.workloads import ML
from bigfleet.up.tour.demands import TOO_LARGE, Demands
from bigfleet.up.tour.instructions import (
    COUNTERFACTUAL,
    REPLAY,
    WHAT_IF,
    WHY,
    AskFor,
    AskReplay,
    AskWhatIf,
    AskWhy,
    ReplayAnswer,
    Unanswered,
)
from bigfleet.up.tour.seen import FleetSeen
from bigfleet.up.tour.sentences import machines_text, rate_text
from bigfleet.up.tour.supply_beats import usual
from bigfleet.up.tour.tour import Beat, Impossible, Playing, Wait

T = TypeVar("T")
#: More machines than a rack of the fleet has.
_GIANT_MEMBERS = 150
REPLAYED_SECONDS = 300.0


def why(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def play(_: FleetSeen) -> Playing:
        yield usual(demands)
        need = TOO_LARGE.need_key(ML)
        giant = demands.gang(TOO_LARGE, demands.nodes(_GIANT_MEMBERS))
        yield Wait(
            "ml has asked for more machines than one rack has, and is short of them",
            lambda seen: seen.clusters[ML].needs.short > 0,
            (AskFor(demands.usual(giant)),),
        )
        seen = yield Wait(
            "the shard has said why, and what would help",
            lambda seen: {WHY, COUNTERFACTUAL} <= seen.answers.keys(),
            (AskWhy(need),),
            instead=lambda seen: "it has not answered",
        )
        said = answer_to(seen, WHY, NeedExplanation)
        told = answer_to(seen, COUNTERFACTUAL, CounterfactualAnswer)
        helps = [each for each in told.changes if each.satisfied]
        if not helps:
            raise Impossible(f"{said.sentence}; of {told.runs} changes none would satisfy it")
        name = f"need/{ML}/{need.need_id}"
        return (
            f"Why is {name} short? Because {said.sentence.rstrip('.')}. What would help, after "
            f"{told.runs} runs of the engine: {helps[0].change}"
            f"{f'; {len(helps) - 1} other changes would too' if len(helps) > 1 else ''}. "
            f"Ask it yourself: bigfleet why {name} --counterfactual"
        )

    return play


def what_if(demands: Demands, zone: str) -> Callable[[FleetSeen], Playing]:
    def play(_: FleetSeen) -> Playing:
        yield usual(demands)
        seen = yield Wait(
            f"the shard has decided a cycle without zone {zone}",
            lambda seen: WHAT_IF in seen.answers,
            (AskWhatIf(zone),),
            instead=lambda seen: "it has not answered",
        )
        told = answer_to(seen, WHAT_IF, WhatIfAnswer)
        lost = ", ".join(f"{c.cluster} {c.lost:,}" for c in told.clusters if c.lost) or "none"
        short = sum(told.changed.shortfalls_by_priority.values())
        starts = sum(told.changed.actions_by_kind.values())
        after = f"{short} needs would stay short" if short else "no need would stay short"
        rates = [rate_text(side.cost_per_hour) for side in (told.base, told.changed)]
        bill = f"the bill stays at {rates[0]}"
        if rates[0] != rates[1]:
            bill = f"{rates[0]} would become {rates[1]}"
        return (
            f"Without zone {zone} {machines_text(told.removed)} are gone (in use: {lost}). The "
            f"next cycle would start {machines_text(starts, 'action')}, {after}, and {bill}. "
            f"Nothing was changed; it is about cycle {told.cycle}."
        )

    return play


def replay(demands: Demands) -> Callable[[FleetSeen], Playing]:
    def play(_: FleetSeen) -> Playing:
        seen = yield usual(demands)
        seen = yield Wait(
            "the last five minutes of the journal are decided again",
            lambda seen: REPLAY in seen.answers,
            (AskReplay(REPLAYED_SECONDS),),
            limit_seconds=3_600.0,
            instead=lambda seen: "it is still at it",
        )
        told = answer_to(seen, REPLAY, ReplayAnswer)
        if not told.cycles or told.identical != told.cycles:
            raise Impossible(f"{told.identical:,} of {told.cycles:,} cycles are identical")
        gap = f" {told.missing:,} cycles are not in the journal." if told.missing else ""
        return (
            f"Everything that was decided in the last five minutes was decided again from the "
            f"journal: {told.identical:,} of {told.cycles:,} cycles identical, {told.first} to "
            f"{told.last}.{gap}"
        )

    return play


@dataclass(frozen=True, slots=True)
class _Nothing:
    """Stands for an answer that did not come."""


def answer_to(seen: FleetSeen, question: str, kind: type[T]) -> T:
    """Raises Impossible with what was said instead."""
    found = seen.answers.get(question, _Nothing())
    if isinstance(found, kind):
        return found
    raise Impossible(found.text if isinstance(found, Unanswered) else f"{question}: {found}")


def question_beats(demands: Demands, zone: str) -> list[Beat]:
    return [
        Beat(
            "why",
            "Ask why",
            "A need that cannot be met: what stands in its way, and what would satisfy it.",
            why(demands),
        ),
        Beat(
            "whatif",
            f"What if zone {zone} is lost",
            "The same engine on an edited copy of the fleet; nothing is changed.",
            what_if(demands, zone),
        ),
        Beat(
            "replay",
            "Decided again",
            "The last five minutes from the journal: the same decisions, cycle by cycle.",
            replay(demands),
        ),
    ]
