"""ActionFacts and NeedFacts from the columns of a live decision.

A cycle says why each of its actions was decided; Needs are explained one by one when a person asks,
never in a cycle. What depends only on what a Need asks for (requirements and unit: its eligibility
key) is counted once per key and kept for as long as the decision is. Tenants may bring any number
of keys, so only the first MOST_KEYS are kept.

Safe to read from several threads: what is kept is computed the same by all.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from bigfleet.engine.decision import Decision, Verdict
from bigfleet.engine.encoding import HELD_BY
from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.need_progress import hold_of
from bigfleet.explain.actions import ActingNeed, MachineFacts
from bigfleet.explain.need_facts import (
    ACQUIRABLE,
    MOST_NAMES,
    SUPPLY_STATES,
    Group,
    Holder,
    NewVictims,
    Offer,
    Rejection,
    Rejections,
    TooSmall,
    need_name,
)
from bigfleet.model.actions import Action
from bigfleet.model.batches import NEVER
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import EngineOptions
from bigfleet.model.requirements import HOSTNAME_KEY, Requirement, attribute_of

#: Eligibility keys whose counts are kept.
MOST_KEYS = 4096

T = TypeVar("T")


class ColumnFacts:
    def __init__(
        self,
        decision: Decision,
        memory: EngineMemory,
        options: EngineOptions,
        now: Instant | None,
        cycle: str,
    ) -> None:
        """`memory`: what the cycle was given, not what it left."""
        self._decision = decision
        self._outcome = decision.outcome
        self._snapshot = decision.outcome.scene.snapshot
        self._memory = memory
        self.options = options
        self.now = now
        self.cycle = cycle
        self._acting: dict[int, ActingNeed] = {}
        self._rejections: dict[int, Rejections] = {}
        self._held: dict[int, dict[HeldBy, tuple[Group, Instant | None]]] = {}
        #: By eligibility key: rows of Needs that claim machines that fit, and how many.
        self._claims: dict[int, tuple[Int64s, Int64s]] = {}
        self._configured: dict[int, tuple[int, int]] = {}
        #: The last key asked about, and which machines fit it.
        self._fitting: tuple[int, Bools] | None = None

    def verdict(self, row: int) -> Verdict:
        """The verdict on a normalised Need, without the ids of its machines."""
        return self._decision.verdict(row)

    # -- ActionFacts -----------------------------------------------------------------------------

    def machine_facts(self, machine: str) -> MachineFacts:
        snapshot = self._snapshot
        columns, tables, row = snapshot.columns, snapshot.tables, snapshot.row_of(machine)
        offering = tables.offerings.table.rows[int(columns.offering[row])]
        cluster, since = int(columns.cluster[row]), int(columns.idle_since[row])
        return MachineFacts(
            machine,
            tables.clusters.rows[cluster] if cluster >= 0 else "",
            offering.capacity_type,
            offering.price_per_hour,
            offering.interruption_probability,
            tables.stamps.table.rows[int(columns.stamp[row])],
            bool(columns.empty[row]),
            None if since == NEVER else since,
        )

    def acting_need(self, action: Action) -> ActingNeed:
        need = action.need
        assert need is not None, "an action that acquires or preempts names its Need"
        found = self._acting.get(need)
        if found is None:
            found = self._acting[need] = ActingNeed(
                need_name(self._outcome.key(need)),
                float(self._outcome.needs.penalty[need]),
                self._decision.domain(need),
                int(self._outcome.preempted.count_of_need[need]),
            )
        return found

    def ranking(self, action: Action) -> Mapping[str, Any]:
        """Not known: it would take every machine that fits, for every Need that acts."""
        return {}

    def claimed_by(self, machine: str) -> tuple[str, int] | None:
        holder = int(self._outcome.credit.holder[self._snapshot.row_of(machine)])
        if holder < 0:
            return None
        return need_name(self._outcome.key(holder)), int(self._outcome.needs.priority[holder])

    def cluster_counts(self, cluster: str) -> tuple[int, int]:
        number = self._snapshot.tables.clusters.find(cluster)
        return self._snapshot.configured_of(cluster), int(self._claimed_of_cluster[number])

    @cached_property
    def _claimed_of_cluster(self) -> Int64s:
        columns, holder = self._snapshot.columns, self._outcome.credit.holder
        rows = (columns.state == MachineState.CONFIGURED) & (holder >= 0)
        return np.bincount(columns.cluster[rows], minlength=self._snapshot.cluster_count)

    # -- NeedFacts -------------------------------------------------------------------------------

    @property
    def parking_probe(self) -> int:
        return self.options.parking.probe

    @property
    def machine_count(self) -> int:
        return len(self._snapshot)

    @cached_property
    def has_supply(self) -> bool:
        return bool((self._is_supply & (self._snapshot.columns.held == 0)).any())

    def parking_age(self, need: Need) -> int | None:
        return self._memory.parking.get(need.key)

    def held_supply(self, verdict: Verdict) -> Mapping[HeldBy, tuple[Group, Instant | None]]:
        """When a hold ends is not in the columns: the offering's back-off tells it."""
        key = self._key(verdict)
        found = self._held.get(key)
        if found is None:
            held = np.where(self._fits(verdict), self._snapshot.columns.held, 0)
            rows = np.flatnonzero(held)
            found = {
                hold_of(code): (self._group(rows[held[rows] == code]), None)
                for code in range(1, len(HELD_BY) + 1)
                if (held[rows] == code).any()
            }
            _keep(self._held, key, found)
        return found

    def rejections(self, verdict: Verdict) -> Rejections:
        key = self._key(verdict)
        found = self._rejections.get(key)
        if found is None:
            found = self._rejected(verdict.need)
            _keep(self._rejections, key, found)
        return found

    def coming(self, verdict: Verdict, state: MachineState) -> Group:
        own = self._claimed(verdict)
        if not len(own):
            return Group()
        return self._group(own[self._snapshot.columns.state[own] == state])

    def reserved(self, verdict: Verdict, state: MachineState) -> Group:
        reserved = self._reserved_rows.get(verdict.need.key)
        if not reserved:
            return Group()
        rows = np.array(reserved, np.int64)
        return self._group(np.sort(rows[self._snapshot.columns.state[rows] == state]))

    def reserved_for_others(self, verdict: Verdict) -> Group:
        others = self._reserved_by_others(verdict)
        if not others:
            return Group()
        rows = np.array(others, np.int64)
        idle = self._snapshot.columns.state[rows] == MachineState.IDLE
        return self._group(np.sort(rows[idle & self._fits(verdict)[rows]]))

    def new_victims(self, verdict: Verdict) -> NewVictims:
        preempted = self._outcome.preempted
        places = np.flatnonzero(preempted.need == self._row(verdict))
        grace = int(preempted.grace_seconds[places].max(initial=0))
        ids = self._snapshot.ids
        names = tuple(ids[row] for row in preempted.row[places[:MOST_NAMES]].tolist())
        return NewVictims(len(places), grace, names)

    def holders(self, verdict: Verdict) -> list[Holder]:
        """Only those of at least the Need's own precedence: the others stand behind it."""
        rows, machines = self._claims_of(verdict)
        row, precedence = self._row(verdict), self._outcome.needs.precedence
        ahead = (rows != row) & (precedence[rows] >= precedence[row])
        chosen = zip(rows[ahead].tolist(), machines[ahead].tolist(), strict=True)
        return [Holder(self._outcome.need(holder), count) for holder, count in chosen]

    def configured(self, verdict: Verdict) -> tuple[int, int]:
        key = self._key(verdict)
        found = self._configured.get(key)
        if found is None:
            columns = self._snapshot.columns
            fits = self._fits(verdict)
            rows = np.flatnonzero(fits & (columns.state == MachineState.CONFIGURED))
            holder = self._outcome.credit.holder[rows]
            stamped = self._snapshot.stamps.priority[columns.stamp[rows]]
            claimed = self._outcome.needs.priority[np.maximum(holder, 0)]
            priority = np.where(holder >= 0, claimed, stamped) if len(rows) else stamped
            found = len(rows), int(priority.min()) if len(rows) else 0
            _keep(self._configured, key, found)
        return found

    def offers(self, verdict: Verdict, key: str) -> dict[str, Offer]:
        scene = self._outcome.scene
        names, domain_of_kind = scene.kinds.domains(key)
        fits = self._fits(verdict)
        free = fits & self._is_free
        free[self._reserved_by_others(verdict)] = False
        own = self._claimed(verdict)
        own = own[fits[own]]
        free[own] = False
        domain_of_own = domain_of_kind[scene.supply.kind[own]]
        free_rows = np.flatnonzero(free)
        domain_of_free = domain_of_kind[scene.supply.kind[free_rows]]
        domains = np.union1d(domain_of_own, domain_of_free)
        return {
            names[domain]: Offer(
                self._group(own[domain_of_own == domain]),
                self._group(free_rows[domain_of_free == domain]),
            )
            for domain in domains.tolist()
            if domain >= 0
        }

    # -- counted once ----------------------------------------------------------------------------

    @cached_property
    def _is_supply(self) -> Bools:
        supply: Bools = np.isin(self._snapshot.columns.state, SUPPLY_STATES)
        return supply

    @cached_property
    def _is_free(self) -> Bools:
        columns = self._snapshot.columns
        unclaimed = (columns.held == 0) & (self._outcome.credit.holder < 0)
        free: Bools = unclaimed & np.isin(columns.state, ACQUIRABLE)
        return free

    @cached_property
    def _claimed_rows(self) -> tuple[Int64s, Int64s]:
        """Claimed machines by Need, ascending, and where each Need's begin."""
        holder = self._outcome.credit.holder
        claimed = np.flatnonzero(holder >= 0)
        rows = claimed[np.argsort(holder[claimed], kind="stable")]
        counts = np.bincount(holder[claimed], minlength=len(self._outcome))
        return rows, np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def _reserved_rows(self) -> dict[NeedKey, list[int]]:
        """Machines that wait for a Need, by the Need."""
        found: dict[NeedKey, list[int]] = {}
        for machine, reservation in self._memory.reservations.items():
            if (row := self._snapshot.row_of(machine)) >= 0:
                found.setdefault(reservation.holder, []).append(row)
        return found

    @cached_property
    def _supply_of_kind(self) -> tuple[Int64s, Int64s]:
        """By kind: machines that could be supply, and the first row of them; -1: none."""
        scene = self._outcome.scene
        rows = np.flatnonzero(self._is_supply)
        kinds = scene.supply.kind[rows]
        counts = np.bincount(kinds, minlength=len(scene.kinds))
        first = np.full(len(scene.kinds), -1, np.int64)
        present, at = np.unique(kinds, return_index=True)
        first[present] = rows[at]
        return counts, first

    # -- of one Need -----------------------------------------------------------------------------

    def _row(self, verdict: Verdict) -> int:
        return int(self._row_of_member[verdict.members[0]])

    @cached_property
    def _row_of_member(self) -> Int64s:
        normalised = self._outcome.normalised
        rows = np.zeros(len(normalised.members), np.int64)
        sizes = np.diff(normalised.starts)
        rows[normalised.members] = np.repeat(np.arange(len(sizes)), sizes)
        return rows

    def _key(self, verdict: Verdict) -> int:
        return int(self._outcome.needs.key[self._row(verdict)])

    def _fits(self, verdict: Verdict) -> Bools:
        """Which machines meet the requirements and hold one unit."""
        key, known = self._key(verdict), self._fitting
        if known is not None and known[0] == key:
            return known[1]
        fits: Bools = self._outcome.kinds.eligible[key][self._outcome.scene.supply.kind]
        self._fitting = key, fits
        return fits

    def _claimed(self, verdict: Verdict) -> Int64s:
        rows, starts = self._claimed_rows
        row = self._row(verdict)
        return rows[starts[row] : starts[row + 1]]

    def _claims_of(self, verdict: Verdict) -> tuple[Int64s, Int64s]:
        key = self._key(verdict)
        found = self._claims.get(key)
        if found is None:
            holder = self._outcome.credit.holder
            rows, machines = np.unique(
                holder[self._fits(verdict) & (holder >= 0)], return_counts=True
            )
            found = rows.astype(np.int64), machines
            _keep(self._claims, key, found)
        return found

    def _reserved_by_others(self, verdict: Verdict) -> list[int]:
        own = verdict.need.key
        return [row for key, rows in self._reserved_rows.items() if key != own for row in rows]

    def _rejected(self, need: Need) -> Rejections:
        counts, first = self._supply_of_kind
        open_kinds = first >= 0
        failed = []
        for requirement in need.profile.requirements:
            missed = open_kinds & ~self._outcome.scene.kinds.meets(requirement)
            if missed.any():
                example = int(first[missed].min())
                value = self._value(example, requirement)
                count = int(counts[missed].sum())
                failed.append(Rejection(requirement, count, self._snapshot.ids[example], value))
            open_kinds &= ~missed
        return Rejections(int(counts.sum()), tuple(failed), self._too_small(need, open_kinds))

    def _too_small(self, need: Need, kinds: Bools) -> TooSmall | None:
        """Of the kinds that meet every requirement."""
        counts, first = self._supply_of_kind
        dimensions = self._outcome.scene.dimensions
        unit = np.array([need.min_unit[name] for name in dimensions], np.int64)
        lacking = (self._outcome.kinds.units < unit).sum(axis=1)
        small = np.flatnonzero(kinds & (lacking > 0))
        if not len(small):
            return None
        nearest = small[lacking[small] == lacking[small].min()]
        row = int(first[nearest].min())
        kind = int(self._outcome.scene.supply.kind[row])
        capacity = self._outcome.resources(self._outcome.kinds.units[kind].tolist())
        return TooSmall(int(counts[small].sum()), self._snapshot.ids[row], capacity)

    def _value(self, row: int, requirement: Requirement) -> str | None:
        tables, columns = self._snapshot.tables, self._snapshot.columns
        if requirement.key == HOSTNAME_KEY:
            name = int(columns.node_name[row])
            return tables.node_names.rows[name] if name >= 0 else None
        offering = tables.offerings.table.rows[int(columns.offering[row])]
        return attribute_of(
            requirement.key, offering.instance_type, offering.zone, dict(offering.labels)
        )

    def _group(self, rows: Int64s) -> Group:
        """`rows` ascending."""
        if not len(rows):
            return Group()
        units = self._outcome.kinds.units[self._outcome.scene.supply.kind[rows]].sum(axis=0)
        ids = self._snapshot.ids
        names = tuple(ids[row] for row in rows[:MOST_NAMES].tolist())
        return Group(len(rows), self._outcome.resources(units.tolist()), names)


def _keep(kept: dict[int, T], key: int, found: T) -> None:
    if len(kept) < MOST_KEYS:
        kept[key] = found
