"""The state of a Need in an answer about one cycle, with what holds it back and what lifts it.

A live shard has judged every Need of its last cycle. A journal or a fleet file is judged again, by
the same rules, on what is recorded; reports of Nodes and pods are not, so that no Need of theirs is
ever called met.
"""

from dataclasses import replace

from bigfleet.engine.need_progress import NeedProgress, progress_of
from bigfleet.engine.need_views import NeedViews
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.need_reasons import NeedReasons
from bigfleet.explain.need_states import Cause, Holds, judged
from bigfleet.model.explanations import NeedExplanation
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import is_margin
from bigfleet.model.reasons import ToldReason

JOURNAL = "a journal"
FLEET_FILE = "a fleet file"


def told_with(
    told: NeedExplanation, state: NeedState, reason: ToldReason, remedy: str
) -> NeedExplanation:
    """What holds a Need back comes before what the engine says of it."""
    if state is not NeedState.BLOCKED:
        return replace(told, state=state)
    reasons = (reason, *(each for each in told.reasons if each.text != reason.text))
    notes = (*told.notes, f"what helps: {remedy}") if remedy else told.notes
    return replace(told, state=state, sentence=reason.text, reasons=reasons, notes=notes)


def judged_again(
    told: NeedExplanation,
    cycle: DecidedCycle,
    row: int,
    holds: Holds,
    source: str,
    unknown: tuple[str, ...] = (),
    progress: NeedProgress | None = None,
) -> NeedExplanation:
    """`holds`: as far as they are recorded in `source`; `unknown`: sentences about what of them is
    not, said of a Need that seems to arrive."""
    decision = cycle.decision
    states = judged(decision, progress or progress_of(decision), holds, None)
    cause = Cause(int(states.cause[row]))
    if cause is Cause.NONE:
        note = (
            "its machines are Configured; whether their Nodes are usable and its pods run is not"
            f" in {source}"
        )
        return replace(told, notes=(*told.notes, note))
    if cause is Cause.NO_SUPPLY and is_margin(told.view.need.group):
        note = f"a margin is short only while a pod waits, and that is not in {source}"
        return replace(told, notes=(*told.notes, note))
    reasons = NeedReasons(decision, NeedViews(decision), states, cycle.facts)
    reason, remedy = reasons.of(row)
    state = NeedState(int(states.state[row]))
    if state is NeedState.ARRIVING:
        told = replace(told, notes=(*told.notes, *unknown))
    return told_with(told, state, reason.told, remedy)


def judged_from_file(told: NeedExplanation, cycle: DecidedCycle, row: int) -> NeedExplanation:
    """A fleet file holds what the engine looks at, and nothing of what stands between a decision
    and its machines."""
    unknown = (
        "pauses, rails, sessions and how actions end are not in a fleet file: whether something"
        " holds it back is not known"
    )
    holds = Holds(cycle.given.at)
    return judged_again(told, cycle, row, holds, FLEET_FILE, (unknown,))
