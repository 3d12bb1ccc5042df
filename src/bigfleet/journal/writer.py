"""The thread that writes the journal: no cycle waits for it, and a slow disk costs records only."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue

from bigfleet.journal.journal_file import JournalFile
from bigfleet.journal.recorder import FailedCycle, FinishedCycle, Note
from bigfleet.model.machines import Instant

#: Cycles that may wait to be written.
MOST_WAITING = 64
#: Notes that may: some seconds of a fleet that starts as fast as it can.
MOST_NOTES = 20_000
#: Written together, and lost together by a crash.
NOTES_A_RECORD = 1000
SYNC_SECONDS = 1.0
Listener = Callable[[list[bytes]], None]
_SLOW = "they came faster than they could be written"


@dataclass(frozen=True, slots=True)
class JournalFigures:
    written_bytes: int
    write_errors: int
    #: Cycles and notes that are not recorded.
    gaps: int
    oldest_at: Instant | None
    #: How long something has waited to be on disk.
    lag_seconds: float
    #: Of syncs since the figures were asked for before.
    sync_seconds: tuple[float, ...]


class JournalWriter:
    def __init__(
        self, file: JournalFile, now: Callable[[], Instant], stopwatch: Callable[[], float]
    ) -> None:
        self._file = file
        self._now = now
        self._stopwatch = stopwatch
        self._waiting: Queue[FinishedCycle | FailedCycle | None] = Queue(MOST_WAITING)
        #: Written with the next cycle, or within a second where none comes.
        self._notes: deque[Note] = deque()
        #: Notes that were lost, and how many of them the journal does not tell yet.
        self._lost_notes = 0
        self._untold_notes = 0
        self._lock = threading.Lock()
        #: Since when something waits to be synced, by the stopwatch; None: nothing does.
        self._unsynced_since: float | None = None
        #: How long syncs took that were not asked for yet; the oldest are dropped.
        self._sync_seconds: deque[float] = deque(maxlen=1000)
        #: Cycles that were dropped and not told yet: the first, and how many.
        self._dropped: tuple[int, int] = (0, 0)
        #: Hear, in the thread that writes, of records that are written; replaced, never changed.
        self._listeners: tuple[Listener, ...] = ()
        file.on_written = self._tell_listeners
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """A directory that cannot be used costs records, and is tried again with every cycle."""
        self._file.prepare()
        self._thread.start()

    def offer(self, cycle: FinishedCycle) -> None:
        """Never waits."""
        try:
            self._waiting.put_nowait(cycle)
        except Full:
            with self._lock:
                first, count = self._dropped
                self._dropped = (first or cycle.given.cycle, count + 1)

    def keep_failure(self, failed: FailedCycle) -> None:
        """Never waits; where there is no room the log has to do."""
        with suppress(Full):
            self._waiting.put_nowait(failed)

    def note(self, note: Note) -> bool:
        """Something beside the cycles; whether there was room for it. Never waits."""
        if len(self._notes) >= MOST_NOTES:
            self._lose(1)
            return False
        self._notes.append(note)
        return True

    def listen(self, listener: Listener) -> None:
        """From now on; it must not wait."""
        self._listeners = (*self._listeners, listener)

    def forget(self, listener: Listener) -> None:
        self._listeners = tuple(each for each in self._listeners if each is not listener)

    @property
    def trouble(self) -> str:
        """Why records are missing now; empty: none is."""
        if self._thread.ident is not None and not self._thread.is_alive():
            return "the journal's thread has ended by a fault of its own; see the log"
        return self._file.trouble

    @property
    def first_cycle(self) -> int:
        """The first of this epoch that can still be read; 0: none."""
        return self._file.first_cycle

    @property
    def gaps(self) -> int:
        """Cycles and notes that are not in the journal."""
        with self._lock:
            return self._file.gaps + self._dropped[1] + self._lost_notes

    def figures(self) -> JournalFigures:
        """For the metrics; how long syncs took is told once."""
        since = self._unsynced_since
        syncs = [self._sync_seconds.popleft() for _ in range(len(self._sync_seconds))]
        return JournalFigures(
            self._file.written_bytes,
            self._file.write_errors,
            self.gaps,
            self._file.oldest_at,
            0.0 if since is None else max(0.0, self._stopwatch() - since),
            tuple(syncs),
        )

    def close(self) -> None:
        """Writes what waits, and ends."""
        if self._thread.ident is not None:
            self._waiting.put(None)
            self._thread.join()

    # -- in the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        synced = self._stopwatch()
        while True:
            try:
                item = self._waiting.get(timeout=SYNC_SECONDS)
            except Empty:
                pass
            else:
                if item is None:
                    self._write_notes()
                    # What was dropped last has no cycle after it with which it would be told.
                    self._tell_dropped()
                    self._file.tell_missing(self._now())
                    self._file.close()
                    return
                self._write(item)
            self._write_notes()
            if self._stopwatch() - synced >= SYNC_SECONDS:
                synced = self._sync()

    def _sync(self) -> float:
        """When it had ended."""
        began = self._stopwatch()
        self._file.sync()
        ended = self._stopwatch()
        if self._unsynced_since is not None:
            self._sync_seconds.append(ended - began)
        self._unsynced_since = None
        return ended

    def _tell_listeners(self, records: list[bytes]) -> None:
        for listener in self._listeners:
            listener(records)

    def _write(self, cycle: FinishedCycle | FailedCycle) -> None:
        if isinstance(cycle, FailedCycle):
            self._file.keep_failure(cycle)
            return
        self._tell_dropped()
        self._file.record(cycle, self._now())
        self._wait_for_sync()

    def _write_notes(self) -> None:
        """They stay where no segment is open: the next cycle opens one, if the disk lets it."""
        while self._notes and self._file.takes_notes:
            count = min(len(self._notes), NOTES_A_RECORD)
            together = [self._notes.popleft() for _ in range(count)]
            if lost := self._file.note(together):
                self._lose(lost)
            self._tell_lost_notes(together[-1].cycle)
            self._wait_for_sync()

    def _tell_lost_notes(self, cycle: int) -> None:
        with self._lock:
            count, self._untold_notes = self._untold_notes, 0
        if count:
            self._file.lost_notes(count, cycle, self._now(), self._file.trouble or _SLOW)

    def _wait_for_sync(self) -> None:
        if self._unsynced_since is None:
            self._unsynced_since = self._stopwatch()

    def _lose(self, notes: int) -> None:
        with self._lock:
            self._lost_notes += notes
            self._untold_notes += notes

    def _tell_dropped(self) -> None:
        with self._lock:
            (first, count), self._dropped = self._dropped, (0, 0)
        if count:
            self._file.miss(first, count, _SLOW)
