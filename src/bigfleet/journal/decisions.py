"""Decisions of a journal with their reasons: each is decided again; and cycles by their time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.journal.history import History
from bigfleet.journal.segments import Segment, records_in_order, records_of
from bigfleet.model.journal import InputChange, Keyframe, TickRun
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import ActionView


def explained(
    segments: Sequence[Segment], epoch: int, decisions: Sequence[ActionView]
) -> Iterator[ActionView]:
    """Decisions of one epoch, oldest first, with their sentences.

    Raises UnreadableJournal and BrokenJournal.
    """
    of_cycle: dict[int, list[ActionView]] = {}
    for view in decisions:
        of_cycle.setdefault(view.cycle, []).append(view)
    if not of_cycle:
        return
    first, last = (epoch, min(of_cycle)), (epoch, max(of_cycle))
    for cycle in History(first).cycles(records_in_order(segments, first)):
        place = cycle.epoch, cycle.given.cycle
        if place[0] == epoch and place[1] in of_cycle:
            decided = DecidedCycle(cycle.given, cycle.given.decide())
            for view in of_cycle[place[1]]:
                yield replace(view, reason=decided.view_at(view.index).reason)
        if place >= last:
            return


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
