"""Keeps the statements of a shard: made from cycles and ends, and written, in its own thread.

No cycle waits for it. What comes faster than it can be read is dropped, and the gap is kept with
the statements. Months are added up when a statement is made, so that they outlive it.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, Full, Queue

from bigfleet.costs.statements import TAKEN, StatementBook, takes_machines
from bigfleet.journal.recorder import FinishedCycle, Note
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import ActionView
from bigfleet.model.statements import InvoiceCall, Invoices, StatementGap
from bigfleet.shard.statement_file import StatementFile, Unwritten

#: Cycles that may wait: each holds what it was decided on.
MOST_CYCLES = 64
#: Ends of actions that may wait.
MOST_ENDS = 20_000
WRITE_SECONDS = 1.0
_SLOW = "they came faster than they could be read"
_ENDED = "the thread that keeps statements has ended by a fault of its own; see the log"
#: Hears, in the keeper's thread, of trouble and (empty) of its end.
Trouble = Callable[[str], None]


class StatementKeeper:
    def __init__(
        self,
        path: Path,
        epoch: int,
        now: Callable[[], Instant],
        on_trouble: Trouble = lambda text: None,
    ) -> None:
        self._epoch = epoch
        self._now = now
        self._on_trouble = on_trouble
        self._waiting: Queue[FinishedCycle | ActionView | None] = Queue(MOST_ENDS)
        self._cycles = 0
        #: What was dropped and is not told yet: the first cycle, cycles, ends of actions.
        self._dropped: tuple[int, int, int] = (0, 0, 0)
        self._dropping = threading.Lock()
        #: Guards the file and what is not written yet.
        self._lock = threading.Lock()
        self._file = StatementFile(path)
        self._unwritten = Unwritten()
        self._told_trouble = ""
        self._is_closed = False
        #: What its thread has read and not handed on.
        self._fresh = Unwritten()
        self._book = StatementBook()
        #: Declared dollars since the start, by kind of action; without pinned and unknown ones.
        self.declared: dict[str, float] = {kind.label: 0.0 for kind in TAKEN}
        self._thread = threading.Thread(target=self._run, name="statements", daemon=True)

    @property
    def trouble(self) -> str:
        """Why statements are not kept now; empty: they are."""
        has_begun = self._thread.ident is not None and not self._is_closed
        if has_begun and not self._thread.is_alive():
            return _ENDED
        return self._file.trouble

    def start(self) -> None:
        """A file that cannot be used costs statements and nothing else."""
        self._thread.start()

    def offer(self, cycle: FinishedCycle) -> None:
        """Never waits."""
        with self._dropping:
            if self._cycles >= MOST_CYCLES:
                first, cycles, ends = self._dropped
                self._dropped = (first or cycle.given.cycle, cycles + 1, ends)
                return
            self._cycles += 1
        self._put(cycle)

    def note(self, note: Note) -> bool:
        """How an action ended, among other notes; whether there was room for it. Never waits."""
        body = note.body
        if isinstance(body, ActionView) and body.kind in TAKEN:
            return self._put(body)
        return True

    def close(self) -> None:
        """Reads and writes what waits, and ends."""
        self._is_closed = True
        while self._thread.is_alive():
            with suppress(Full):
                self._waiting.put(None, timeout=WRITE_SECONDS)
                self._thread.join()
        with self._lock:
            self._file.close()

    def invoices(self, call: InvoiceCall) -> Invoices:
        """Of what was read so far; takes the disk."""
        with self._lock:
            self._write()
            found = self._file.answer(call)
        return replace(found, trouble=self.trouble)

    # -- in the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        with self._lock:
            self._book = StatementBook(self._file.drafts(self._now()))
            self._tell_trouble()
        ended = False
        while not ended:
            ended = self._read_waiting()
            self._tell_dropped()
            fresh, self._fresh = self._fresh, Unwritten()
            with self._lock:
                self._unwritten.add(fresh)
                self._write()

    def _read_waiting(self) -> bool:
        """Waits a second for something to read; whether it was the end."""
        try:
            item = self._waiting.get(timeout=WRITE_SECONDS)
            while item is not None:
                self._read(item)
                item = self._waiting.get_nowait()
        except Empty:
            return False
        return True

    def _read(self, item: FinishedCycle | ActionView) -> None:
        number = item.cycle if isinstance(item, ActionView) else item.given.cycle
        try:
            if isinstance(item, ActionView):
                self._end(item)
            else:
                self._see(item)
        except Exception as problem:  # noqa: BLE001 - what cannot be read must not cost what can
            text = f"what cycle {self._epoch}:{number} took was not read: {problem!r}"
            self._fresh.gaps.append(StatementGap(self._now(), text))

    def _see(self, cycle: FinishedCycle) -> None:
        with self._dropping:
            self._cycles -= 1
        actions = cycle.actions if takes_machines(cycle.decision) else ()
        for draft in self._book.see(self._epoch, cycle.given, actions, lambda: cycle.decision):
            self._fresh.begin(draft)

    def _end(self, ended: ActionView) -> None:
        made = self._book.end(self._epoch, ended)
        self._fresh.end(ended.cycle, ended.machine)
        if made is None:
            return
        self._fresh.made.append(made)
        if made.declared is not None and not made.is_pinned:
            self.declared[made.kind.label] += made.declared

    def _put(self, item: FinishedCycle | ActionView) -> bool:
        try:
            self._waiting.put_nowait(item)
        except Full:
            with self._dropping:
                first, cycles, ends = self._dropped
                if isinstance(item, FinishedCycle):
                    self._cycles -= 1
                    self._dropped = (first or item.given.cycle, cycles + 1, ends)
                else:
                    self._dropped = (first, cycles, ends + 1)
            return False
        return True

    def _tell_dropped(self) -> None:
        with self._dropping:
            (first, cycles, ends), self._dropped = self._dropped, (0, 0, 0)
        at = self._now()
        if cycles:
            text = f"{cycles} cycles from {self._epoch}:{first} on were not read: {_SLOW}"
            self._fresh.gaps.append(StatementGap(at, text))
        if ends:
            text = f"the ends of {ends} actions were not read: {_SLOW}"
            self._fresh.gaps.append(StatementGap(at, text))

    def _write(self) -> None:
        """What a disk refuses stays, as far as there is room."""
        if not self._unwritten:
            return
        if self._file.write(self._unwritten, self._now()):
            self._unwritten = Unwritten()
        else:
            self._unwritten.shorten(self._now(), self._file.trouble)
        self._tell_trouble()

    def _tell_trouble(self) -> None:
        trouble = self._file.trouble
        if trouble != self._told_trouble:
            self._told_trouble = trouble
            self._on_trouble(trouble)
