"""The files of a journal: `<epoch>-<first cycle>.bfj`, each readable by itself.

Every segment begins with a header and a key frame, so that whole segments can be deleted, copied or
sent. Names sort as cycles do: cycles are counted anew with every epoch.
"""

import os
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bigfleet.journal.frames import BrokenFrame, beginnings_in, records_in, sound_length
from bigfleet.model.journal import JournalHeader, JournalRecord
from bigfleet.model.machines import Instant
from bigfleet.wire.journal_records import (
    HEADER,
    KEYFRAME,
    kind_and_cycle,
    kind_of,
    records_from,
)

SUFFIX = ".bfj"
_NAME = re.compile(r"(\d{10})-(\d{12})\.bfj")
#: What is kept of a cycle that decided nothing lies beside the segments and is none of them.
_FAILURE_NAME = re.compile(r"failed-(\d{10})-(\d{12})\.bfj")


class UnreadableJournal(Exception):
    """What cannot be read, in one sentence that names the file and the cycle."""


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    epoch: int
    first_cycle: int
    path: Path
    size: int
    written_at: Instant


def segment_name(epoch: int, first_cycle: int) -> str:
    return f"{epoch:010d}-{first_cycle:012d}{SUFFIX}"


def failure_name(epoch: int, cycle: int) -> str:
    return f"failed-{epoch:010d}-{cycle:012d}{SUFFIX}"


def is_failure(path: Path) -> bool:
    """Whether it is the input of a cycle that decided nothing."""
    return _FAILURE_NAME.fullmatch(path.name) is not None


def segments_in(directory: Path) -> list[Segment]:
    """Oldest first; files of other names are not the journal's."""
    return _named(directory, _NAME)


def failures_in(directory: Path) -> list[Segment]:
    """Inputs of cycles that decided nothing, oldest first."""
    return _named(directory, _FAILURE_NAME)


def _named(directory: Path, pattern: re.Pattern[str]) -> list[Segment]:
    found: list[Segment] = []
    for path in directory.iterdir():
        if named := pattern.fullmatch(path.name):
            facts = path.stat()
            epoch, cycle = int(named[1]), int(named[2])
            found.append(Segment(epoch, cycle, path, facts.st_size, facts.st_mtime_ns))
    return sorted(found)


def expired(
    segments: Sequence[Segment], now: Instant, max_bytes: int, max_age_seconds: float
) -> list[Segment]:
    """Oldest first, those to delete; the newest always stays."""
    oldest = now - int(max_age_seconds * 1e9)
    total = sum(segment.size for segment in segments)
    gone: list[Segment] = []
    for segment in segments[:-1]:
        if total <= max_bytes and segment.written_at >= oldest:
            break
        total -= segment.size
        gone.append(segment)
    return gone


def cut_torn_tail(path: Path) -> int:
    """Bytes cut off: what a crash left of a frame that was being written."""
    content = path.read_bytes()
    sound = sound_length(memoryview(content))
    if sound < len(content):
        os.truncate(path, sound)
    return len(content) - sound


def records_of(
    path: Path,
    *,
    last: bool,
    kinds: Container[int] | None = None,
    from_cycle: int = 0,
) -> Iterator[JournalRecord]:
    """Of one file; a torn tail ends the `last` one, any other damage is UnreadableJournal.

    `kinds` (of `wire.journal_records`): only those, read many times faster than all. `from_cycle`:
    what lies before the last key frame up to that cycle is passed over.
    """

    def wanted(start: bytes) -> bool:
        kind = kind_of(start)
        # A header is read whatever is wanted: it says whether this version can read the rest.
        return not kind or kind == HEADER or kind in (kinds or ())

    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableJournal(f"{path} cannot be read: {problem.strerror}") from None
    cycle = 0
    try:
        whole = memoryview(content)
        start = _start_for(whole, from_cycle) if from_cycle else 0
        for offset, record in records_in(whole, start, None if kinds is None else wanted):
            try:
                read = records_from(record)
            except ValueError as problem:
                text = f"{path}, byte {offset}, after cycle {cycle}: {problem}"
                raise UnreadableJournal(text) from None
            cycle = max(cycle, *(each.cycle for each in read), 0)
            if kinds is None or HEADER in kinds or not isinstance(read[0].body, JournalHeader):
                yield from read
    except BrokenFrame as broken:
        if not (broken.torn and last):
            raise UnreadableJournal(f"{path}, after cycle {cycle}: {broken}") from None


def segments_of(journal: Path) -> list[Segment]:
    """Of a directory, or the one a file is. Raises UnreadableJournal where there is none."""
    directory = journal if journal.is_dir() else journal.parent
    found = [each for each in segments_in(directory) if journal in (directory, each.path)]
    found = found or [each for each in failures_in(directory) if each.path == journal]
    if not found:
        text = f"{journal} is not a journal: no file is named <epoch>-<cycle>{SUFFIX}"
        raise UnreadableJournal(text)
    return found


def records_in_order(
    segments: Sequence[Segment], first: tuple[int, int] = (0, 0)
) -> Iterator[JournalRecord]:
    """Oldest first, from the last key frame up to the cycle `first` (epoch and number) on.

    Raises UnreadableJournal.
    """
    before = [place for place, each in enumerate(segments) if _begin(each) <= first]
    for segment in segments[before[-1] if before else 0 :]:
        from_cycle = first[1] if segment.epoch == first[0] else 0
        yield from records_of(segment.path, last=segment is segments[-1], from_cycle=from_cycle)


def _start_for(content: memoryview, cycle: int) -> int:
    """Where the header lies that comes before the last key frame up to a cycle.

    Frames are told apart by their first bytes, so this takes a small part of reading them. It ends
    at what is damaged: reading finds it again, unless it lies behind what is wanted.
    """
    start = header = 0
    try:
        for offset, first in beginnings_in(content):
            kind, number = kind_and_cycle(first)
            if kind == HEADER:
                header = offset
            elif kind == KEYFRAME and number > cycle:
                break
            elif kind == KEYFRAME:
                start = header
    except BrokenFrame:
        return start
    return start


def _begin(segment: Segment) -> tuple[int, int]:
    return segment.epoch, segment.first_cycle
