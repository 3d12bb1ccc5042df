"""One pool for all clusters, and one for each of them, on the demand of the same journal.

Both sides are the engine with machines that carry out what it decides, each step in the time that
the journal shows for it; prices, offerings, back-offs and failures are the recorded ones. Time that
the journal does not cover counts for neither.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from bigfleet.costs.isolated_pools import (
    BOUGHT,
    LOWEST_PRIORITY,
    ClusterAlone,
    Division,
    bought_rows,
    clusters_of_rows,
)
from bigfleet.engine.decision import Decision
from bigfleet.engine.demand import NeedColumns, NeedTables
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.journal.closed_diffs import ClosedEngine
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.measured_latencies import measured_latencies
from bigfleet.journal.recorded_machines import RecordedMachines
from bigfleet.model.actions import ActionKind
from bigfleet.model.batches import NEVER
from bigfleet.model.instants import instant_text
from bigfleet.model.isolated import (
    IsolatedCall,
    IsolatedCluster,
    IsolatedReport,
    IsolatedSlice,
    Measures,
    Split,
)
from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.quantities import is_binary
from bigfleet.whatif.moving import LATER
from bigfleet.whatif.settling import next_release

#: Seconds of a slice; each is a part of the next and of an hour.
SLICES = (1, 5, 10, 30, 60, 300, 900, 3600)
#: As many as a chart has room for.
_MOST_SLICES = 300
_GIB = 2**30
#: Reads the cycles that are asked for, from the first one on, with the history that reads them.
Reading = Callable[[], tuple[History, Iterable[RecordedCycle]]]


class NothingToCompare(Exception):
    """Why, in a sentence."""


class TooLong(Exception):
    """The time is up before anything could be compared."""


def isolated_report(
    read: Reading, asked: IsolatedCall, is_time_up: Callable[[], bool] = lambda: False
) -> IsolatedReport:
    """Reads the journal twice: first for shares and latencies, then to run both sides on it.

    When the time is up the report covers what was run until then. Raises NothingToCompare, TooLong,
    UnreadableJournal and BrokenJournal.
    """
    survey = _Survey(is_time_up)
    latencies = measured_latencies(survey.looked_at(_observed(*read())))
    if not survey.cycles:
        raise NothingToCompare("no cycle is recorded there")
    shares = survey.shares(asked.split)
    if not shares:
        raise NothingToCompare("no cluster asked for anything or had a machine there")
    division = Division(shares)
    pooled = _Side([Pool(latencies)])
    alone = [ClusterAlone(division, name, asked.headroom) for name in division.clusters]
    isolated = _Side([Pool(latencies, each) for each in alone])
    slices = _Slices(survey.slice_seconds)
    gaps, done, last, cut_short = list[str](), 0, "", ""
    before: RecordedCycle | None = None
    for cycle, gap in _observed(*read()):
        if done and is_time_up():
            left = survey.cycles - done
            cut_short = f"the time was up: {left} of {survey.cycles} cycles are not compared"
            break
        if gap:
            gaps.append(gap)
        elif before is not None:
            slices.take(before.given.at, cycle.given.at, pooled, isolated)
        pooled.decide(cycle)
        isolated.decide(cycle)
        slices.preempted(cycle.given.at, pooled.preempted, isolated.preempted)
        before, last, done = cycle, _name(cycle), done + 1
    return IsolatedReport(
        first=survey.first,
        last=last,
        began=survey.began,
        ended=before.given.at if before is not None else survey.began,
        cycles=done,
        split=asked.split,
        headroom=asked.headroom,
        slice_seconds=survey.slice_seconds,
        slices=slices.all(),
        clusters=tuple(
            IsolatedCluster(name, share, machines, pool.whole.measures())
            for name, share, machines, pool in zip(
                division.clusters,
                division.shares,
                division.committed(),
                isolated.pools,
                strict=True,
            )
        ),
        latencies=latencies,
        gaps=tuple(gaps),
        cut_short=cut_short,
    )


def _observed(
    history: History, cycles: Iterable[RecordedCycle]
) -> Iterator[tuple[RecordedCycle, str]]:
    """Each with what is missing between it and the one before; empty: nothing is."""
    before, known = None, 0
    for cycle in cycles:
        gap = ""
        if before is not None:
            told = "; ".join(each.text for each in history.gaps[known:])
            gap = _gap(before, cycle, told)
        known, before = len(history.gaps), cycle
        yield cycle, gap


def _gap(before: RecordedCycle, cycle: RecordedCycle, told: str) -> str:
    since, until = instant_text(before.given.at), instant_text(cycle.given.at)
    span = f"{_name(before)} ({since}) to {_name(cycle)} ({until})"
    if cycle.epoch != before.epoch:
        return f"the shard started anew, from {span}"
    if told or cycle.given.cycle != before.given.cycle + 1:
        return f"cycles are missing, from {span}" + (f": {told}" if told else "")
    return ""


def _name(cycle: RecordedCycle) -> str:
    return f"{cycle.epoch}:{cycle.given.cycle}"


# -- what has to be known before -------------------------------------------------------------------


class _Survey:
    """Which clusters there are, and how much each of them asks for."""

    def __init__(self, is_time_up: Callable[[], bool]) -> None:
        self._is_time_up = is_time_up
        self.cycles = 0
        self.first = ""
        self.began: Instant = 0
        self._ended: Instant = 0
        #: Of committed machines; without any, of all: what a demand is a part of.
        self._reference: dict[str, int] = {}
        self._demand: dict[str, float] = {}
        self._blocks: dict[str, NeedColumns] = {}
        self._tables: NeedTables | None = None
        self._peak: defaultdict[str, float] = defaultdict(float)
        self._sum: defaultdict[str, float] = defaultdict(float)
        self._held: dict[str, int] = {}
        self._held_sum: defaultdict[str, float] = defaultdict(float)
        self._snapshot: Snapshot | None = None
        self._names: set[str] = set()

    def looked_at(self, cycles: Iterable[tuple[RecordedCycle, str]]) -> Iterator[RecordedCycle]:
        for cycle, gap in cycles:
            if self.cycles and self._is_time_up():
                raise TooLong
            given = cycle.given
            if not self.cycles:
                self.first, self.began = _name(cycle), given.at
                self._reference = _reference(given.snapshot)
            elif not gap:
                seconds = (given.at - self._ended) / SECOND
                for name, demand in self._demand.items():
                    self._sum[name] += demand * seconds
                for name, machines in self._held.items():
                    self._held_sum[name] += machines * seconds
            self.cycles, self._ended = self.cycles + 1, given.at
            self._look(given)
            yield cycle

    @property
    def slice_seconds(self) -> int:
        seconds = (self._ended - self.began) / SECOND
        return next((each for each in SLICES if seconds <= each * _MOST_SLICES), SLICES[-1])

    def shares(self, split: Split) -> dict[str, float]:
        by_split = {Split.PEAK: self._peak, Split.MEAN: self._sum, Split.ACTUAL: self._held_sum}
        amounts = {name: by_split[split].get(name, 0.0) for name in sorted(self._names)}
        total = sum(amounts.values())
        if not total:
            return dict.fromkeys(amounts, 1.0 / len(amounts)) if amounts else {}
        return {name: amount / total for name, amount in amounts.items()}

    def _look(self, given: EngineInput) -> None:
        blocks, tables = given.needs.blocks, given.needs.tables
        for name in [name for name in self._demand if name not in blocks]:
            del self._demand[name], self._blocks[name]
        for name, block in blocks.items():
            if self._blocks.get(name) is block and self._tables is tables:
                continue
            self._blocks[name] = block
            self._demand[name] = demand = _part_of(block, tables, self._reference)
            self._peak[name] = max(self._peak[name], demand)
            self._names.add(name)
        self._tables = tables
        if given.snapshot is not self._snapshot:
            self._snapshot = given.snapshot
            self._held = _committed_of(given.snapshot)
            self._names |= self._held.keys()


def _reference(snapshot: Snapshot) -> dict[str, int]:
    """What all committed machines hold, by dimension; all machines where none is committed."""
    committed = ~bought_rows(snapshot)
    rows = np.flatnonzero(committed if committed.any() else np.ones(len(snapshot), np.bool_))
    shapes = snapshot.offerings.shape[snapshot.columns.offering[rows]]
    total: dict[str, int] = {}
    for shape, count in zip(
        *(each.tolist() for each in np.unique(shapes, return_counts=True)), strict=True
    ):
        for name, amount in snapshot.tables.shapes.amounts(shape):
            total[name] = total.get(name, 0) + amount * count
    return total


def _part_of(block: NeedColumns, tables: NeedTables, reference: Mapping[str, int]) -> float:
    """The part of the reference a demand is, in the dimension it needs most of."""
    wanted: dict[str, int] = {}
    for vector in block.aggregate.tolist():
        for name, amount in tables.vectors.amounts(vector):
            wanted[name] = wanted.get(name, 0) + amount
    parts = (amount / reference[n] for n, amount in wanted.items() if reference.get(n))
    return max(parts, default=0.0)


def _committed_of(snapshot: Snapshot) -> dict[str, int]:
    """How many committed machines each cluster has; clusters with bought ones only have none."""
    names = snapshot.tables.clusters.rows
    has = clusters_of_rows(snapshot, {name: place for place, name in enumerate(names)})
    committed = ~bought_rows(snapshot)
    counts = np.bincount(has[(has >= 0) & committed], minlength=len(names))
    return {names[place]: int(counts[place]) for place in np.unique(has[has >= 0]).tolist()}


# -- the two sides ---------------------------------------------------------------------------------


class PoolMachines(RecordedMachines):
    """A machine that fails in the record fails here; it has a host only if it was bought here."""

    def _fail_or_mend(self, after: Snapshot, rows: Int64s, at: int) -> None:
        if not len(rows):
            return
        host = self._columns.provider[rows].copy()
        super()._fail_or_mend(after, rows, at)
        columns = self._columns
        failed = columns.state[rows] == int(MachineState.FAILED)
        columns.provider[rows[failed]] = host[failed]
        unbought = rows[~failed & (host < 0) & (columns.provider[rows] >= 0)]
        columns.state[unbought] = int(MachineState.SPECULATIVE)
        columns.provider[unbought] = -1
        columns.cluster[unbought] = -1
        columns.stamp[unbought] = 0
        columns.idle_since[unbought] = NEVER
        columns.overdue[unbought] = False
        columns.empty[unbought] = False
        self._due[unbought] = LATER

    def rates(self) -> "tuple[float, int, int]":
        """Dollars per hour, machines that exist or are being created, and bought ones of them."""
        columns, offerings = self._columns, self._tables.offerings.columns()
        exist = (columns.provider >= 0) | (columns.state == int(MachineState.CREATING))
        offering = columns.offering[exist]
        counts = np.bincount(offering, minlength=len(offerings.price))
        bought = np.isin(offerings.capacity_type, BOUGHT)
        dollars = float(counts @ offerings.price)
        return dollars, int(counts.sum()), int(counts[bought].sum())


class _PoolEngine(ClosedEngine):
    """Decides only where something new can be decided; the outcome is the same."""

    def __init__(self, latencies: Latencies, *, every_cycle: bool = False) -> None:
        super().__init__({}, latencies)
        self._every_cycle = every_cycle
        self._last: tuple[EngineInput, Decision, int] | None = None

    def machines_of(self, first: Snapshot) -> PoolMachines:
        return PoolMachines(first, self._latencies)

    @property
    def machines(self) -> PoolMachines:
        assert isinstance(self._machines, PoolMachines), "a cycle was decided"
        return self._machines

    def decided(self, given: EngineInput) -> Decision:
        if self._last is not None and not self._every_cycle:
            before, decision, release = self._last
            if _is_settled(before, decision, given) and given.at < release:
                return decision
        decision = super().decided(given)
        self._last = given, decision, next_release(given, given.at)
        return decision


def _is_settled(before: EngineInput, decision: Decision, given: EngineInput) -> bool:
    """Whether the same is decided again: nothing changed, nothing was done, nothing is counted."""
    counts = any(each.parking or each.reservations for each in (before.memory, decision.memory))
    return (
        not decision.action_count
        and not counts
        and given.memory is decision.memory
        and given.snapshot is before.snapshot
        and given.needs is before.needs
        and given.options == before.options
    )


class Pool:
    def __init__(
        self,
        latencies: Latencies,
        alone: ClusterAlone | None = None,
        *,
        every_cycle: bool = False,
    ) -> None:
        self._engine = _PoolEngine(latencies, every_cycle=every_cycle)
        self._alone = alone
        self._decision: Decision | None = None
        self.rates = _Rates()
        self.preempted = 0
        self.whole = _Sums()

    def decide(self, cycle: RecordedCycle) -> None:
        if self._alone is not None:
            cycle = self._alone.cycle(cycle)
        decision = self._engine.decide(cycle).decision
        self.preempted = 0
        unmet = self.rates.unmet, self.rates.weighted_unmet
        if decision is not self._decision:
            self._decision = decision
            kinds = decision.outcome.action_columns.kind
            self.preempted = int(np.count_nonzero(kinds == int(ActionKind.PREEMPT)))
            unmet = _unmet(decision)
        self.whole.preemptions += self.preempted
        self.rates = _Rates(*self._engine.machines.rates(), *unmet)


def _unmet(decision: Decision) -> tuple[dict[str, float], dict[str, float]]:
    """What no Configured machine serves, by dimension; and each Need's times its priority."""
    outcome = decision.outcome
    holder, state = outcome.credit.holder, outcome.scene.snapshot.columns.state
    serves = np.flatnonzero((holder >= 0) & (state == int(MachineState.CONFIGURED)))
    left = outcome.needs.wanted.copy()
    np.subtract.at(left, holder[serves], outcome.kinds.units[outcome.scene.supply.kind[serves]])
    real = outcome.needs.priority != LOWEST_PRIORITY
    left = np.maximum(left, 0)[real].astype(np.float64)
    weight = np.maximum(outcome.needs.priority[real], 1).astype(np.float64)
    sums, weighted = left.sum(axis=0), weight @ left
    names = outcome.scene.dimensions
    return (
        {n: _in_units(n, each) for n, each in zip(names, sums.tolist(), strict=True) if each},
        {n: _in_units(n, each) for n, each in zip(names, weighted.tolist(), strict=True) if each},
    )


