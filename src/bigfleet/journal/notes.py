"""What a journal tells of its cycles without deciding them again: decisions, ends, stories, events.

Only records of the wanted kinds are read, segment by segment.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bigfleet.journal.history import LATEST, cycle_at
from bigfleet.journal.segments import Segment, records_of
from bigfleet.model.journal import CycleOutput, JournalEvent, JournalRecord
from bigfleet.model.machine_answers import DecisionQuery
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseSource
from bigfleet.model.shard_views import ActionView, Disposition, StoryEvent
from bigfleet.wire.journal_records import EVENT_RECORD, NOTES, OUTCOME, OUTPUT, STORY

#: After which the end of an action is not looked for any more: every deadline is over.
LONGEST_ACTION = 2 * 3600 * SECOND
#: By cycle and machine, which has one action a cycle.
Ended = Mapping[tuple[int, str], ActionView]


def ended_actions(
    segments: Sequence[Segment], name: tuple[int, int], views: Iterable[ActionView]
) -> Ended:
    """How those of these actions ended that were begun, all of one cycle (epoch and number).

    Raises UnreadableJournal.
    """
    wanted = {view.machine for view in views if view.disposition is Disposition.ENQUEUED}
    ended: dict[tuple[int, str], ActionView] = {}
    if not wanted:
        return ended
    latest: Instant | None = None
    for record in _records_from(segments, name, (OUTCOME, NOTES, OUTPUT)):
        if isinstance(record.body, CycleOutput) and record.cycle == name[1]:
            latest = record.at + LONGEST_ACTION
        if latest is not None and record.at > latest:
            break
        body = record.body
        if isinstance(body, ActionView) and body.cycle == name[1] and body.machine in wanted:
            ended[body.cycle, body.machine] = body
            wanted.discard(body.machine)
            if not wanted:
                break
    return ended


@dataclass(frozen=True, slots=True)
class FoundStory:
    #: Newest last.
    events: tuple[StoryEvent, ...]
    #: Older ones were left out.
    truncated: bool


def story_of(
    segments: Sequence[Segment], machine: str, until: tuple[int, int], most: int
) -> FoundStory:
    """The newest so many lines of a machine's story, up to a cycle (epoch and number).

    Raises UnreadableJournal.
    """
    found: list[StoryEvent] = []
    for segment in _newest_first(segments, until):
        lines = [
            record.body
            for record in records_of(
                segment.path, last=segment is segments[-1], kinds=(STORY, NOTES)
            )
            if isinstance(record.body, StoryEvent)
            and record.body.machine == machine
            and (segment.epoch, record.cycle) <= until
        ]
        found = [*lines, *found]
        if len(found) > most:
            break
    return FoundStory(tuple(found[-most:]), len(found) > most)


def last_decided(segments: Sequence[Segment], machine: str) -> tuple[int, int] | None:
    """The last recorded cycle that decided something about the machine; None: none did.

    Raises UnreadableJournal.
    """
    for segment in reversed(segments):
        cycles = [
            record.cycle
            for record in records_of(segment.path, last=segment is segments[-1], kinds=(OUTPUT,))
            if isinstance(record.body, CycleOutput)
            and any(view.machine == machine for view in record.body.actions)
        ]
        if cycles:
            return segment.epoch, cycles[-1]
    return None


@dataclass(frozen=True, slots=True)
class FoundDecisions:
    #: Newest last, without their sentences.
    decisions: tuple[ActionView, ...]
    truncated: bool


def decisions_in(
    segments: Sequence[Segment],
    epoch: int,
    query: DecisionQuery,
    most: int,
    is_time_up: Callable[[], bool] = lambda: False,
) -> FoundDecisions:
    """The newest so many that match, of one epoch, with how they ended where that is recorded.

    What is held back is decided anew in every cycle, and told once. Raises UnreadableJournal.
    """
    found: list[ActionView] = []
    ended: dict[tuple[int, str], ActionView] = {}
    until = epoch, query.to_cycle or 2**63
    # Of later segments only how these actions ended.
    for segment in _newest_first(segments, (epoch, 2**63)):
        here: list[ActionView] = []
        said: set[tuple[str, Disposition | None]] = set()
        kinds = (OUTCOME, NOTES, OUTPUT)
        for record in records_of(segment.path, last=segment is segments[-1], kinds=kinds):
            body = record.body
            if isinstance(body, ActionView):
                ended[body.cycle, body.machine] = body
            elif isinstance(body, CycleOutput) and (epoch, record.cycle) <= until:
                fresh = [view for view in body.actions if _is_told(view, said)]
                said = {(view.machine, view.disposition) for view in body.actions}
                here += filter(query.matches, fresh)
        found = [*here, *found]
        is_over = segment.first_cycle <= query.from_cycle
        if is_over or len(found) > most or is_time_up():
            shown = tuple(_with_end(view, ended) for view in found[-most:])
            return FoundDecisions(shown, not is_over or len(found) > most)
    return FoundDecisions(tuple(_with_end(view, ended) for view in found[-most:]), True)


#: Of pauses; each has the pause itself.
PAUSE_EVENTS = ("pause_set", "pause_lifted", "pause_expired")


@dataclass(frozen=True, slots=True)
class PausesThen:
    #: `3:18231`, the cycle they were in force at, and when it was decided.
    cycle: str
    at: Instant
    shard: str
    in_force: tuple[Pause, ...]
    #: Those that had ended by then, oldest first.
    ended: tuple[Pause, ...]


def pauses_at(segments: Sequence[Segment], at: tuple[int, int]) -> PausesThen | None:
    """When a cycle (epoch and number) was decided, or at the end of the journal; None: the cycle is
    not recorded.

    Raises UnreadableJournal and BrokenJournal.
    """
    found = cycle_at(segments, at)
    if found is None:
        return None
    in_force = {_name(each): each for each in found.recorded.pauses}
    ended: list[Pause] = []
    for record, event in events_in(segments, PAUSE_EVENTS, at):
        pause, is_after = event.pause, record.at >= found.recorded.given.at
        if pause is None:
            continue
        if at == LATEST and is_after:
            # What came after the last cycle.
            in_force.pop(_name(pause), None)
            if pause.ended_at is None:
                in_force[_name(pause)] = pause
        if pause.ended_at is not None and _name(pause) not in in_force:
            ended.append(pause)
    then, shard = found.recorded.given.at, found.header.shard_id
    return PausesThen(found.name, then, shard, tuple(in_force.values()), tuple(ended))


def _name(pause: Pause) -> tuple[PauseSource, str, Instant]:
    """The same id may be used again."""
    return pause.source, pause.pause_id, pause.created_at


def events_in(
    segments: Sequence[Segment], kinds: Container[str], until: tuple[int, int]
) -> Iterator[tuple[JournalRecord, JournalEvent]]:
    """Oldest first, up to a cycle (epoch and number). Raises UnreadableJournal."""
    for segment in reversed(_newest_first(segments, until)):
        wanted = (EVENT_RECORD, NOTES)
        for record in records_of(segment.path, last=segment is segments[-1], kinds=wanted):
            body = record.body
            if (
                isinstance(body, JournalEvent)
                and body.kind in kinds
                and (segment.epoch, record.cycle) <= until
            ):
                yield record, body


def _is_told(view: ActionView, said: Container[tuple[str, Disposition | None]]) -> bool:
    if view.disposition is Disposition.ENQUEUED:
        return True
    waits = view.disposition in (Disposition.DEDUPED, Disposition.DROPPED)
    return not waits and (view.machine, view.disposition) not in said


def _with_end(view: ActionView, ended: Ended) -> ActionView:
    known = ended.get((view.cycle, view.machine))
    return view if known is None else replace(view, outcome=known.outcome)


def _newest_first(segments: Sequence[Segment], until: tuple[int, int]) -> list[Segment]:
    """Notes of a cycle may stand in the segment after it, but never in one before."""
    return [each for each in reversed(segments) if (each.epoch, each.first_cycle) <= until]


def _records_from(
    segments: Sequence[Segment], name: tuple[int, int], kinds: Container[int]
) -> Iterator[JournalRecord]:
    begun = [place for place, each in enumerate(segments) if (each.epoch, each.first_cycle) <= name]
    for segment in segments[begun[-1] if begun else 0 :]:
        yield from records_of(segment.path, last=segment is segments[-1], kinds=kinds)
