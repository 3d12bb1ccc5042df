"""What a decision means for each Need, in the records shown to people, made one by one when asked.

One row per Need of the normalised demand: gangs that were folded show as the one plain Need they
were served as, so that claims and deficits add up. Machines are looked at once per decision, as
counts by kind; a view costs the kinds and the Need's own machines.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from bigfleet.engine.coverage import domain_coverages
from bigfleet.engine.decision import Decision
from bigfleet.engine.demand import NeedTables
from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.model.cluster_reports import NeedStanding, met_sentence, unmet_sentence
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import DomainCoverage, MatchingSupply, NeedView

#: Matching machines are counted up to here.
MOST_SUPPLY = 10_000

_ACQUIRABLE = (MachineState.IDLE, MachineState.SPECULATIVE)


class NeedViews:
    """Immutable, and safe to read from any thread: what it keeps is computed the same by all."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision
        self._outcome = decision.outcome
        #: Needs that ask for the same machines see the same supply.
        self._supply_of_key: dict[int, MatchingSupply] = {}

    def __len__(self) -> int:
        return len(self._outcome)

    @property
    def unsatisfied(self) -> int:
        return len(self._outcome.queue)

    @property
    def tables(self) -> NeedTables:
        """Over which the demand was asked for."""
        return self._outcome.scene.demand.tables

    def rows(self, cluster: str = "") -> Int64s:
        """Rows by priority descending, arrival, cluster; of one cluster or of all."""
        if not cluster:
            return self._order
        number = self._outcome.scene.demand.tables.clusters.find(cluster)
        chosen: Int64s = self._order[self._outcome.normalised.cluster[self._order] == number]
        return chosen

    def of_cluster(self, cluster: str) -> Bools:
        """Which rows are of a cluster; of any where none is named."""
        if not cluster:
            return np.ones(len(self), np.bool_)
        number = self._outcome.scene.demand.tables.clusters.find(cluster)
        chosen: Bools = self._outcome.normalised.cluster == number
        return chosen

    def view(self, row: int) -> NeedView:
        outcome, decision = self._outcome, self._decision
        short = bool(outcome.unsatisfied[row])
        key = outcome.key(row)
        shortfall = decision.memory.shortfalls.get(key)
        victims = self._victims(row)
        return NeedView(
            need=outcome.need(row),
            satisfied=not short,
            deficit=outcome.resources(outcome.credit.remaining[row].tolist()),
            claimed=int(self._claims[row]),
            bootstraps=int(outcome.bootstraps[row]),
            provisions=int(outcome.acquired.count[row] - outcome.bootstraps[row]),
            same_domain=self.domain(row),
            same_satisfiable=outcome.same_satisfiable(row),
            parked=bool(outcome.parked[row]),
            parked_age=decision.memory.parking.get(key, 0),
            unmet_age=shortfall.age if short and shortfall else 0,
            unmet_reason=decision.unmet_reason(row) if short else None,
            supply=self.matching_supply(row) if short else None,
            victims=len(victims),
            freed=self._freed(victims),
            same_candidates=self.same_candidates(row) if short else (),
        )

    def steady(self, rows: Int64s) -> tuple[Bools, Int64s]:
        """Which of these Needs have all they asked for and nothing to count in the fleet, so that
        their view says the same until one of the columns beside it differs, or another gang domain
        is recorded.

        The columns are numbers of one set of tables: of two cycles over the same one they compare.
        """
        outcome, normalised = self._outcome, self._outcome.normalised
        columns, members = outcome.scene.demand.columns, normalised.members
        lead = members[normalised.starts[rows]]
        told = (
            normalised.cluster[rows],
            normalised.profile[rows],
            columns.aggregate[lead],
            columns.unit[lead],
            columns.group[lead],
            columns.parked[lead],
            normalised.arrival[rows],
            normalised.starts[rows + 1] - normalised.starts[rows],
            rows < normalised.first_folded,
            self._claims[rows],
            outcome.bootstraps[rows],
            outcome.acquired.count[rows],
            outcome.credit.satisfiable[rows] | outcome.preempted.whole_domain[rows],
        )
        is_steady = ~(outcome.unsatisfied[rows] | outcome.parked[rows] | self._has_victims[rows])
        return is_steady, np.column_stack([each.astype(np.int64) for each in told])

    def domain(self, row: int) -> str:
        """The domain recorded for a gang; empty: there is none."""
        return self._decision.domain(row) or ""

    def gangs(self, rows: Int64s) -> Bools:
        """Which of these Needs are all in one domain."""
        one_domain: Bools = self._outcome.needs.same[rows] >= 0
        return one_domain

    def deficits_differ(self, rows: Int64s, before: "NeedViews", places: Int64s) -> Bools:
        """Whether each of these rows lacks something else than the one at its place did before.

        Dimensions are told apart by their names, which may be others.
        """
        mine, theirs = self._outcome, before._outcome
        column_of = {name: number for number, name in enumerate(theirs.scene.dimensions)}
        differ = np.zeros(len(rows), np.bool_)
        for number, name in enumerate(mine.scene.dimensions):
            lacked: Int64s = mine.credit.remaining[rows, number]
            column = column_of.pop(name, None)
            differ |= lacked != (0 if column is None else theirs.credit.remaining[places, column])
        for column in column_of.values():
            differ |= theirs.credit.remaining[places, column] != 0
        return differ

    def need(self, row: int) -> Need:
        return self._outcome.need(row)

    def key(self, row: int) -> NeedKey:
        return self._outcome.key(row)

    def need_id(self, row: int) -> str:
        return self.key(row).need_id

    def claims(self, row: int) -> int:
        """How many machines count for a Need."""
        return int(self._claims[row])

    def asked_for(self, rows: Int64s) -> int:
        """How many Needs of clusters these rows stand for."""
        starts = self._outcome.normalised.starts
        return int((starts[rows + 1] - starts[rows]).sum())

    def standings(self, row: int) -> Iterator[NeedStanding]:
        """Of every Need the row stands for, under the key with which its cluster asked for it.

        Gangs that were folded stand as the one row does, each with an equal share of its machines:
        which machine serves which of them is not decided here.
        """
        outcome, decision = self._outcome, self._decision
        reason = decision.unmet_reason(row) if outcome.unsatisfied[row] else None
        machines, arriving = int(self._claims[row]), int(self._arriving[row])
        if reason is None:
            sentence = met_sentence(machines, arriving)
        else:
            shortfall = decision.memory.shortfalls.get(outcome.key(row))
            deficit = outcome.resources(outcome.credit.remaining[row].tolist())
            age, parked = shortfall.age if shortfall else 0, bool(outcome.parked[row])
            sentence = unmet_sentence(deficit, age, reason, parked=parked)
        demand, starts = outcome.scene.demand, outcome.normalised.starts
        members = outcome.normalised.members[starts[row] : starts[row + 1]].tolist()
        share = len(members)
        claimed = outcome.resources((self._capacity_of(row) // share).tolist())
        for member in members:
            key = self._key_of(member)
            yield NeedStanding(
                key[0],
                key[1],
                reason is None,
                reason,
                sentence,
                -(-arriving // share),
                wanted=demand.tables.vectors.resources(int(demand.columns.aggregate[member])),
                claimed=claimed,
                machines=-(-machines // share),
                folded_members=share if share > 1 else 0,
            )

    def rows_of(self, cluster: str, asked: Iterable[tuple[str, str]]) -> Iterator[int]:
        """The rows that stand for these Needs of a cluster, each once, in the order asked."""
        wanted = dict.fromkeys(asked)
        if not wanted:
            return
        starts, row_of = self._outcome.normalised.starts, {}
        for row in self.rows(cluster).tolist():
            for member in self._outcome.normalised.members[starts[row] : starts[row + 1]].tolist():
                row_of[self._key_of(member)] = row
        yield from dict.fromkeys(row_of[key] for key in wanted if key in row_of)

    def _key_of(self, member: int) -> tuple[str, str]:
        """Fingerprint and group of a Need as its cluster asked for it."""
        demand = self._outcome.scene.demand
        fingerprint = demand.tables.profiles.rows[demand.columns.profile[member]].fingerprint
        return fingerprint, demand.tables.groups.rows[demand.columns.group[member]]

    def _capacity_of(self, row: int) -> Int64s:
        """Of all the machines a Need claims, by dimension."""
        rows, starts = self._claimed_rows
        kinds = self._outcome.scene.supply.kind[rows[starts[row] : starts[row + 1]]]
        total: Int64s = self._outcome.kinds.units[kinds].sum(axis=0)
        return total

    def matching_supply(self, row: int) -> MatchingSupply:
        """Machines that match the Need and hold one unit of it, free or taken."""
        key = int(self._outcome.needs.key[row])
        known = self._supply_of_key.get(key)
        if known is None:
            # Of two threads that count at the same time both count the same.
            known = self._supply_of_key[key] = self._counted_supply(row)
        return known

    def _counted_supply(self, row: int) -> MatchingSupply:
        eligible = self._eligible(row)
        idle, configured, speculative = (
            int(self._supply[state][eligible].sum())
            for state in (MachineState.IDLE, MachineState.CONFIGURED, MachineState.SPECULATIVE)
        )
        return MatchingSupply(
            idle=min(idle, MOST_SUPPLY),
            configured=min(configured, MOST_SUPPLY),
            speculative=min(speculative, MOST_SUPPLY),
            capped=max(idle, configured, speculative) > MOST_SUPPLY,
        )

    def same_candidates(self, row: int) -> tuple[DomainCoverage, ...]:
        """The domains that come nearest to holding a gang.

        A domain has what the gang claims there, its cluster's unclaimed machines, and what is free
        to take.
        """
        outcome = self._outcome
        topology = int(outcome.needs.same[row])
        if topology < 0:
            return ()
        machines = self._free.copy()
        for own in self._own_rows(row):
            machines[outcome.scene.supply.kind[own]] += 1
        for reserved in self._reserved_for_others(outcome.key(row)):
            machines[outcome.scene.supply.kind[reserved]] -= 1
        names, domain_of_kind = outcome.scene.kinds.domains(outcome.scene.topology_keys[topology])
        kinds = np.flatnonzero(self._eligible(row) & (machines > 0) & (domain_of_kind >= 0))
        offers: dict[int, list[Resources]] = {}
        for kind in kinds.tolist():
            one = outcome.resources(outcome.kinds.units[kind].tolist())
            many = one.times(int(machines[kind]))
            offers.setdefault(int(domain_of_kind[kind]), []).append(many)
        wanted = outcome.resources(outcome.needs.wanted[row].tolist())
        found = domain_coverages(wanted, [(names[d], each) for d, each in offers.items()])
        return tuple(DomainCoverage(c.domain, c.permille, c.satisfiable) for c in found)

    # -- counted once ----------------------------------------------------------------------------

    @cached_property
    def _order(self) -> Int64s:
        outcome, normalised = self._outcome, self._outcome.normalised
        names = outcome.scene.cluster_names
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        cluster = rank[normalised.cluster]
        return np.lexsort((cluster, normalised.arrival, -outcome.needs.priority))

    @cached_property
    def _claims(self) -> Int64s:
        holder = self._outcome.credit.holder
        return np.bincount(holder[holder >= 0], minlength=len(self))

    @cached_property
    def _has_victims(self) -> Bools:
        found = np.zeros(len(self), np.bool_)
        found[self._outcome.preempted.need] = True
        return found

    @cached_property
    def _arriving(self) -> Int64s:
        """Of the machines each Need claims, those that do not serve yet."""
        holder = self._outcome.credit.holder
        states = self._outcome.scene.snapshot.columns.state
        coming = (holder >= 0) & (states != MachineState.CONFIGURED)
        return np.bincount(holder[coming], minlength=len(self))

    @cached_property
    def _supply(self) -> dict[MachineState, Int64s]:
        """Per state, machines of each kind; held ones are no supply."""
        columns = self._outcome.scene.snapshot.columns
        obtainable = columns.held == 0
        return {
            MachineState.IDLE: self._by_kind((columns.state == MachineState.IDLE) & obtainable),
            MachineState.CONFIGURED: self._by_kind(columns.state == MachineState.CONFIGURED),
            MachineState.SPECULATIVE: self._by_kind(
                (columns.state == MachineState.SPECULATIVE) & obtainable
            ),
        }

    @cached_property
    def _unclaimed_pool(self) -> Bools:
        columns = self._outcome.scene.snapshot.columns
        free = (columns.held == 0) & (self._outcome.credit.holder < 0)
        pool: Bools = free & np.isin(columns.state, _ACQUIRABLE)
        return pool

    @cached_property
    def _free(self) -> Int64s:
        return self._by_kind(self._unclaimed_pool)

    @cached_property
    def _claimed_rows(self) -> tuple[Int64s, Int64s]:
        """Claimed machines by Need, and where each Need's begin."""
        holder = self._outcome.credit.holder
        claimed = np.flatnonzero(holder >= 0)
        rows = claimed[np.argsort(holder[claimed], kind="stable")]
        return rows, np.concatenate([[0], np.cumsum(self._claims)])

    @cached_property
    def _reserved(self) -> list[tuple[int, NeedKey]]:
        """Machines of the free pool that are reserved."""
        ids, found = self._outcome.scene.snapshot.ids, []
        for machine, reservation in self._decision.memory.reservations.items():
            row = bisect_left(ids, machine)
            known = row < len(ids) and ids[row] == machine
            if known and self._unclaimed_pool[row]:
                found.append((row, reservation.holder))
        return found

    # -- of one Need -----------------------------------------------------------------------------

    def _eligible(self, row: int) -> Bools:
        outcome = self._outcome
        eligible: Bools = outcome.kinds.eligible[outcome.needs.key[row], :-1]
        return eligible

    def _by_kind(self, chosen: Bools) -> Int64s:
        scene = self._outcome.scene
        return np.bincount(scene.supply.kind[chosen], minlength=len(scene.kinds))

    def _victims(self, row: int) -> list[int]:
        if not self._has_victims[row]:
            return []
        preempted = self._outcome.preempted
        found: list[int] = preempted.row[preempted.need == row].tolist()
        return found

    def _freed(self, victims: list[int]) -> Resources:
        outcome = self._outcome
        units = outcome.kinds.units[outcome.scene.supply.kind[victims]] if victims else ()
        total = Resources()
        for one in units:
            total = total.plus(outcome.resources(one.tolist()))
        return total

    def _own_rows(self, row: int) -> list[int]:
        """What the Need claims, and what its cluster has unclaimed that would count for it: bound
        machines, and its own orders."""
        outcome = self._outcome
        claimed, starts = self._claimed_rows
        own: list[int] = claimed[starts[row] : starts[row + 1]].tolist()
        supply, holder = outcome.scene.supply, outcome.credit.holder
        cluster = int(outcome.needs.cluster[row])
        placed = supply.order[:0]
        if cluster >= 0:
            placed = supply.order[supply.starts[2 * cluster] : supply.starts[2 * cluster + 2]]
        ordered = supply.creating[supply.creating_pair == outcome.needs.pair[row]]
        whose = supply.cluster_of_stamp[supply.stamp[ordered]]
        ordered = ordered[(whose < 0) | (whose == cluster)]
        for rows in (placed, ordered):
            own += rows[(holder[rows] < 0) & ~supply.overdue[rows]].tolist()
        return own

    def _reserved_for_others(self, key: NeedKey) -> list[int]:
        return [row for row, holder in self._reserved if holder != key]
