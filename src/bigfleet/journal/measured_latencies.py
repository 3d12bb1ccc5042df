"""How long machines took in a journal: the median of each step, for each capacity type.

Seen from the inputs of cycles: from the first that finds a machine in a state to the first that
finds it in another. A machine that was in it when the journal begins, or fails, says nothing.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from statistics import median

import numpy as np

from bigfleet.engine.snapshot import Snapshot
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.inputs import rows_before
from bigfleet.journal.segments import Segment, records_in_order
from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.options import SECOND

_STEP = {
    int(MachineState.CREATING): "create",
    int(MachineState.CONFIGURING): "configure",
    int(MachineState.DRAINING): "drain",
    int(MachineState.DELETING): "delete",
}
#: Of one step and capacity type; a median does not get better with more.
_MOST_KEPT = 10_000


#: About an hour of a shard that decides every second; a question waits for it.
MOST_SEGMENTS = 6


def latencies_until(segments: Sequence[Segment], last: tuple[int, int]) -> Latencies:
    """Up to a cycle (epoch and number), so that what is recorded later changes no answer about it.

    Raises UnreadableJournal and BrokenJournal.
    """
    begun = [each for each in segments if (each.epoch, each.first_cycle) <= last]
    cycles = History().cycles(records_in_order(begun[-MOST_SEGMENTS:]))
    return measured_latencies(
        takewhile(lambda cycle: (cycle.epoch, cycle.given.cycle) <= last, cycles)
    )


def measured_latencies(cycles: Iterable[RecordedCycle]) -> Latencies:
    seen = _Steps()
    for cycle in cycles:
        seen.take(cycle.given.snapshot, cycle.given.at)
    return seen.latencies()


class _Steps:
    def __init__(self) -> None:
        self._before: Snapshot | None = None
        #: When a machine entered the step that it is in.
        self._since: dict[str, int] = {}
        self._seconds: dict[tuple[str, CapacityType], list[float]] = {}

    def take(self, now: Snapshot, at: int) -> None:
        before, self._before = self._before, now
        if before is None or before is now:
            return
        place, gone = rows_before(before.ids, now.ids)
        for row in gone:
            self._since.pop(before.ids[row], None)
        known = np.flatnonzero(place >= 0)
        old, new = before.columns.state[place[known]], now.columns.state[known]
        for row, left, entered in zip(
            known[old != new].tolist(),
            old[old != new].tolist(),
            new[old != new].tolist(),
            strict=True,
        ):
            self._left(now, row, left, entered, at)
            if entered in _STEP:
                self._since[now.ids[row]] = at

    def _left(self, now: Snapshot, row: int, left: int, entered: int, at: int) -> None:
        since = self._since.pop(now.ids[row], None)
        if since is None or left not in _STEP or entered == int(MachineState.FAILED):
            return
        kind = CapacityType(int(now.offerings.capacity_type[now.columns.offering[row]]))
        kept = self._seconds.setdefault((_STEP[left], kind), [])
        if len(kept) < _MOST_KEPT:
            kept.append((at - since) / SECOND)

    def latencies(self) -> Latencies:
        found = {f"{s}.{kind.label}": each for (s, kind), each in sorted(self._seconds.items())}
        return Latencies(
            {name: round(median(seconds), 3) for name, seconds in found.items()},
            {name: len(seconds) for name, seconds in found.items()},
        )