def _in_units(dimension: str, amount: float) -> float:
    """Cores, GiB or pieces."""
    if dimension == "cpu":
        return amount / 1000.0
    return amount / _GIB if is_binary(dimension) else amount


@dataclass(frozen=True, slots=True)
class _Rates:
    """What a pool costs and lacks as it stands."""

    dollars: float = 0.0
    machines: int = 0
    bought: int = 0
    unmet: Mapping[str, float] = field(default_factory=dict)
    weighted_unmet: Mapping[str, float] = field(default_factory=dict)


class _Sums:
    def __init__(self) -> None:
        self.dollars, self.machine_hours, self.bought_hours = 0.0, 0.0, 0.0
        self.preemptions = 0
        self.unmet: defaultdict[str, float] = defaultdict(float)
        self.weighted: defaultdict[str, float] = defaultdict(float)

    def add(self, rates: _Rates, hours: float) -> None:
        self.dollars += rates.dollars * hours
        self.machine_hours += rates.machines * hours
        self.bought_hours += rates.bought * hours
        for name, amount in rates.unmet.items():
            self.unmet[name] += amount * hours
        for name, amount in rates.weighted_unmet.items():
            self.weighted[name] += amount * hours

    def measures(self) -> Measures:
        return Measures(
            self.dollars,
            self.machine_hours,
            self.bought_hours,
            self.preemptions,
            dict(sorted(self.unmet.items())),
            dict(sorted(self.weighted.items())),
        )


