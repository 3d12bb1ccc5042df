"""The event log: sealed instant by instant, ordered by subject within one, bounded in memory.

A line is final once time has moved past it; only final lines are read, so a reader that comes back
later never finds a line squeezed in before one it has seen.
"""

from collections import deque
from collections.abc import Callable, Iterable

from bigfleet.model.machines import Instant
from bigfleet.provider.sim.world.happenings import Noted

KEPT = 10_000
Sink = Callable[[str], None]


class EventLog:
    def __init__(self, kept: int = KEPT, sink: Sink | None = None) -> None:
        self._sealed: deque[tuple[int, Noted]] = deque(maxlen=kept)
        self._open: list[Noted] = []
        self._sink = sink
        #: How many lines were ever sealed: the number of the last one.
        self.count = 0

    def add(self, notes: Iterable[Noted]) -> None:
        for note in notes:
            self.seal(note.at)
            self._open.append(note)

    def seal(self, now: Instant) -> None:
        """Closes the instants before `now`."""
        if not self._open or self._open[0].at >= now:
            return
        for note in sorted(self._open, key=lambda noted: noted.subject):
            self.count += 1
            self._sealed.append((self.count, note))
            if self._sink is not None:
                self._sink(note.line())
        self._open.clear()

    def after(self, number: int, limit: int) -> list[tuple[int, Noted]]:
        """The first `limit` lines after `number` that are still kept."""
        found = [entry for entry in self._sealed if entry[0] > number]
        return found[:limit]
