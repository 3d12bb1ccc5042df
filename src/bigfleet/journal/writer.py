"""The thread that writes the journal: no cycle waits for it, and a slow disk costs records only."""

import threading
from collections import deque
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
class JournalFigures:
    written_bytes: int
    write_errors: int
    #: Cycles that are not recorded.
    gaps: int
    oldest_at: Instant | None
    #: How long something has waited to be on disk.
    lag_seconds: float
    #: Of syncs since the figures were asked for before.
    sync_seconds: tuple[float, ...]


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
        #: Since when something waits to be synced, by the stopwatch; None: nothing does.
        self._unsynced_since: float | None = None
        #: How long syncs took that were not asked for yet; the oldest are dropped.
        self._sync_seconds: deque[float] = deque(maxlen=1000)
        #: Cycles that were dropped and not told yet: the first, and how many.
        self._dropped: tuple[int, int] = (0, 0)
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
                    self._file.close()
                    return
                self._write(item)
                if self._unsynced_since is None:
                    self._unsynced_since = self._stopwatch()
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