class _Side:
    def __init__(self, pools: list[Pool]) -> None:
        self.pools = pools

    def decide(self, cycle: RecordedCycle) -> None:
        for pool in self.pools:
            pool.decide(cycle)

    @property
    def preempted(self) -> int:
        """In the last cycle."""
        return sum(pool.preempted for pool in self.pools)

    def add_to(self, sums: _Sums, hours: float) -> None:
        for pool in self.pools:
            sums.add(pool.rates, hours)
            pool.whole.add(pool.rates, hours)


class _Slices:
    def __init__(self, seconds: int) -> None:
        self._size = seconds * SECOND
        self._seconds: defaultdict[int, float] = defaultdict(float)
        self._sums: defaultdict[int, tuple[_Sums, _Sums]] = defaultdict(lambda: (_Sums(), _Sums()))

    def take(self, since: Instant, until: Instant, pooled: _Side, isolated: _Side) -> None:
        """Both sides stood as they are from one time to another."""
        while since < until:
            number = since // self._size
            end = min(until, (number + 1) * self._size)
            nanos, since = end - since, end
            self._seconds[number] += nanos / SECOND
            for side, sums in zip((pooled, isolated), self._sums[number], strict=True):
                side.add_to(sums, nanos / SECOND / 3600.0)

    def preempted(self, at: Instant, pooled: int, isolated: int) -> None:
        for count, sums in zip((pooled, isolated), self._sums[at // self._size], strict=True):
            sums.preemptions += count

    def all(self) -> tuple[IsolatedSlice, ...]:
        return tuple(
            IsolatedSlice(
                number * self._size,
                self._seconds.get(number, 0.0),
                *(sums.measures() for sums in self._sums[number]),
            )
            for number in sorted(self._sums)
        )
