"""One pool for all clusters, and one for each of them, on the demand of the same journal.

Both sides are the engine with machines that carry out what it decides, each step in the time that
the journal shows for it; prices, offerings, back-offs and failures are the recorded ones. Time that
the journal does not cover counts for neither.
"""

from collections import defaultdict
from collections.abc import Callable
from itertools import islice

from bigfleet.costs.isolated_pools import ClusterAlone, Division
from bigfleet.costs.isolated_reading import NothingToCompare, Reading, TooLong, name_of, observed
from bigfleet.costs.isolated_shares import Survey
from bigfleet.costs.isolated_sides import Pool, Side, Sums
from bigfleet.journal.history import RecordedCycle
from bigfleet.journal.measured_latencies import measured_latencies
from bigfleet.model.isolated import (
    IsolatedCall,
    IsolatedCluster,
    IsolatedReport,
    IsolatedSlice,
)
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: That are named; a journal of many more is not worth comparing.
_MOST_GAPS = 50


def isolated_report(
    read: Reading,
    asked: IsolatedCall,
    is_time_up: Callable[[], bool] = lambda: False,
    each_cycle: Callable[[int], None] = lambda cycles: None,
) -> IsolatedReport:
    """Reads the journal twice: first for shares and latencies, then to run both sides on it.

    When the time is up the report covers what was run until then. `each_cycle` is told how many are
    run. Raises NothingToCompare, TooLong, UnreadableJournal and BrokenJournal.
    """
    survey = Survey(is_time_up)
    latencies = measured_latencies(survey.looked_at(observed(*read())))
    if not survey.cycles:
        raise NothingToCompare("no cycle is recorded there")
    if survey.observed_seconds <= 0.0:
        raise NothingToCompare("no two cycles in a row are recorded there, and costs take time")
    shares = survey.shares(asked.split)
    if not shares:
        raise NothingToCompare("no cluster asked for anything or had a machine there")
    division = Division(shares)
    run = _Run(
        Side([Pool(latencies)]),
        Side([Pool(latencies, ClusterAlone(division, n, asked.headroom)) for n in division.place]),
        _Slices(survey.slice_seconds),
        is_time_up,
    )
    # A live journal may have grown since it was looked at.
    for cycle, gap in islice(observed(*read()), survey.cycles):
        if not run.take(cycle, gap):
            break
        each_cycle(run.cycles)
    if run.before is None or not run.slices.seconds:
        raise TooLong
    left = survey.cycles - run.cycles
    return IsolatedReport(
        first=survey.first,
        last=name_of(run.before),
        began=survey.began,
        ended=run.before.given.at,
        cycles=run.cycles,
        split=asked.split,
        headroom=asked.headroom,
        slice_seconds=survey.slice_seconds,
        slices=run.slices.all(),
        clusters=tuple(
            IsolatedCluster(name, share, machines, pool.whole.measures())
            for name, share, machines, pool in zip(
                division.clusters,
                division.shares,
                division.committed(),
                run.isolated.pools,
                strict=True,
            )
        ),
        latencies=latencies,
        unpriced_machines=survey.unpriced,
        gaps=_told(run.gaps),
        cut_short=_cut_short(left, survey.cycles) if left else "",
    )


def _told(gaps: list[str]) -> tuple[str, ...]:
    if len(gaps) <= _MOST_GAPS:
        return tuple(gaps)
    return *gaps[:_MOST_GAPS], f"and {len(gaps) - _MOST_GAPS} more gaps after these"


def _cut_short(left: int, cycles: int) -> str:
    return f"the time was up: {left} of {cycles} cycles are not compared"


class _Run:
    """Both sides, cycle after cycle."""

    def __init__(
        self,
        pooled: Side,
        isolated: Side,
        slices: "_Slices",
        is_time_up: Callable[[], bool],
    ) -> None:
        self.pooled, self.isolated = pooled, isolated
        self.slices = slices
        self._is_time_up = is_time_up
        self.cycles = 0
        self.gaps: list[str] = []
        self.before: RecordedCycle | None = None

    def take(self, cycle: RecordedCycle, gap: str) -> bool:
        """False: the time is up; what was compared ends before this cycle, or with it."""
        sides, before = (self.pooled, self.isolated), self.before
        if self._is_time_up():
            return False
        # Until this cycle both sides stood as the one before left them.
        if before is not None and not gap:
            self.slices.take(before.given.at, cycle.given.at, *sides)
        self.before, self.cycles = cycle, self.cycles + 1
        if gap:
            self.gaps.append(gap)
        if not all(side.decide(cycle, self._is_time_up) for side in sides):
            return False
        self.slices.preempted(cycle.given.at, *sides)
        return True


class _Slices:
    def __init__(self, seconds: int) -> None:
        self._size = seconds * SECOND
        self.seconds: defaultdict[int, float] = defaultdict(float)
        self._sums: defaultdict[int, tuple[Sums, Sums]] = defaultdict(lambda: (Sums(), Sums()))

    def take(self, since: Instant, until: Instant, pooled: Side, isolated: Side) -> None:
        """Both sides stood as they are from one time to another."""
        while since < until:
            number = since // self._size
            end = min(until, (number + 1) * self._size)
            nanos, since = end - since, end
            self.seconds[number] += nanos / SECOND
            for side, sums in zip((pooled, isolated), self._sums[number], strict=True):
                side.add_to(sums, nanos / SECOND / 3600.0)

    def preempted(self, at: Instant, pooled: Side, isolated: Side) -> None:
        """In the last cycle, which was then."""
        for side, sums in zip((pooled, isolated), self._sums[at // self._size], strict=True):
            side.add_preemptions_to(sums)

    def all(self) -> tuple[IsolatedSlice, ...]:
        return tuple(
            IsolatedSlice(
                number * self._size,
                self.seconds.get(number, 0.0),
                *(sums.measures() for sums in self._sums[number]),
            )
            for number in sorted(self._sums)
        )
