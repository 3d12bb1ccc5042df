"""The cycles of a journal that a comparison of pools runs, and what is missing between them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from bigfleet.journal.decisions import cycle_when
from bigfleet.journal.history import LATEST, History, RecordedCycle
from bigfleet.journal.other_engine import until
from bigfleet.journal.segments import Segment, records_in_order
from bigfleet.model.instants import instant_text
from bigfleet.model.isolated import IsolatedCall

#: Reads the cycles that are asked for, from the first one on, with the history that reads them.
Reading = Callable[[], tuple[History, Iterable[RecordedCycle]]]


class NothingToCompare(Exception):
    """Why, in a sentence."""


class TooLong(Exception):
    """The time is up before anything could be compared."""


class JournalReading:
    """The cycles of a journal from one to another (epoch and number), as often as they are read."""

    def __init__(
        self, segments: Sequence[Segment], first: tuple[int, int], last: tuple[int, int]
    ) -> None:
        self._segments = segments
        self._span = first, last
        self._history: History | None = None

    @property
    def shard(self) -> str:
        assert self._history is not None, "it was read"
        return self._history.header.shard_id

    def __call__(self) -> tuple[History, Iterable[RecordedCycle]]:
        first, last = self._span
        self._history = History(first)
        records = records_in_order(self._segments, first)
        return self._history, until(self._history.cycles(records), last)


def latest_part(
    segments: Sequence[Segment], asked: IsolatedCall, most_bytes: int
) -> tuple[JournalReading, str]:
    """What a live shard compares: the time that is asked for, else the newest files; and what of
    the journal is left out, if anything. Raises NothingToCompare and UnreadableJournal."""
    last = LATEST
    if asked.until:
        found = cycle_when(segments, asked.until)
        if found is None:
            raise NothingToCompare("no cycle is recorded until then")
        last = found
    if asked.since:
        before = cycle_when(segments, asked.since - 1)
        first = (0, 0) if before is None else (before[0], before[1] + 1)
        return JournalReading(segments, first, last), ""
    begun = [each for each in segments if (each.epoch, each.first_cycle) <= last]
    kept, size = list[Segment](), 0
    for segment in reversed(begun):
        size += segment.size
        if kept and size > most_bytes:
            oldest, newest = segments[0], kept[-1]
            text = (
                f"the journal begins at cycle {oldest.epoch}:{oldest.first_cycle}; compared is its "
                f"newest part, from {newest.epoch}:{newest.first_cycle} on; "
                "--from says since when instead"
            )
            return JournalReading(kept[::-1], (0, 0), last), text
        kept.append(segment)
    return JournalReading(begun, (0, 0), last), ""


def observed(
    history: History, cycles: Iterable[RecordedCycle]
) -> Iterator[tuple[RecordedCycle, str]]:
    """Each with what is missing between it and the one before; empty: nothing is."""
    before, known = None, 0
    for cycle in cycles:
        gap = ""
        if before is not None:
            told = "; ".join(each.text for each in history.gaps[known:])
            gap = _gap(before, cycle, told)
        known, before = len(history.gaps), cycle
        yield cycle, gap


def _gap(before: RecordedCycle, cycle: RecordedCycle, told: str) -> str:
    since, until = instant_text(before.given.at), instant_text(cycle.given.at)
    span = f"{name_of(before)} ({since}) to {name_of(cycle)} ({until})"
    if cycle.epoch != before.epoch:
        return f"the shard started anew, from {span}"
    if told or cycle.given.cycle != before.given.cycle + 1:
        return f"cycles are missing, from {span}" + (f": {told}" if told else "")
    if cycle.given.at < before.given.at:
        return f"the clock went back, from {span}"
    return ""


def name_of(cycle: RecordedCycle) -> str:
    return f"{cycle.epoch}:{cycle.given.cycle}"
