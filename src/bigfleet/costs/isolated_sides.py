"""The two sides of a comparison: the engine with machines that carry out what it decides.

Each pool has its own machines and its own engine, and tells after every cycle what it costs and
lacks. Prices, back-offs and failures of machines are the recorded ones.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bigfleet.costs.isolated_pools import BOUGHT, LOWEST_PRIORITY, ClusterAlone
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.journal.closed_diffs import ClosedEngine
from bigfleet.journal.history import RecordedCycle
from bigfleet.journal.recorded_machines import RecordedMachines
from bigfleet.model.actions import ActionKind
from bigfleet.model.batches import NEVER
from bigfleet.model.isolated import Measures
from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import MachineState
from bigfleet.model.quantities import is_binary
from bigfleet.whatif.moving import LATER
from bigfleet.whatif.settling import next_release

_GIB = 2**30


class PoolMachines(RecordedMachines):
    """A machine that fails in the record fails here; it has a host only if it was bought here."""

    def __init__(self, first: Snapshot, latencies: Latencies) -> None:
        super().__init__(first, latencies)
        #: What `_rates` were taken of.
        self._rated_as: Snapshot | None = None
        self._rates = 0.0, 0, 0

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

    def rates(self) -> tuple[float, int, int]:
        """Dollars per hour, machines that exist or are being created, and bought ones of them."""
        snapshot = self._snapshot
        if snapshot is None or snapshot is not self._rated_as:
            self._rated_as, self._rates = snapshot, self._rates_now()
        return self._rates

    def _rates_now(self) -> tuple[float, int, int]:
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
    """One pool and its engine; `alone`: of one cluster, else of all."""

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
        #: As the pool stands after the last cycle, and how many machines it preempted in it.
        self.rates = Rates()
        self.preempted = 0
        self.whole = Sums()

    def decide(self, cycle: RecordedCycle) -> None:
        if self._alone is not None:
            cycle = self._alone.cycle(cycle)
        _given, decision = self._engine.live_through(cycle)
        self.preempted = 0
        unmet = self.rates.unmet, self.rates.weighted_unmet
        if decision is not self._decision:
            self._decision = decision
            kinds = decision.outcome.action_columns.kind
            self.preempted = int(np.count_nonzero(kinds == int(ActionKind.PREEMPT)))
            unmet = _unmet(decision)
        self.rates = Rates(*self._engine.machines.rates(), *unmet)


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
class Rates:
    """What a pool costs and lacks as it stands."""

    dollars: float = 0.0
    machines: int = 0
    bought: int = 0
    unmet: Mapping[str, float] = field(default_factory=dict)
    weighted_unmet: Mapping[str, float] = field(default_factory=dict)


class Sums:
    def __init__(self) -> None:
        self.dollars, self.machine_hours, self.bought_hours = 0.0, 0.0, 0.0
        self.preemptions = 0
        self.unmet: defaultdict[str, float] = defaultdict(float)
        self.weighted: defaultdict[str, float] = defaultdict(float)

    def add(self, rates: Rates, hours: float) -> None:
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


class Side:
    def __init__(self, pools: Sequence[Pool]) -> None:
        self.pools = pools

    def decide(self, cycle: RecordedCycle, is_time_up: Callable[[], bool]) -> bool:
        """False: the time was up before all pools had decided."""
        for pool in self.pools:
            if is_time_up():
                return False
            pool.decide(cycle)
        return True

    def add_preemptions_to(self, sums: Sums) -> None:
        """Those of the last cycle."""
        for pool in self.pools:
            sums.preemptions += pool.preempted
            pool.whole.preemptions += pool.preempted

    def add_to(self, sums: Sums, hours: float) -> None:
        for pool in self.pools:
            sums.add(pool.rates, hours)
            pool.whole.add(pool.rates, hours)
