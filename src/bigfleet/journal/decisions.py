"""Decisions of a journal with their reasons: each is decided again; and cycles by their time."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

from bigfleet.explain.decided_cycle import DecidedCycle, held_back_by
from bigfleet.journal.history import History
from bigfleet.journal.segments import Segment, records_in_order, records_of
from bigfleet.model.journal import InputChange, Keyframe, TickRun
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import ActionView


def explained(
    segments: Sequence[Segment],
    epoch: int,
    decisions: Sequence[ActionView],
    is_time_up: Callable[[], bool] = lambda: False,
) -> tuple[ActionView, ...]:
    """Decisions of one epoch in the same order, with why they were made: their cycles are decided
    again, those of the newest files first, until the time is up. The others stay as they are.

    Raises UnreadableJournal and BrokenJournal.
    """
    told: dict[tuple[int, int], ActionView] = {}
    for wanted in _by_segment(segments, epoch, decisions):
        first, last = (epoch, min(wanted)), (epoch, max(wanted))
        for cycle in History(first).cycles(records_in_order(segments, first)):
            place = cycle.epoch, cycle.given.cycle
            if place > last or is_time_up():
                break
            if place[1] in wanted:
                decided = DecidedCycle(cycle.given, cycle.given.decide())
                for view in wanted[place[1]]:
                    told[view.cycle, view.index] = _with_reasons(view, decided.view_at(view.index))
            if place == last:
                break
    return tuple(told.get((view.cycle, view.index), view) for view in decisions)


def _by_segment(
    segments: Sequence[Segment], epoch: int, decisions: Sequence[ActionView]
) -> list[dict[int, list[ActionView]]]:
    """By cycle, for each segment that has some; the newest segment first."""
    starts = [each.first_cycle for each in segments if each.epoch == epoch]
    found: dict[int, dict[int, list[ActionView]]] = {}
    for view in decisions:
        here = found.setdefault(bisect_right(starts, view.cycle), {})
        here.setdefault(view.cycle, []).append(view)
    return [found[place] for place in sorted(found, reverse=True)]


def _with_reasons(view: ActionView, decided: ActionView) -> ActionView:
    return replace(
        view,
        reason=decided.reason,
        reasons=(*held_back_by(view), *decided.reasons),
        bill_change=decided.bill_change,
    )


def cycle_when(segments: Sequence[Segment], instant: Instant) -> tuple[int, int] | None:
    """The last cycle (epoch and number) that was decided then or before; None: none is recorded.

    Raises UnreadableJournal.
    """
    for segment in reversed(segments):
        if cycle := _cycle_in(segment, instant, last=segment is segments[-1]):
            return segment.epoch, cycle
    return None


def _cycle_in(segment: Segment, instant: Instant, *, last: bool) -> int:
    found = 0
    for record in records_of(segment.path, last=last):
        body = record.body
        if isinstance(body, TickRun):
            at = body.last_now - sum(body.steps)
            for cycle, step in enumerate(body.steps, body.first_cycle):
                at += step
                if at <= instant:
                    found = cycle
        elif isinstance(body, (Keyframe, InputChange)):
            now = body.state.now if isinstance(body, Keyframe) else body.now
            if now > instant:
                break
            found = record.cycle
    return found
