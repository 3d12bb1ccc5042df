"""The outcome of a cycle as columns; a record is made when it is read.

Emission order: Phase 1 in the order of the normalised demand, Bootstraps before Provisions,
machines in pool order; then victims; then excess; then releases.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bigfleet.engine.acquisition import Acquired, Credit
from bigfleet.engine.fold import Normalised, need_of
from bigfleet.engine.kernels.compiled import Bools, Floats, Int8s, Int32s, Int64s
from bigfleet.engine.kernels.hashing import number_by_value
from bigfleet.engine.kernels.records import KindArrays, NeedArrays
from bigfleet.engine.ledgers import parking_ages, shortfall_ledger
from bigfleet.engine.preemption import Preempted
from bigfleet.engine.reservations import StandingReservation
from bigfleet.engine.scene import Scene
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind, Shortfall
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.resources import Resources


@dataclass(frozen=True, slots=True)
class ActionColumns:
    kind: Int8s
    row: Int32s
    #: The normalised Need that acquires or preempts, -1: none.
    need: Int32s
    grace_seconds: Int32s

    def __len__(self) -> int:
        return len(self.kind)


RECLAIM_GRACE_SECONDS = 600
_FREE = (MachineState.IDLE, MachineState.SPECULATIVE)


class Outcome:
    def __init__(
        self,
        scene: Scene,
        normalised: Normalised,
        needs: NeedArrays,
        kinds: KindArrays,
        credit: Credit,
        acquired: Acquired,
        queue: Int64s,
        preempted: Preempted,
        leaving: Int32s,
        deleted: Int32s,
        parked: Bools,
    ) -> None:
        self.scene = scene
        self.normalised = normalised
        self.needs = needs
        self.kinds = kinds
        self.credit = credit
        self.acquired = acquired
        #: Needs still short after Phase 1, in precedence order.
        self.queue = queue
        self.preempted = preempted
        self.leaving = leaving
        self.deleted = deleted
        self.parked = parked

    def __len__(self) -> int:
        return len(self.normalised)

    @property
    def action_count(self) -> int:
        taken = int(self.acquired.count.sum())
        return taken + len(self.preempted.row) + len(self.leaving) + len(self.deleted)

    def emit(self) -> ActionColumns:
        """Make the actions as columns; the last step of a cycle."""
        return self.action_columns

    @cached_property
    def action_columns(self) -> ActionColumns:
        taken, is_spec, for_need = self._taken_in_emission_order()
        preempted, no_need = self.preempted, np.int32(-1)
        sizes = [len(taken), len(preempted.row), len(self.leaving), len(self.deleted)]
        kinds = [ActionKind.BOOTSTRAP, ActionKind.PREEMPT, ActionKind.RECLAIM, ActionKind.DELETE]
        kind = np.repeat(np.array(kinds, np.int8), sizes)
        kind[: len(taken)][is_spec] = ActionKind.PROVISION
        need = np.repeat(no_need, sum(sizes))
        need[: sizes[0]] = for_need
        need[sizes[0] : sizes[0] + sizes[1]] = preempted.need
        grace = np.repeat(np.array([0, 0, RECLAIM_GRACE_SECONDS, 0], np.int32), sizes)
        grace[sizes[0] : sizes[0] + sizes[1]] = preempted.grace_seconds
        rows = np.concatenate([taken, preempted.row, self.leaving, self.deleted])
        return ActionColumns(kind, rows, need, grace)

    def _taken_in_emission_order(self) -> tuple[Int32s, Bools, Int64s]:
        """Acquired rows by Need, Idle first, each state by cost and id; and which are Speculative.

        Only a spread Need takes machines in another order than that.
        """
        acquired = self.acquired
        need = np.repeat(np.arange(len(self)), acquired.count)
        before = np.cumsum(acquired.count) - acquired.count
        place = acquired.start[need] + np.arange(len(need)) - before[need]
        rows = acquired.taken[place]
        is_spec = self.scene.snapshot.columns.state[rows] == MachineState.SPECULATIVE
        spread = np.flatnonzero(self.needs.spread[need] >= 0)
        if len(spread):
            cost = self.effective_cost(rows[spread], need[spread])
            keys = (rows[spread], cost, is_spec[spread], need[spread])
            order = spread[np.lexsort(keys)]
            rows[spread], is_spec[spread] = rows[order], is_spec[order]
        return rows, is_spec, need

    def effective_cost(self, rows: Int32s, need: Int64s) -> Floats:
        """Effective cost of each row for its Need."""
        kind = self.scene.supply.kind[rows]
        risky = self.kinds.probability[kind] > 0
        cost = self.kinds.price[kind].copy()
        penalty = self.needs.penalty[need]
        cost[risky] += self.kinds.probability[kind][risky] * penalty[risky]
        return cost

    @cached_property
    def bootstraps(self) -> Int64s:
        """Per Need: machines acquired that were Idle."""
        actions = self.action_columns
        needs = actions.need[actions.kind == ActionKind.BOOTSTRAP]
        return np.bincount(needs, minlength=len(self))

    @cached_property
    def unsatisfied(self) -> Bools:
        flags = np.zeros(len(self), np.bool_)
        flags[self.queue] = True
        return flags

    def same_satisfiable(self, row: int) -> bool:
        """Whether the domain recorded for a gang can hold it, be it by taking it whole (U26)."""
        return bool(self.credit.satisfiable[row] or self.preempted.whole_domain[row])

    @cached_property
    def matching_supply(self) -> Bools:
        """For Needs still short, whether any machine in sight would do."""
        columns = self.scene.snapshot.columns
        obtainable = np.isin(columns.state, _FREE) & (columns.held == 0)
        return self._short_but_served((columns.state == MachineState.CONFIGURED) | obtainable)

    @cached_property
    def withheld_supply(self) -> Bools:
        """For Needs still short, whether a free machine would do that may not be taken now."""
        columns = self.scene.snapshot.columns
        return self._short_but_served(np.isin(columns.state, _FREE) & (columns.held != 0))

    def _short_but_served(self, machines: Bools) -> Bools:
        """Needs still short that one of these machines matches and holds one unit of."""
        kinds = np.unique(self.scene.supply.kind[machines])
        served: Bools = np.any(self.kinds.eligible[:, kinds], axis=1)
        return self.unsatisfied & served[self.needs.key]

    def need(self, row: int) -> Need:
        return need_of(self.scene, self.normalised, row)

    def key(self, row: int) -> NeedKey:
        tables, columns = self.scene.demand.tables, self.scene.demand.columns
        cluster = tables.clusters.rows[self.normalised.cluster[row]]
        fingerprint = tables.profiles.rows[self.normalised.profile[row]].fingerprint
        group = ""
        if row < self.normalised.first_folded:
            lead = self.normalised.members[self.normalised.starts[row]]
            group = tables.groups.rows[columns.group[lead]]
        return NeedKey(cluster, fingerprint, group)

    def largest_unit(self, fingerprint: str) -> Resources:
        """In each dimension, over the Needs of one profile that are still short."""
        tables, largest = self.scene.demand.tables, Resources()
        profile = tables.profiles.find(fingerprint)
        short = self.queue[self.normalised.profile[self.queue] == profile]
        for unit in np.unique(self.normalised.unit[short]).tolist():
            largest = largest.most(tables.vectors.resources(unit))
        return largest

    def resources(self, amounts: list[int]) -> Resources:
        """A vector of the kernels as a record, without zero dimensions."""
        pairs = zip(self.scene.dimensions, amounts, strict=True)
        return Resources(tuple([pair for pair in pairs if pair[1] > 0]))

    def memory_after(
        self,
        before: EngineMemory,
        surviving: list[StandingReservation],
        options: EngineOptions,
        now: Instant | None,
    ) -> EngineMemory:
        reservations = {s.reservation.machine: s.reservation for s in surviving}
        reservations.update(self._new_reservations(options, now))
        return EngineMemory(
            reservations=reservations,
            parking=self._parking_after(before, surviving),
            shortfalls=self._shortfalls_after(before),
        )

    def _new_reservations(
        self, options: EngineOptions, now: Instant | None
    ) -> dict[str, Reservation]:
        ids, preempted = self.scene.snapshot.ids, self.preempted
        holders = {n: self.key(n) for n in np.unique(preempted.need).tolist()}
        expires: dict[int, Instant | None] = {
            grace: None
            if now is None
            else now + round((grace + options.reservation_margin_seconds) * SECOND)
            for grace in np.unique(preempted.grace_seconds).tolist()
        }
        machines = [ids[row] for row in preempted.row.tolist()]
        return {
            machine: Reservation(machine, ReservationKind.PREEMPTION, holders[n], expires[grace])
            for machine, n, grace in zip(
                machines, preempted.need.tolist(), preempted.grace_seconds.tolist(), strict=True
            )
        }

    def _parking_after(
        self, before: EngineMemory, surviving: list[StandingReservation]
    ) -> dict[NeedKey, int]:
        queue = np.sort(self.queue)
        stalled = queue[
            (self.needs.same[queue] >= 0)
            & (self.acquired.count[queue] == 0)
            & ~self.credit.satisfiable[queue]
        ]
        awaiting = frozenset(s.reservation.holder for s in surviving if s.is_preemption)
        return parking_ages(before.parking, map(self.key, stalled.tolist()), awaiting)

    def _shortfalls_after(self, before: EngineMemory) -> dict[NeedKey, Shortfall]:
        """Needs of one identity share an entry; a Need without anything unresolved waits."""
        left = self.preempted.unresolved[self.queue]
        number, first = number_by_value(self.normalised.identity[self.queue])
        total = np.zeros((len(first), left.shape[1]), np.int64)
        np.add.at(total, number, left)
        keys = [self.key(n) for n in self.queue[first].tolist()]
        deficits = [self.resources(amounts) for amounts in total.tolist()]
        return shortfall_ledger(before.shortfalls, zip(keys, deficits, strict=True))
