"""Hours of a journal: its cycles are decided again and looked at as a living shard does it.

Between two cycles that do not follow each other nothing was observed: a cycle that is missing, or a
shard that started anew. Such gaps are named and never filled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bigfleet.costs.meter import Hour, Meter
from bigfleet.costs.rates import CostSheet
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.segments import Segment, records_in_order
from bigfleet.model.fleet import Costs
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: Between two looks, as a shard has it.
LOOK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RecordedHours:
    shard: str
    #: `3:18231`, the last one that was read.
    cycle: str
    hours: Mapping[Instant, Hour]
    gaps: tuple[str, ...]


def end_of(segments: Sequence[Segment]) -> Instant:
    """Of the last record; 0: there is none."""
    last = 0
    for record in records_in_order(segments[-1:]):
        last = max(last, record.at)
    return last


def hours_of(
    segments: Sequence[Segment], begins: Instant, ends: Instant, costs: Costs
) -> RecordedHours | None:
    """None: no cycle is recorded there. Raises UnreadableJournal and BrokenJournal."""
    history, reading = History(), _Reading(begins, costs)
    for record in records_in_order(segments):
        for cycle in history.cycles((record,)):
            if cycle.given.at < ends:
                reading.see(cycle, [event.text for event in history.gaps])
    last = reading.ended()
    if last is None:
        return None
    name = f"{last.epoch}:{last.given.cycle}"
    hours = reading.meter.taken()
    return RecordedHours(history.header.shard_id, name, hours, tuple(reading.gaps))


class _Reading:
    def __init__(self, begins: Instant, costs: Costs) -> None:
        self.meter, self.gaps = Meter(), list[str]()
        self._begins, self._costs = begins, costs
        self._last: RecordedCycle | None = None
        self._looked_at: Instant = 0
        self._told = 0

    def see(self, cycle: RecordedCycle, told: Sequence[str]) -> None:
        """`told`: what the journal says is missing in it so far."""
        before, self._last = self._last, cycle
        new, self._told = told[self._told :], len(told)
        if cycle.given.at < self._begins:
            return
        gap = _gap(before, cycle, new)
        if gap:
            self.gaps.append(gap)
            self.meter.lose()
        if gap or not 0 <= cycle.given.at - self._looked_at < LOOK_SECONDS * SECOND:
            self._look(cycle)

    def ended(self) -> RecordedCycle | None:
        """The last cycle, whose time counts too."""
        last = self._last
        if last is None or not self._looked_at:
            return None
        if last.given.at != self._looked_at:
            self._look(last)
        return last

    def _look(self, cycle: RecordedCycle) -> None:
        self._looked_at = cycle.given.at
        decision = cycle.given.decide(workers=1)
        self.meter.observe(CostSheet(decision.outcome, self._costs), cycle.given.at, ())


def _gap(before: RecordedCycle | None, cycle: RecordedCycle, told: Sequence[str]) -> str:
    if before is None:
        return ""
    since, until = instant_text(before.given.at), instant_text(cycle.given.at)
    if cycle.epoch != before.epoch:
        return f"the shard started anew between {since} and {until}"
    if told or cycle.given.cycle != before.given.cycle + 1:
        why = f": {'; '.join(told)}" if told else ""
        return f"cycles are missing between {since} and {until}{why}"
    return ""
