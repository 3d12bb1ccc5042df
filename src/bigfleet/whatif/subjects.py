"""What is asked about: the input of a cycle and the Needs in it that are meant, and their edits.

Every edit gives a new Subject; the one before stays as it is. Edits work on columns, so that one of
a quarter of a million machines takes milliseconds.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.demand import Demand, NeedColumns
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.needs_table import block_of, frozen_of
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.batches import NEVER
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need, NeedKey, aggregate
from bigfleet.model.resources import Resources


class UnknownNeed(Exception):
    """The cycle has no such Need."""


class Subject(NamedTuple):
    given: EngineInput
    #: One Need, or all the gangs that were folded into one.
    keys: tuple[NeedKey, ...]

    @property
    def cluster(self) -> str:
        return self.keys[0].cluster

    @property
    def needs(self) -> list[Need]:
        """In the cluster's own order."""
        block, tables = self.given.needs.blocks[self.cluster], self.given.needs.tables
        rows = np.flatnonzero(_of_keys(block, self.keys))
        return Demand(block.taken(rows), tables).needs


def with_own_tables(given: EngineInput) -> EngineInput:
    """The same input over tables of demand that may grow: others may be reading the old ones."""
    again = given.needs.renumbered()
    return replace(given, needs=frozen_of(again.blocks, again.tables))


# -- what a decision says of it --------------------------------------------------------------------


def keys_of(decision: Decision, key: NeedKey) -> tuple[NeedKey, ...]:
    """The Need itself, or the gangs that were folded into a Need of this name.

    Raises UnknownNeed.
    """
    normalised, demand = decision.outcome.normalised, decision.outcome.scene.demand
    if len(rows_of(decision, (key,))):
        return (key,)
    cluster = demand.tables.clusters.find(key.cluster)
    pair = pair_of(key.fingerprint, key.group)
    named = np.flatnonzero((normalised.cluster == cluster) & (normalised.pair == pair))
    keys = [each for row in named.tolist() for each in members_of(decision, row)]
    if not keys:
        raise UnknownNeed(f"the cycle has no Need {key.need_id} of cluster {key.cluster}")
    return tuple(keys)


def members_of(decision: Decision, row: int) -> tuple[NeedKey, ...]:
    """The Needs behind a row of the normalised demand."""
    normalised, demand = decision.outcome.normalised, decision.outcome.scene.demand
    tables, columns = demand.tables, demand.columns
    start, end = normalised.starts[row : row + 2].tolist()
    return tuple(
        NeedKey(
            tables.clusters.rows[columns.cluster[member]],
            tables.profiles.rows[columns.profile[member]].fingerprint,
            tables.groups.rows[columns.group[member]],
        )
        for member in normalised.members[start:end].tolist()
    )


def rows_of(decision: Decision, keys: Collection[NeedKey]) -> Int64s:
    """Their rows in the normalised demand; empty: the cycle has none of them."""
    normalised, demand = decision.outcome.normalised, decision.outcome.scene.demand
    if not keys:
        return np.zeros(0, np.int64)
    cluster = demand.tables.clusters.find(next(iter(keys)).cluster)
    wanted = (demand.columns.cluster == cluster) & _of_keys(demand.columns, keys)
    row_of_member = np.repeat(np.arange(len(normalised)), np.diff(normalised.starts))
    found: Int64s = np.unique(row_of_member[wanted[normalised.members]])
    return found


def row_of(decision: Decision, key: NeedKey) -> int:
    """Raises UnknownNeed."""
    rows = rows_of(decision, (key,))
    if not len(rows):
        raise UnknownNeed(f"the cycle has no Need {key.need_id} of cluster {key.cluster}")
    return int(rows[0])


def is_met(decision: Decision, row: int) -> bool:
    """Not short after this cycle, or victims, new and still draining, cover all that is missing."""
    outcome = decision.outcome
    return not (outcome.unsatisfied[row] and outcome.preempted.unresolved[row].any())


def are_met(decision: Decision, rows: Int64s) -> bool:
    return all(is_met(decision, row) for row in rows.tolist())


def waits(decision: Decision, rows: Int64s) -> bool:
    """Met, some of it by victims of earlier cycles alone."""
    outcome = decision.outcome
    short = rows[outcome.unsatisfied[rows]]
    earlier = outcome.preempted.count_of_need[short] == 0
    return are_met(decision, rows) and bool(earlier.any())


