"""What a cluster has when it is alone: its part of the committed machines, and every offering.

Committed machines (bare metal, reserved and of unspecified capacity) are divided by the shares of
the clusters, within each kind of machine, so that shares are met over all kinds; a cluster keeps
the ones it has as long as its part lasts. Every on-demand and spot slot is there for every cluster,
as if it were alone in the cloud; one that was bought before the journal begins stays with the
cluster that has it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.demand import Demand, NeedColumns, NeedTables
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.needs_table import FrozenNeeds, block_of, frozen_of
from bigfleet.engine.snapshot import Snapshot, keep_bucket_of_row, sorted_keep_rows
from bigfleet.journal.history import RecordedCycle
from bigfleet.model.batches import NEVER
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.memory import EngineMemory, ReservationKind
from bigfleet.model.needs import Need, aggregate
from bigfleet.model.penalties import ZERO
from bigfleet.model.profiles import Profile
from bigfleet.model.quantities import scaled_amounts
from bigfleet.model.resources import Resources

#: Of the demand that keeps a headroom: every other Need takes its machines.
LOWEST_PRIORITY = -(2**31)
BOUGHT = (int(CapacityType.ON_DEMAND), int(CapacityType.SPOT))
_EVERYONE = -1


def bought_rows(snapshot: Snapshot) -> Bools:
    """Machines of on-demand and spot capacity: only they come and go with demand."""
    kinds = snapshot.offerings.capacity_type[snapshot.columns.offering]
    found: Bools = np.isin(kinds, BOUGHT)
    return found


def clusters_of_rows(snapshot: Snapshot, place: Mapping[str, int]) -> Int32s:
    """Which cluster has each machine, or ordered it, by its place; -1: none."""
    columns, names = snapshot.columns, snapshot.tables.clusters.rows
    places = np.array([*(place.get(name, -1) for name in names), -1], np.int32)
    stamped = snapshot.stamps.cluster[columns.stamp]
    found: Int32s = places[np.where(columns.cluster >= 0, columns.cluster, stamped)]
    return found


class Division:
    """Whose each machine is; decided when it is first seen, and for good."""

    def __init__(self, shares: Mapping[str, float]) -> None:
        """By name of cluster; they add up to 1."""
        self.clusters = tuple(sorted(shares))
        self.place = {name: place for place, name in enumerate(self.clusters)}
        self.shares = tuple(shares[name] for name in self.clusters)
        self._owner_of: dict[str, int] = {}
        self._dealt = np.zeros(len(self.clusters), np.int64)
        self._committed: set[str] = set()
        self._ids: Sequence[str] | None = None
        self._owners: Int32s = np.zeros(0, np.int32)

    def owners(self, snapshot: Snapshot) -> Int32s:
        """By row, the place of the cluster; -1: it is there for everyone."""
        if snapshot.ids is not self._ids:
            self._meet(snapshot)
            self._ids = snapshot.ids
            known = self._owner_of
            self._owners = np.array([known[name] for name in snapshot.ids], np.int32)
        return self._owners

    def committed(self) -> list[int]:
        """How many committed machines each cluster got, by place."""
        counts = Counter(self._owner_of[name] for name in self._committed)
        return [counts[place] for place in range(len(self.clusters))]

    def _meet(self, snapshot: Snapshot) -> None:
        known, ids = self._owner_of, snapshot.ids
        new = np.array([row for row, name in enumerate(ids) if name not in known], np.int64)
        if not len(new):
            return
        has, bought = clusters_of_rows(snapshot, self.place), bought_rows(snapshot)
        exists = snapshot.columns.provider >= 0
        shared: list[int] = []
        for row in new.tolist():
            if bought[row] and (has[row] >= 0 or not exists[row]):
                known[ids[row]] = int(has[row]) if exists[row] else _EVERYONE
            else:
                shared.append(row)
                if not bought[row]:
                    self._committed.add(ids[row])
        self._deal(snapshot, shared, has)

    def _deal(self, snapshot: Snapshot, rows: list[int], has: Int32s) -> None:
        offerings = snapshot.tables.offerings.table.rows
        kinds: dict[tuple[str, str, str, str], list[int]] = {}
        for row in rows:
            of = offerings[snapshot.columns.offering[row]]
            shape = repr((of.allocatable if of.allocatable.amounts else of.resources).amounts)
            kind = (of.instance_type, of.zone, CapacityType(of.capacity_type).label, shape)
            kinds.setdefault(kind, []).append(row)
        for kind in sorted(kinds):
            # Machines of one rack stay together: gangs need them.
            members = sorted(
                kinds[kind],
                key=lambda row: (offerings[snapshot.columns.offering[row]].labels, row),
            )
            left = self._parts(len(members))
            rest = []
            for row in members:
                owner = int(has[row])
                if owner >= 0 and left[owner]:
                    left[owner] -= 1
                    self._owner_of[snapshot.ids[row]] = owner
                else:
                    rest.append(row)
            turn = np.repeat(np.arange(len(left)), left).tolist()
            for row, owner in zip(rest, turn, strict=True):
                self._owner_of[snapshot.ids[row]] = owner

    def _parts(self, machines: int) -> Int64s:
        """How many of so many more each cluster gets: always the one furthest below its share."""
        before = self._dealt.copy()
        for _ in range(machines):
            due = np.array(self.shares) * (self._dealt.sum() + 1) - self._dealt
            self._dealt[int(np.argmax(due))] += 1
        return self._dealt - before


class ClusterAlone:
    """The record as one cluster sees it that has a pool of its own."""

    def __init__(self, division: Division, cluster: str, headroom: float) -> None:
        self.cluster = cluster
        self._division = division
        self._place = division.place[cluster]
        self._headroom = headroom
        self._snapshot: tuple[Snapshot, Snapshot] | None = None
        self._needs: tuple[NeedColumns | None, NeedTables, FrozenNeeds] | None = None
        self._rows: tuple[Sequence[str], list[str], Int64s] | None = None

    def cycle(self, recorded: RecordedCycle) -> RecordedCycle:
        given = recorded.given
        alone = replace(
            given,
            snapshot=self._machines(given.snapshot),
            needs=self._demand(given.needs),
            memory=self._memory(given.memory),
        )
        return replace(recorded, given=alone)

    def _machines(self, snapshot: Snapshot) -> Snapshot:
        if self._snapshot is None or self._snapshot[0] is not snapshot:
            self._snapshot = snapshot, self._alone(snapshot)
        return self._snapshot[1]

    def _alone(self, snapshot: Snapshot) -> Snapshot:
        owner, bought = self._division.owners(snapshot), bought_rows(snapshot)
        own = owner == self._place
        if self._rows is None or self._rows[0] is not snapshot.ids:
            rows = np.flatnonzero(bought | own)
            self._rows = snapshot.ids, [snapshot.ids[row] for row in rows.tolist()], rows
        _, ids, rows = self._rows
        has = clusters_of_rows(snapshot, self._division.place)
        elsewhere = (has >= 0) & (has != self._place)
        columns = snapshot.columns.taken(rows)
        offered = ~own & (elsewhere | (owner != _EVERYONE))
        _free(columns, offered[rows], MachineState.SPECULATIVE)
        columns.provider[offered[rows]] = -1
        _free(columns, (own & elsewhere)[rows], MachineState.IDLE)
        bucket = keep_bucket_of_row(columns)
        order = sorted_keep_rows(
            columns,
            np.flatnonzero(bucket >= 0),
            bucket,
            snapshot.offerings.price,
            snapshot.stamps.reclamation_penalty,
        )
        return Snapshot(columns, ids, order, snapshot.tables)

    def _demand(self, needs: FrozenNeeds) -> FrozenNeeds:
        block, tables = needs.blocks.get(self.cluster), needs.tables
        known = self._needs
        if known is None or known[0] is not block or known[1] is not tables:
            self._needs = block, tables, self._demand_of(block, tables)
        assert self._needs is not None
        return self._needs[2]

    def _demand_of(self, block: NeedColumns | None, tables: NeedTables) -> FrozenNeeds:
        if block is None:
            return frozen_of({}, tables)
        if not self._headroom:
            return frozen_of({self.cluster: block}, tables)
        needs = list(Demand(block, tables).needs)
        kept = aggregate(_kept_free(need, self._headroom) for need in needs)
        own = NeedTables.empty()
        return frozen_of({self.cluster: block_of(self.cluster, [*needs, *kept], own)}, own)

    def _memory(self, memory: EngineMemory) -> EngineMemory:
        """Without what other clusters' Needs wait for."""
        cluster = self.cluster
        return EngineMemory(
            {
                machine: each
                for machine, each in memory.reservations.items()
                if each.holder.cluster == cluster or each.kind is not ReservationKind.PREEMPTION
            },
            {key: age for key, age in memory.parking.items() if key.cluster == cluster},
            {key: each for key, each in memory.shortfalls.items() if key.cluster == cluster},
        )


def _free(columns: MachineColumns, chosen: Bools, state: MachineState) -> None:
    failed = columns.state == int(MachineState.FAILED)
    columns.state[chosen & ~failed] = int(state)
    columns.cluster[chosen] = -1
    columns.stamp[chosen] = 0
    columns.idle_since[chosen] = NEVER
    columns.overdue[chosen & ~failed] = False
    columns.empty[chosen] = False


def _kept_free(need: Need, headroom: float) -> Need:
    """The demand that keeps a part of a Need's machines free for it."""
    whole = need.profile.without_same()
    profile = Profile.of(whole.requirements, (), LOWEST_PRIORITY, ZERO, ZERO)
    amounts = scaled_amounts(need.aggregate.amounts, headroom)
    return Need(
        need.cluster,
        profile,
        Resources.of(amounts),
        need.min_unit,
        need.arrival_unix_nanos,
    )
