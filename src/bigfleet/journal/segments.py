"""The files of a journal: `<epoch>-<first cycle>.bfj`, each readable by itself.

Every segment begins with a header and a key frame, so that whole segments can be deleted, copied or
sent. Names sort as cycles do: cycles are counted anew with every epoch.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bigfleet.journal.frames import BrokenFrame, records_in, sound_length
from bigfleet.model.journal import JournalRecord
from bigfleet.model.machines import Instant
from bigfleet.wire.journal_records import record_of

SUFFIX = ".bfj"
_NAME = re.compile(r"(\d{10})-(\d{12})\.bfj")


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


def segments_in(directory: Path) -> list[Segment]:
    """Oldest first; files of other names are not the journal's."""
    found: list[Segment] = []
    for path in directory.iterdir():
        if named := _NAME.fullmatch(path.name):
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


def records_of(path: Path, *, last: bool) -> Iterator[JournalRecord]:
    """Of one file; a torn tail ends the `last` one, any other damage is UnreadableJournal."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableJournal(f"{path} cannot be read: {problem.strerror}") from None
    cycle = 0
    try:
        for offset, record in records_in(memoryview(content)):
            try:
                read = record_of(record)
            except ValueError as problem:
                text = f"{path}, byte {offset}, after cycle {cycle}: {problem}"
                raise UnreadableJournal(text) from None
            cycle = read.cycle
            yield read
    except BrokenFrame as broken:
        if not (broken.torn and last):
            raise UnreadableJournal(f"{path}, after cycle {cycle}: {broken}") from None


def records_in_order(directory: Path) -> Iterator[JournalRecord]:
    """Of all segments, oldest first. Raises UnreadableJournal."""
    segments = segments_in(directory)
    if not segments:
        raise UnreadableJournal(
            f"{directory} holds no journal: no file is named <epoch>-<cycle>.bfj"
        )
    for segment in segments:
        yield from records_of(segment.path, last=segment is segments[-1])
