"""Which clusters a journal has, and the part of the committed machines that each of them gets.

A cluster's demand is counted in the dimension in which it is the largest part of all committed
machines, so that a cluster that needs mostly memory is not divided by its cores.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from bigfleet.costs.isolated_pools import bought_rows, clusters_of_rows
from bigfleet.costs.isolated_reading import TooLong, name_of
from bigfleet.engine.demand import NeedColumns, NeedTables
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Bools
from bigfleet.engine.snapshot import Snapshot
from bigfleet.journal.history import RecordedCycle
from bigfleet.model.isolated import Split
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: Seconds of a slice; each is a part of the next and of an hour.
SLICES = (1, 5, 10, 30, 60, 300, 900, 3600)
_MOST_SLICES = 300
#: Amounts by dimension.
Amounts = dict[str, float]


class Survey:
    """What has to be known before the pools can be divided; sums are over observed seconds."""

    def __init__(self, is_time_up: Callable[[], bool]) -> None:
        self._is_time_up = is_time_up
        self.cycles = 0
        self.first = ""
        self.began: Instant = 0
        self.ended: Instant = 0
        self.observed_seconds = 0.0
        #: On-demand and spot machines that are listed without a price: the most at once.
        self.unpriced = 0
        self._demand: dict[str, Amounts] = {}
        self._blocks: dict[str, NeedColumns] = {}
        self._tables: NeedTables | None = None
        self._peak: defaultdict[str, Amounts] = defaultdict(dict)
        self._sum: defaultdict[str, Amounts] = defaultdict(dict)
        self._held: dict[str, int] = {}
        self._held_sum: defaultdict[str, float] = defaultdict(float)
        self._snapshot: Snapshot | None = None
        #: What committed machines hold, and what all machines hold: the most at once.
        self._committed: Amounts = {}
        self._all: Amounts = {}
        self._names: set[str] = set()

    def looked_at(self, cycles: Iterable[tuple[RecordedCycle, str]]) -> Iterator[RecordedCycle]:
        """Raises TooLong."""
        for cycle, gap in cycles:
            if self.cycles and self._is_time_up():
                raise TooLong
            given = cycle.given
            if not self.cycles:
                self.first, self.began = name_of(cycle), given.at
            elif not gap:
                self._hold_for((given.at - self.ended) / SECOND)
            self.cycles, self.ended = self.cycles + 1, given.at
            self._look(given)
            yield cycle

    def shares(self, split: Split) -> dict[str, float]:
        """By cluster; they add up to 1. Equal parts where nothing tells clusters apart."""
        amounts = {name: self._amount(split, name) for name in sorted(self._names)}
        total = sum(amounts.values())
        if not total:
            return dict.fromkeys(amounts, 1.0 / len(amounts)) if amounts else {}
        return {name: amount / total for name, amount in amounts.items()}

    def _amount(self, split: Split, name: str) -> float:
        if split is Split.ACTUAL:
            return self._held_sum.get(name, 0.0)
        wanted = (self._peak if split is Split.PEAK else self._sum).get(name, {})
        whole = self._committed or self._all
        return max((wanted[n] / whole[n] for n in wanted if whole.get(n)), default=0.0)

    @property
    def slice_seconds(self) -> int:
        """As fine as a chart has room for."""
        seconds = (self.ended - self.began) / SECOND
        return next((each for each in SLICES if seconds <= each * _MOST_SLICES), SLICES[-1])

    def _hold_for(self, seconds: float) -> None:
        self.observed_seconds += seconds
        for name, amounts in self._demand.items():
            sums = self._sum[name]
            for dimension, amount in amounts.items():
                sums[dimension] = sums.get(dimension, 0.0) + amount * seconds
        for name, machines in self._held.items():
            self._held_sum[name] += machines * seconds

    def _look(self, given: EngineInput) -> None:
        blocks, tables = given.needs.blocks, given.needs.tables
        for name in [name for name in self._demand if name not in blocks]:
            del self._demand[name], self._blocks[name]
        for name, block in blocks.items():
            if self._blocks.get(name) is block and self._tables is tables:
                continue
            self._blocks[name] = block
            self._demand[name] = demand = _demand_of(block, tables)
            _raise_to(self._peak[name], demand)
            self._names.add(name)
        self._tables = tables
        if given.snapshot is not self._snapshot:
            self._snapshot = snapshot = given.snapshot
            bought = bought_rows(snapshot)
            self._held = _committed_machines_of(snapshot)
            self._names |= self._held.keys()
            _raise_to(self._committed, _amounts_of(snapshot, ~bought))
            _raise_to(self._all, _amounts_of(snapshot, np.ones(len(snapshot), np.bool_)))
            unpriced = bought & ~(snapshot.offerings.price[snapshot.columns.offering] > 0.0)
            self.unpriced = max(self.unpriced, int(np.count_nonzero(unpriced)))


def _raise_to(known: Amounts, amounts: Mapping[str, float]) -> None:
    for name, amount in amounts.items():
        known[name] = max(known.get(name, 0.0), amount)


def _amounts_of(snapshot: Snapshot, chosen: Bools) -> Amounts:
    rows = np.flatnonzero(chosen)
    shapes = snapshot.offerings.shape[snapshot.columns.offering[rows]]
    total: Amounts = {}
    for shape, count in zip(
        *(each.tolist() for each in np.unique(shapes, return_counts=True)), strict=True
    ):
        for name, amount in snapshot.tables.shapes.amounts(shape):
            total[name] = total.get(name, 0.0) + amount * count
    return total


def _demand_of(block: NeedColumns, tables: NeedTables) -> Amounts:
    wanted: Amounts = {}
    for vector in block.aggregate.tolist():
        for name, amount in tables.vectors.amounts(vector):
            wanted[name] = wanted.get(name, 0.0) + amount
    return wanted


def _committed_machines_of(snapshot: Snapshot) -> dict[str, int]:
    """How many committed machines each cluster has; clusters with bought ones only have none."""
    names = snapshot.tables.clusters.rows
    has = clusters_of_rows(snapshot, {name: place for place, name in enumerate(names)})
    committed = ~bought_rows(snapshot)
    counts = np.bincount(has[(has >= 0) & committed], minlength=len(names))
    return {names[place]: int(counts[place]) for place in np.unique(has[has >= 0]).tolist()}
