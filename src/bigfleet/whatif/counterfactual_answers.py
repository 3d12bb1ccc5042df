"""A question about an unmet Need, and the answer as people and programs read it."""

from collections.abc import Callable

from bigfleet.engine.engine_input import EngineInput
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.model.counterfactuals import (
    MOST_LOSERS,
    CounterfactualAnswer,
    CounterfactualCall,
    ToldChange,
    ToldLoser,
    within_limits,
)
from bigfleet.model.needs import NeedKey
from bigfleet.model.what_if import Overlay
from bigfleet.whatif.applying import apply
from bigfleet.whatif.counterfactual import Counterfactual, Counterfactuals, searched
from bigfleet.whatif.lifted_holds import Lifting, RecordedRails
from bigfleet.whatif.overlay_text import text_of
from bigfleet.whatif.overlays_of_changes import overlay_of
from bigfleet.whatif.subjects import Subject, are_met, members_of, rows_of, with_own_tables


def answered(
    given: EngineInput,
    call: CounterfactualCall,
    cycle: str,
    clock: Callable[[], float],
    rails: RecordedRails | None = None,
) -> CounterfactualAnswer:
    """`rails`: what held actions of this cycle back; None: not known. Raises NoSuchObject and
    SeveralObjects."""
    call, notes = within_limits(call)
    began, own = clock(), with_own_tables(given)
    decided = DecidedCycle(own, own.decide(), cycle)
    key, keys = _named(decided, call)
    subject, seconds = Subject(own, keys), call.budget_ms / 1000
    found = searched(subject, decided.decision, clock, began, seconds, depth=call.depth)
    longest = (clock() - began) / (found.runs + 1)

    def is_time_left() -> bool:
        return clock() + longest < began + seconds

    rows = rows_of(decided.decision, keys)
    lifting = Lifting(decided.decision, rows, rails or RecordedRails())
    if not lifting.holds:
        changes = _told(found, call.include_tried, is_time_left)
    elif are_met(decided.decision, rows):
        changes = lifting.changes(call.depth, call.include_tried)
        notes = (*notes, *lifting.notes)
    else:
        changes = _told(found, call.include_tried, is_time_left)
        notes = (*notes, *lifting.beside)
    return CounterfactualAnswer(
        cycle=decided.name,
        need=key,
        need_id=key.need_id,
        priority=subject.needs[0].profile.priority,
        met=found.is_met and not lifting.holds,
        deficit=found.deficit,
        changes=changes,
        exhaustive=found.exhaustive,
        runs=found.runs,
        budget_ms=call.budget_ms,
        depth=call.depth,
        notes=notes,
    )


def _named(decided: DecidedCycle, call: CounterfactualCall) -> tuple[NeedKey, tuple[NeedKey, ...]]:
    """The name of the Need, and the Needs it means: all the gangs of a Need that folds them."""
    wanted, outcome = call.need, decided.outcome
    if wanted.fingerprint:
        row = decided.need_row_of_key(wanted)
        is_itself = bool(len(rows_of(decided.decision, (wanted,))))
        return wanted, (wanted,) if is_itself else members_of(decided.decision, row)
    row = decided.need_row(wanted.cluster, call.id_prefix)
    members = members_of(decided.decision, row)
    key = outcome.key(row)
    if row >= outcome.normalised.first_folded and not key.need_id.startswith(call.id_prefix):
        # One gang of those that were folded.
        key = next(each for each in members if each.need_id.startswith(call.id_prefix))
        return key, (key,)
    return key, members


def _told(
    found: Counterfactuals, include_tried: bool, is_time_left: Callable[[], bool]
) -> tuple[ToldChange, ...]:
    overlays = [_overlay(found.before, each, is_time_left) for each in found.found]
    told = [_change(each, said) for each, said in zip(found.found, overlays, strict=True)]
    unhelpful = [_change(each, ()) for each in found.unhelpful] if include_tried else []
    return (*told, *unhelpful)


def _overlay(before: Subject, found: Counterfactual, is_time_left: Callable[[], bool]) -> Overlay:
    """Only one that satisfies the Need too: what an overlay adds may be served in another order."""
    said = overlay_of(before, found.after, found.changes)
    if said.is_exact:
        return said.overlay
    if not is_time_left():
        return ()
    decision = apply(before.given, said.overlay).decide()
    return said.overlay if are_met(decision, rows_of(decision, found.after.keys)) else ()


def _change(found: Counterfactual, overlay: Overlay) -> ToldChange:
    losers = tuple(ToldLoser(each.need, each.lost) for each in found.losers[:MOST_LOSERS])
    return ToldChange(
        change=found.text,
        kinds=tuple(str(change.kind) for change in found.changes),
        amounts=tuple(change.amount for change in found.changes),
        satisfied=found.is_satisfied,
        new_deficit=found.deficit,
        delta_hourly_cost=found.dollars_per_hour,
        declared_penalties=found.penalty_dollars,
        pinned_victims=found.pinned_victims,
        preempts=found.preempts,
        losers=losers,
        loser_count=len(found.losers),
        runs=found.runs,
        smallest=found.is_smallest,
        overlay=tuple(map(text_of, overlay)),
    )
