"""What a journal has decided about an object: from its records, explained by deciding again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.journal.history import History
from bigfleet.journal.segments import Segment, records_in_order, records_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.journal import CycleOutput, InputChange, Keyframe, TickRun
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import ActionView, Disposition

#: A cycle may lie between two that decide the same.
_APART = 2


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    epoch: int
    #: Of the first cycle.
    view: ActionView
    #: Cycles that decided it, and the last of them.
    times: int = 1
    last_cycle: int = 0

    @property
    def place(self) -> tuple[int, int]:
        return self.epoch, self.view.cycle


def decisions_about(
    segments: Sequence[Segment],
    matches: Callable[[ActionView], bool],
    most: int,
    until: tuple[int, int] | None = None,
) -> list[RecordedDecision]:
    """The last of them, oldest first, without sentences: what several cycles in a row decide alike
    is one. Nothing older is read than it takes. Raises UnreadableJournal."""
    found: list[RecordedDecision] = []
    for segment in reversed(segments):
        if until is not None and (segment.epoch, segment.first_cycle) > until:
            continue
        last = segment is segments[-1]
        views = (view for view in _views_in(segment, last=last) if matches(view))
        found = [*_told_once(segment.epoch, views, until), *found]
        if len(found) >= most:
            break
    return found[-most:]


def explained(
    segments: Sequence[Segment], decisions: Sequence[RecordedDecision]
) -> Iterator[RecordedDecision]:
    """With their sentences: each cycle is decided again.

    Raises UnreadableJournal and BrokenJournal."""
    of_cycle: dict[tuple[int, int], list[RecordedDecision]] = {}
    for each in decisions:
        of_cycle.setdefault(each.place, []).append(each)
    if not of_cycle:
        return
    first, last = min(of_cycle), max(of_cycle)
    for cycle in History(first).cycles(records_in_order(segments, first)):
        place = cycle.epoch, cycle.given.cycle
        for each in of_cycle.get(place, ()):
            decided = DecidedCycle(cycle.given, cycle.given.decide(), "", ())
            reason = decided.view_at(each.view.index).reason
            yield replace(each, view=replace(each.view, reason=reason))
        if place >= last:
            return


def cycle_when(segments: Sequence[Segment], instant: Instant) -> tuple[int, int] | None:
    """The last cycle that was decided then or before; None: none is recorded."""
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


def _views_in(segment: Segment, *, last: bool) -> Iterator[ActionView]:
    for record in records_of(segment.path, last=last):
        if isinstance(record.body, CycleOutput):
            for view in record.body.actions:
                yield replace(view, cycle=record.cycle, at=record.at)


def _told_once(
    epoch: int, views: Iterator[ActionView], until: tuple[int, int] | None
) -> list[RecordedDecision]:
    found: dict[tuple[ActionKind, str, str, Disposition | None, int], RecordedDecision] = {}
    #: The first cycle of the run that may go on.
    open_runs: dict[tuple[ActionKind, str, str, Disposition | None], int] = {}
    for view in views:
        if until is not None and (epoch, view.cycle) > until:
            break
        what = view.kind, view.machine, view.cluster, view.disposition
        begun = (*what, open_runs.get(what, -1))
        run = found.get(begun)
        if run is not None and view.cycle - run.last_cycle <= _APART:
            found[begun] = replace(run, times=run.times + 1, last_cycle=view.cycle)
        else:
            open_runs[what] = view.cycle
            found[(*what, view.cycle)] = RecordedDecision(epoch, view, 1, view.cycle)
    return list(found.values())
