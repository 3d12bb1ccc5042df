"""The thread that writes the journal: no cycle waits for it, and a slow disk costs records only."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, Full, Queue

from bigfleet.journal.journal_file import JournalFile
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.journal import JournalBody
from bigfleet.model.machines import Instant

#: Cycles and events that may wait to be written.
MOST_WAITING = 64
SYNC_SECONDS = 1.0
_SLOW = "they came faster than they could be written"


@dataclass(frozen=True, slots=True)
class _Event:
    body: JournalBody
    cycle: int
    at: Instant


class JournalWriter:
    def __init__(
        self, file: JournalFile, now: Callable[[], Instant], stopwatch: Callable[[], float]
    ) -> None:
        self._file = file
        self._now = now
        self._stopwatch = stopwatch
        self._waiting: Queue[FinishedCycle | _Event | None] = Queue(MOST_WAITING)
        self._lock = threading.Lock()
        #: Cycles that were dropped and not told yet: the first, and how many.
        self._dropped: tuple[int, int] = (0, 0)
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """Raises OSError where the directory cannot be used."""
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

    def note(self, body: JournalBody, cycle: int, at: Instant) -> bool:
        """Something beside the cycles; whether there was room for it."""
        try:
            self._waiting.put_nowait(_Event(body, cycle, at))
        except Full:
            return False
        return True

    @property
    def trouble(self) -> str:
        """Why records are missing now; empty: none is."""
        if self._thread.ident is not None and not self._thread.is_alive():
            return "the journal's thread has ended by a fault of its own; see the log"
        return self._file.trouble

    @property
    def gaps(self) -> int:
        """Cycles that are not in the journal."""
        with self._lock:
            return self._file.gaps + self._dropped[1]

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
                    self._file.close()
                    return
                self._write(item)
            if self._stopwatch() - synced >= SYNC_SECONDS:
                self._file.sync()
                synced = self._stopwatch()

    def _write(self, item: FinishedCycle | _Event) -> None:
        self._tell_dropped()
        if isinstance(item, _Event):
            self._file.note(item.body, item.cycle, item.at)
        else:
            self._file.record(item, self._now())

    def _tell_dropped(self) -> None:
        with self._lock:
            (first, count), self._dropped = self._dropped, (0, 0)
        if count:
            self._file.miss(first, count, _SLOW)