def deficit_of(decision: Decision, rows: Int64s) -> Resources:
    """What neither this cycle nor victims on their way cover."""
    outcome = decision.outcome
    short = rows[outcome.unsatisfied[rows]]
    return outcome.resources(outcome.preempted.unresolved[short].sum(axis=0).tolist())


# -- edits of the Needs ----------------------------------------------------------------------------


def with_needs(subject: Subject, changed: Callable[[Need], Need]) -> Subject:
    """They keep their place and their arrival; one that becomes equal to another Need of its
    cluster asks together with it."""
    needs = subject.given.needs
    block = needs.blocks[subject.cluster]
    rows = np.flatnonzero(_of_keys(block, subject.keys))
    before = Demand(block, needs.tables)
    after = [changed(before.need(row)) for row in rows.tolist()]
    new = block_of(subject.cluster, after, needs.tables)
    columns = {f.name: getattr(block, f.name).copy() for f in fields(NeedColumns)}
    for name, column in columns.items():
        column[rows] = getattr(new, name)
    return _with_block(subject, NeedColumns(**columns), [each.key for each in after])


def with_fewer(subject: Subject, count: int) -> Subject:
    """Without the last of them; one stays at least."""
    block = subject.given.needs.blocks[subject.cluster]
    left = subject.keys[: max(1, len(subject.keys) - count)]
    gone = _of_keys(block, subject.keys) & ~_of_keys(block, left)
    return _with_block(subject, block.taken(np.flatnonzero(~gone)), left)


def _with_block(subject: Subject, block: NeedColumns, keys: Collection[NeedKey]) -> Subject:
    needs = subject.given.needs
    if len(np.unique(block.pair)) < len(block):
        one_each = aggregate(Demand(block, needs.tables).needs)
        block = block_of(subject.cluster, one_each, needs.tables)
    frozen = frozen_of({**needs.blocks, subject.cluster: block}, needs.tables)
    return Subject(replace(subject.given, needs=frozen), tuple(dict.fromkeys(keys)))


def _of_keys(columns: NeedColumns, keys: Collection[NeedKey]) -> Bools:
    """Of Needs of one cluster, which are these."""
    pairs = np.array([pair_of(key.fingerprint, key.group) for key in keys], np.int64)
    found: Bools = np.isin(columns.pair, pairs)
    return found


# -- edits of the rest -----------------------------------------------------------------------------


def without_holds(subject: Subject, rows: Int64s) -> Subject:
    before = subject.given.snapshot
    columns = before.columns.copy()
    columns.held[rows] = 0
    snapshot = Snapshot(columns, before.ids, before.keep_order, before.tables)
    return subject._replace(given=replace(subject.given, snapshot=snapshot))


def without_reservations(subject: Subject, machines: Collection[str]) -> Subject:
    memory = subject.given.memory
    left = {m: each for m, each in memory.reservations.items() if m not in machines}
    return subject._replace(given=replace(subject.given, memory=replace(memory, reservations=left)))


def not_parked(subject: Subject) -> Subject:
    memory = subject.given.memory
    ages = {key: age for key, age in memory.parking.items() if key not in subject.keys}
    given = replace(subject.given, memory=replace(memory, parking=ages))
    return with_needs(subject._replace(given=given), lambda need: replace(need, parked=False))


def with_machines(subject: Subject, template: int, ids: list[str]) -> Subject:
    """Speculative ones with the offering of the machine in row `template`; no id that is there
    comes between the new ones."""
    before = subject.given.snapshot
    new = before.columns.taken(np.full(len(ids), template, np.int64))
    new.state[:] = int(MachineState.SPECULATIVE)
    # The first stamp is the empty one.
    new.stamp[:] = new.held[:] = 0
    new.cluster[:] = new.provider[:] = new.node_name[:] = -1
    new.idle_since[:] = NEVER
    new.overdue[:] = new.empty[:] = False
    columns, place = before.columns.joined(new), bisect_left(before.ids, ids[0])
    keep_order = before.keep_order
    if place < len(before):
        old, added = np.arange(len(before)), np.arange(len(before), len(columns))
        columns = columns.taken(np.concatenate([old[:place], added, old[place:]]))
        keep_order = keep_order + np.where(keep_order >= place, len(ids), 0).astype(np.int32)
    together = [*before.ids[:place], *ids, *before.ids[place:]]
    snapshot = Snapshot(columns, together, keep_order, before.tables)
    return subject._replace(given=replace(subject.given, snapshot=snapshot))
