"""The journal on disk: appends records, begins new segments, deletes old ones.

Used by one thread. A disk that is full gives up its oldest segment first; where that does not help
nothing is recorded until it does, and what is missing is told as a gap. After any failure the next
cycle begins a new segment: what a failed write left is never continued.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from bigfleet.journal.frames import frame_of
from bigfleet.journal.recorder import FailedCycle, FinishedCycle, Note, Recorder
from bigfleet.journal.segments import (
    Segment,
    cut_torn_tail,
    expired,
    failure_name,
    failures_in,
    segment_name,
    segments_in,
)
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: Inputs of cycles that decided nothing: an engine that fails every second has the same to say.
MOST_FAILURES = 5
FAILURE_PAUSE = 60 * SECOND


@dataclass(frozen=True, slots=True)
class JournalLimits:
    max_bytes: int = 4 * 2**30
    max_age_seconds: float = 72 * 3600.0
    segment_bytes: int = 64 * 2**20


class Disk(Protocol):
    """The seam at which a test has a disk that is full, slow or gone."""

    def open(self, path: Path) -> BinaryIO: ...
    def write(self, file: BinaryIO, content: bytes) -> None: ...
    def sync(self, file: BinaryIO) -> None: ...


class RealDisk:
    def open(self, path: Path) -> BinaryIO:
        return path.open("xb", buffering=0)

    def write(self, file: BinaryIO, content: bytes) -> None:
        left = memoryview(content)
        while len(left):
            left = left[file.write(left) :]

    def sync(self, file: BinaryIO) -> None:
        os.fsync(file.fileno())


class JournalFile:
    def __init__(
        self,
        directory: Path,
        shard_id: str,
        epoch: int,
        version: str,
        limits: JournalLimits,
        disk: Disk | None = None,
    ) -> None:
        self._directory = directory
        self._epoch = epoch
        self._limits = limits
        self._disk = disk or RealDisk()
        self._recorder = Recorder(shard_id, epoch, version)
        self._file: BinaryIO | None = None
        #: Bytes of whole frames in the open segment.
        self._size = 0
        self._unsynced = False
        #: Deleting a segment did not help: no second one is given up for nothing.
        self._deleted_in_vain = False
        #: The first cycle that is not recorded, and how many are not.
        self._missing: tuple[int, int] = (0, 0)
        #: Of the last cycle that decided nothing and was kept.
        self._failed_at: Instant | None = None
        #: Why nothing is recorded now; empty: all is well.
        self.trouble = ""
        self.gaps = 0
        self.written_bytes = 0
        self.write_errors = 0
        #: When the oldest kept segment was begun; None: there is none.
        self.oldest_at: Instant | None = None
        #: The first cycle of this epoch that can still be read; 0: none is recorded.
        self.first_cycle = 0
        #: Hears, in the thread that writes, of records that are written.
        self.on_written: Callable[[list[bytes]], None] = lambda records: None

    def prepare(self) -> None:
        """To be called once, before anything is recorded."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            kept = segments_in(self._directory)
            for segment in kept[-1:]:
                cut_torn_tail(segment.path)
            # Its last write, which is when the next one was begun: good enough to alert on.
            self.oldest_at = kept[0].written_at if kept else None
        except OSError as problem:
            self.trouble = _cannot_be_written(problem)

    def miss(self, cycle: int, cycles: int, why: str) -> None:
        """Cycles that will never be recorded."""
        first, count = self._missing
        self._missing = (first or cycle, count + cycles)
        self.gaps += cycles
        self.trouble = why

    def record(self, cycle: FinishedCycle, at: Instant) -> None:
        told = [*self._recorder.quiet_cycles, cycle.given.cycle]
        try:
            if self._file is None or self._size >= self._limits.segment_bytes:
                self._begin_segment(cycle.given.cycle, at)
                records = self._recorder.record(cycle, new_segment=True)
            else:
                records = self._recorder.record(cycle)
            self._append(records)
            self._tell_missing(at)
            self.trouble = ""
            self.first_cycle = self.first_cycle or cycle.given.cycle
        except OSError as problem:
            self._give_up(told, problem)

    @property
    def takes_notes(self) -> bool:
        """Whether a segment is open: a note without one would have no place."""
        return self._file is not None

    def note(self, notes: Sequence[Note]) -> int:
        """What happened beside the cycles, written together; how many were lost."""
        if not notes or self._file is None:
            return len(notes)
        try:
            content, lost = self._recorder.notes(notes), 0
        except ValueError:
            # A text that is none: it is dropped, and those beside it stay.
            content, lost = self._one_by_one(notes)
        try:
            self._append([content] if content else [])
        except OSError as problem:
            self._give_up_with_quiet_cycles(problem)
            return len(notes)
        return lost

    def lost_notes(self, count: int, cycle: int, at: Instant, why: str) -> None:
        if self._file is None:
            return
        try:
            self._append([self._recorder.lost_notes(count, cycle, at, why)])
        except OSError as problem:
            self._give_up_with_quiet_cycles(problem)

    def keep_failure(self, failed: FailedCycle) -> None:
        """In a file of its own: one a minute, and the newest few; it stays when segments go."""
        given = failed.given
        if self._failed_at is not None and given.at - self._failed_at < FAILURE_PAUSE:
            return
        self._failed_at = given.at
        path = self._directory / failure_name(self._epoch, given.cycle)
        try:
            content = b"".join(map(frame_of, self._recorder.failure(failed)))
            self._directory.mkdir(parents=True, exist_ok=True)
            with self._disk.open(path) as file:
                self._disk.write(file, content)
                self._disk.sync(file)
            for old in failures_in(self._directory)[:-MOST_FAILURES]:
                old.path.unlink(missing_ok=True)
        except OSError:
            self.write_errors += 1
            path.unlink(missing_ok=True)

    def sync(self) -> None:
        """What was recorded so far survives the machine's end."""
        if self._file is None:
            return
        told = self._recorder.quiet_cycles
        try:
            self._append(self._recorder.flush())
            if self._unsynced:
                self._disk.sync(self._file)
                self._unsynced = False
        except OSError as problem:
            self._give_up(told, problem)

    def tell_missing(self, at: Instant) -> None:
        """Where a segment is open; else the next cycle tells it."""
        if self._file is None:
            return
        told = self._recorder.quiet_cycles
        try:
            self._append(self._recorder.flush())
            self._tell_missing(at)
        except OSError as problem:
            self._give_up(told, problem)

    def close(self) -> None:
        self.sync()
        if self._file is not None:
            self._file.close()
            self._file = None

    # -- within ------------------------------------------------------------------------------------

    def _one_by_one(self, notes: Sequence[Note]) -> tuple[bytes, int]:
        sound = []
        for each in notes:
            try:
                self._recorder.notes([each])
            except ValueError:
                continue
            sound.append(each)
        lost = len(notes) - len(sound)
        return (self._recorder.notes(sound) if sound else b""), lost

    def _append(self, records: list[bytes]) -> None:
        if not records:
            return
        assert self._file is not None
        content = b"".join(map(frame_of, records))
        try:
            self._disk.write(self._file, content)
        except OSError:
            if self._deleted_in_vain or not self._delete_oldest():
                raise
            self._deleted_in_vain = True
            # What the failed write left is cut off before the second try.
            os.ftruncate(self._file.fileno(), self._size)
            self._file.seek(self._size)
            self._disk.write(self._file, content)
        self._deleted_in_vain = False
        self._size += len(content)
        self.written_bytes += len(content)
        self._unsynced = True
        self.on_written(records)

    def _begin_segment(self, cycle: int, at: Instant) -> None:
        if self._file is not None:
            self._append(self._recorder.flush())
            self._disk.sync(self._file)
            self._file.close()
            self._file = None
        limits = self._limits
        self._directory.mkdir(parents=True, exist_ok=True)
        kept = segments_in(self._directory)
        gone = expired(kept, at, limits.max_bytes, limits.max_age_seconds)
        for segment in gone:
            segment.path.unlink(missing_ok=True)
        left = kept[len(gone) :]
        self.oldest_at = left[0].written_at if left else at
        self._see_oldest(left)
        self._file = self._disk.open(self._directory / segment_name(self._epoch, cycle))
        self._size = 0

    def _delete_oldest(self) -> bool:
        segments = segments_in(self._directory)
        if len(segments) < 2:
            return False
        segments[0].path.unlink(missing_ok=True)
        self._see_oldest(segments[1:])
        return True

    def _see_oldest(self, kept: Sequence[Segment]) -> None:
        own = (each.first_cycle for each in kept if each.epoch == self._epoch)
        self.first_cycle = next(own, 0)

    def _tell_missing(self, at: Instant) -> None:
        first, count = self._missing
        if count:
            why = self.trouble or "they came faster than they could be written"
            self._append([self._recorder.gap(first, count, at, why)])
            self._missing = (0, 0)

    def _give_up_with_quiet_cycles(self, problem: OSError) -> None:
        """They were to follow in the segment that ends here."""
        told = self._recorder.quiet_cycles
        self._recorder.flush()
        self._give_up(told, problem)

    def _give_up(self, cycles: list[int], problem: OSError) -> None:
        """Until the next cycle, which begins a segment of its own."""
        self.write_errors += 1
        if cycles:
            self.miss(cycles[0], len(cycles), _cannot_be_written(problem))
        self.trouble = _cannot_be_written(problem)
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            if self._size:
                os.ftruncate(file.fileno(), self._size)
            else:
                os.unlink(file.name)
        except OSError as left:
            self.trouble += f"; its last frame is torn: {left.strerror}"
        finally:
            file.close()


def _cannot_be_written(problem: OSError) -> str:
    return f"the journal cannot be written: {problem.strerror}"
