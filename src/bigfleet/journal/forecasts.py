"""What a shard would have forecast in a recorded cycle: the book of a live shard, told again.

Durations come from the last MOST_SEGMENTS files up to the cycle, what became of forecasts from the
cycles right before it, as many as are decided again in a second or two. Reports of Nodes are not
recorded: a Need counts as met when its machines are Configured.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile

import numpy as np

from bigfleet.engine.need_progress import progress_of
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.need_states import Holds, NeedStates, judged
from bigfleet.forecast.book import MOST_KEPT, ForecastBook
from bigfleet.journal.history import FoundCycle, History, RecordedCycle
from bigfleet.journal.measured_latencies import MOST_SEGMENTS
from bigfleet.journal.recorded_holds import pauses_on, rails_on, recorded_states
from bigfleet.journal.segments import Segment, records_in_order
from bigfleet.model.forecasts import MOST_TOLD, Forecast, ForecastReport
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey

#: Machines of all cycles that are decided again, and how many cycles at least; of older ones only
#: the durations are taken.
_MOST_MACHINES = 2_000_000
_LEAST_CYCLES = 10


class CycleForecasts:
    """Of one decided cycle, recorded or of a fleet file."""

    def __init__(self, cycle: DecidedCycle, states: NeedStates, book: ForecastBook) -> None:
        self._cycle = cycle
        self._states = states
        self._book = book
        # What became of machines and Needs up to this cycle.
        book.take(cycle.decision, states, cycle.given.cycle, 0)

    def of(self, row: int) -> Forecast | None:
        """Of a Need, by its row of the normalised demand; None: it is met."""
        return self._book.forecast(self._cycle.decision, self._states, self._cycle.given.cycle, row)

    def of_needs(self, needs: Collection[NeedKey]) -> dict[NeedKey, Forecast]:
        """Of these, as far as they are not met; MOST_TOLD at most, in order of precedence."""
        outcome = self._cycle.outcome
        unmet = np.flatnonzero(self._states.state != NeedState.MET).tolist()
        rows = [row for row in unmet if outcome.key(row) in needs][:MOST_TOLD]
        return {outcome.key(row): each for row in rows if (each := self.of(row)) is not None}

    def report(self) -> ForecastReport:
        """Of all Needs that are not met, MOST_KEPT at most."""
        given = self._cycle.given
        self._book.forget_forecasts()
        self._book.take(self._cycle.decision, self._states, given.cycle, MOST_KEPT)
        return self._book.report(given.cycle, given.at)


def forecasts_of(
    cycle: DecidedCycle, segments: Sequence[Segment], of: FoundCycle
) -> CycleForecasts:
    """Raises UnreadableJournal and BrokenJournal."""
    name = of.recorded.epoch, cycle.given.cycle
    book = ForecastBook()
    begun = [each for each in segments if (each.epoch, each.first_cycle) <= name]
    cycles = History().cycles(records_in_order(begun[-MOST_SEGMENTS:]))
    before = takewhile(lambda each: (each.epoch, each.given.cycle) < name, cycles)
    machines = max(1, len(cycle.given.snapshot))
    decided = name[1] - max(_LEAST_CYCLES, _MOST_MACHINES // machines)
    _tell(book, before, (name[0], decided), of)
    return CycleForecasts(cycle, recorded_states(cycle, segments, of), book)


def forecasts_of_file(cycle: DecidedCycle) -> CycleForecasts:
    """A fleet file has no past: every duration is assumed."""
    states = judged(cycle.decision, progress_of(cycle.decision), Holds(cycle.given.at), None)
    return CycleForecasts(cycle, states, ForecastBook())


def _tell(
    book: ForecastBook, cycles: Iterable[RecordedCycle], decided: tuple[int, int], of: FoundCycle
) -> None:
    """`decided`: epoch and number of the first cycle that is decided again."""
    before: NeedStates | None = None
    for each in cycles:
        if each.output is None or (each.epoch, each.given.cycle) < decided:
            book.see(each.given.snapshot, each.given.at)
            continue
        again = DecidedCycle(each.given, each.given.decide(workers=1))
        before = judged(
            again.decision, progress_of(again.decision), _holds(again, each, of), before
        )
        book.take(again.decision, before, each.given.cycle)


def _holds(again: DecidedCycle, each: RecordedCycle, of: FoundCycle) -> Holds:
    scene = again.outcome.scene
    clusters = {*scene.cluster_names, *scene.snapshot.tables.clusters.rows}
    actions = () if each.output is None else each.output.actions
    return Holds(
        each.given.at,
        paused=pauses_on(each.pauses, of.header.shard_id, clusters),
        rails=rails_on(actions, again),
    )
