"""Both decisions of a what-if, summed up side by side, from columns.

`once`: the input of a cycle as it is and as the overlay makes it, one cycle each.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Bools, Floats, Int64s
from bigfleet.explain.column_facts import ColumnFacts
from bigfleet.explain.needs import reasons_of_need
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.profiles import precedence_of_fingerprint
from bigfleet.model.what_if import (
    AddDemand,
    AddedNeed,
    ClusterDelta,
    ClusterSide,
    Move,
    NeedChange,
    Overlay,
    WhatIfAnswer,
    WhatIfSide,
)
from bigfleet.whatif.applying import Applied, applied
from bigfleet.whatif.overlay_text import text_of

#: Needs that are listed with their reasons; all are counted.
MOST_LISTED = 20
#: Reasons of one Need, as many as `plan` tells.
_MOST_REASONS = 4
_TAKING = (ActionKind.BOOTSTRAP, ActionKind.PROVISION)
_LEAVING = (ActionKind.RECLAIM, ActionKind.PREEMPT, ActionKind.DELETE)
_BOUND = (MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING)


def once(given: EngineInput, overlay: Overlay, cycle: str) -> WhatIfAnswer:
    """Raises BadInput for an overlay that cannot be applied."""
    edited = applied(given, overlay)
    base = DecidedSide(given, given.decide())
    changed = DecidedSide(edited.given, edited.given.decide()) if overlay else base
    return compared(base, changed, edited, overlay, cycle)


def compared(
    base: "DecidedSide", changed: "DecidedSide", edited: Applied, overlay: Overlay, cycle: str
) -> WhatIfAnswer:
    unmet, met = newly(base, changed)
    return WhatIfAnswer(
        cycle=cycle,
        base=base.summary(),
        changed=changed.summary(),
        clusters=_clusters(base, changed, edited.lost_of_cluster),
        newly_unmet=changed.told(unmet[:MOST_LISTED], cycle),
        newly_met=changed.told(met[:MOST_LISTED], cycle),
        newly_unmet_count=len(unmet),
        newly_met_count=len(met),
        moved=changed.moves(),
        removed=edited.removed,
        overlay=tuple(map(text_of, overlay)),
        warnings=edited.warnings,
        added=changed.added(overlay, cycle),
    )


@dataclass(frozen=True)
class DecidedSide:
    given: EngineInput
    decision: Decision

    def summary(self) -> WhatIfSide:
        members = np.diff(self.decision.outcome.normalised.starts)
        short = int(members[self.decision.outcome.unsatisfied].sum())
        penalties, pinned = self.declared()
        states = np.bincount(self._columns.state, minlength=1)
        return WhatIfSide(
            actions_by_kind=self.kinds(np.ones(len(self._actions), np.bool_)),
            satisfied_needs=int(members.sum()) - short,
            unsatisfied_needs=short,
            shortfalls_by_priority=self._shortfalls(),
            cost_per_hour=math.fsum(self._price[self._billed_after].tolist()),
            expected_interruption_per_hour=self._expected_interruption(),
            declared_penalties=penalties,
            pinned_victims=pinned,
            machines_by_state={
                MachineState(n).label: count for n, count in enumerate(states.tolist()) if count
            },
        )

    def clusters(self) -> dict[str, ClusterSide]:
        """Every cluster with demand, machines or actions."""
        outcome, names = self.decision.outcome, self.names
        size = len(names)
        bound = self.cluster_after >= 0
        machines = np.bincount(self.cluster_after[bound], minlength=size)
        cost = np.bincount(self.cluster_after[bound], weights=self._price[bound], minlength=size)
        members = np.diff(outcome.normalised.starts)
        needs = self._name_of_demand[outcome.normalised.cluster]
        short = outcome.unsatisfied
        unmet = np.bincount(needs[short], weights=members[short], minlength=size)
        acted, found = self.actions_of_cluster(), dict[str, ClusterSide]()
        for place, name in enumerate(names):
            found[name] = ClusterSide(
                int(machines[place]),
                int(unmet[place]),
                float(cost[place]),
                acted.get(name, {}),
            )
        return found

    def actions_of_cluster(self) -> dict[str, dict[str, int]]:
        """By kind, of those clusters that get machines or have them taken."""
        kinds = len(ActionKind) + 1
        pairs = self._cluster_of_action * kinds + self._actions.kind
        numbers, counts = np.unique(pairs[self._cluster_of_action >= 0], return_counts=True)
        found: dict[str, dict[str, int]] = {}
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            place, kind = divmod(number, kinds)
            found.setdefault(self.names[place], {})[ActionKind(kind).label] = count
        return found

    def acts(self) -> dict[str, tuple[str, str]]:
        """By machine that something is done with: what, and the cluster that gets it or has it
        taken; empty: none has it."""
        ids, names, actions = self.given.snapshot.ids, self.names, self._actions
        rows = zip(
            actions.row.tolist(),
            actions.kind.tolist(),
            self._cluster_of_action.tolist(),
            strict=True,
        )
        return {
            ids[row]: (ActionKind(kind).label, names[cluster] if cluster >= 0 else "")
            for row, kind, cluster in rows
        }

    def moves(self) -> tuple[Move, ...]:
        actions = self._actions
        victims = np.flatnonzero(actions.kind == ActionKind.PREEMPT)
        taker = self._name_of_demand[
            self.decision.outcome.normalised.cluster[actions.need[victims]]
        ]
        pairs = Counter(zip(self._cluster_of_action[victims].tolist(), taker.tolist(), strict=True))
        moves = [
            Move(self.names[a], self.names[b], count) for (a, b), count in pairs.items() if a != b
        ]
        return tuple(sorted(moves, key=lambda m: (-m.machines, m.from_cluster, m.to_cluster)))

    def added(self, overlay: Overlay, cycle: str) -> tuple[AddedNeed, ...]:
        """How the Needs that edits add to stand; without those that a later edit takes away."""
        keys = dict.fromkeys(edit.need.key for edit in overlay if isinstance(edit, AddDemand))
        outcome, told = self.decision.outcome, list[AddedNeed]()
        for key in keys:
            n = self._normal_of(key)
            if n is None:
                continue
            if not (outcome.unsatisfied[n] and (outcome.preempted.unresolved[n] > 0).any()):
                told.append(AddedNeed(key, True))
                continue
            reasons = reasons_of_need(self._facts(cycle), self.decision.verdict(n))[:_MOST_REASONS]
            sentence = "; ".join(reason.text for reason in reasons)
            told.append(AddedNeed(key, False, reasons[0].code, sentence))
        return tuple(told)

    def _normal_of(self, key: NeedKey) -> int | None:
        columns, place = self.given.needs.demand.columns, self._place.get(key.cluster, -1)
        is_pair = columns.pair == pair_of(key.fingerprint, key.group)
        rows = np.flatnonzero(is_pair & (self._name_of_demand[columns.cluster] == place))
        return int(self.normal_of_row[rows[0]]) if len(rows) else None

    def _facts(self, cycle: str) -> ColumnFacts:
        given = self.given
        return ColumnFacts(self.decision, given.memory, given.options, given.now, cycle)

    def told(self, rows: Int64s, cycle: str) -> tuple[NeedChange, ...]:
        """Needs by their rows of the demand; why those are short that are."""
        given, outcome = self.given, self.decision.outcome
        facts = self._facts(cycle)
        told = []
        for row in rows.tolist():
            need, n = given.needs.demand.need(row), int(self.normal_of_row[row])
            verdict = self.decision.verdict(n)
            sentence = ""
            if outcome.unsatisfied[n]:
                reasons = reasons_of_need(facts, verdict)[:_MOST_REASONS]
                sentence = "; ".join(reason.text for reason in reasons)
            deficit = verdict.deficit.positive()
            told.append(NeedChange(need.key, need.profile.priority, deficit, sentence))
        return tuple(told)

    @cached_property
    def names(self) -> list[str]:
        """Of all clusters, ascending."""
        machines = self.given.snapshot.tables.clusters.rows[: self.given.snapshot.cluster_count]
        return sorted({*machines, *self.given.needs.blocks})

    @cached_property
    def identity_of_row(self) -> Int64s:
        """Of each row of the demand; the same number for the same Need on both sides, as long as
        both have the same clusters."""
        columns = self.given.needs.demand.columns
        place = self._name_of_demand[columns.cluster].astype(np.int64)
        hashed = np.array([_hash_of(name) for name in self.names] or [0], np.int64)
        return columns.pair + hashed[place]

    @cached_property
    def short_of_row(self) -> Bools:
        found: Bools = self.decision.outcome.unsatisfied[self.normal_of_row]
        return found

    @cached_property
    def cluster_after(self) -> Int64s:
        """Place in `names` of the cluster each machine is bound to once the actions are done."""
        after = self._cluster_before.copy()
        actions = self._actions
        after[actions.row[np.isin(actions.kind, _LEAVING)]] = -1
        taken = np.isin(actions.kind, _TAKING)
        after[actions.row[taken]] = self._cluster_of_action[taken]
        return after

    @cached_property
    def normal_of_row(self) -> Int64s:
        normalised = self.decision.outcome.normalised
        sizes = np.diff(normalised.starts)
        found: Int64s = np.zeros(int(sizes.sum()), np.int64)
        found[normalised.members] = np.repeat(np.arange(len(normalised)), sizes)
        return found

    @property
    def _columns(self):  # type: ignore[no-untyped-def]
        return self.given.snapshot.columns

    @property
    def _actions(self):  # type: ignore[no-untyped-def]
        return self.decision.outcome.action_columns

    @cached_property
    def _price(self) -> Floats:
        found: Floats = self.given.snapshot.offerings.price[self._columns.offering]
        return found

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def _name_of_demand(self) -> Int64s:
        """Place in `names` by number of the demand's clusters."""
        rows = self.given.needs.tables.clusters.rows
        return np.array([self._place.get(name, -1) for name in rows] or [-1], np.int64)

    @cached_property
    def _cluster_before(self) -> Int64s:
        rows = self.given.snapshot.tables.clusters.rows
        places = np.array([*(self._place.get(name, -1) for name in rows), -1], np.int64)
        found: Int64s = places[self._columns.cluster]
        return found

    @cached_property
    def _cluster_of_action(self) -> Int64s:
        """The cluster that gets the machine, or has it taken."""
        actions, normalised = self._actions, self.decision.outcome.normalised
        found: Int64s = self._cluster_before[actions.row].copy()
        taken = np.isin(actions.kind, _TAKING)
        found[taken] = self._name_of_demand[normalised.cluster[actions.need[taken]]]
        return found

    @cached_property
    def _billed_after(self) -> Bools:
        columns, actions = self._columns, self._actions
        billed: Bools = (columns.provider >= 0) | (columns.state == int(MachineState.CREATING))
        billed[actions.row[actions.kind == ActionKind.PROVISION]] = True
        billed[actions.row[actions.kind == ActionKind.DELETE]] = False
        return billed

    def kinds(self, chosen: Bools) -> dict[str, int]:
        kinds, counts = np.unique(self._actions.kind[chosen], return_counts=True)
        pairs = zip(kinds.tolist(), counts.tolist(), strict=True)
        return {ActionKind(kind).label: count for kind, count in pairs}

    def _shortfalls(self) -> dict[int, int]:
        heads = [precedence_of_fingerprint(k.fingerprint) for k in self.decision.memory.shortfalls]
        counts = Counter(head[0] for head in heads if head is not None)
        return {priority: counts[priority] for priority in sorted(counts, reverse=True)}

    def declared(self) -> tuple[float, int]:
        """Dollars its cluster declared for each machine that is preempted; and how many have no
        finite amount."""
        actions, stamps = self._actions, self.given.snapshot.stamps
        stamp = self._columns.stamp[actions.row[actions.kind == ActionKind.PREEMPT]]
        dollars = stamps.interruption_penalty[stamp] + stamps.reclamation_penalty[stamp]
        finite = np.isfinite(dollars)
        return math.fsum(dollars[finite].tolist()), int(np.count_nonzero(~finite))

    def _expected_interruption(self) -> float:
        """Machines of a penalty without a finite amount are left out."""
        columns, actions = self._columns, self._actions
        penalty: Floats = self.given.snapshot.stamps.interruption_penalty[columns.stamp].copy()
        in_use = np.isin(columns.state, [int(state) for state in _BOUND]) & (
            self.cluster_after >= 0
        )
        taken = np.isin(actions.kind, _TAKING)
        rows, needs = actions.row[taken], actions.need[taken]
        penalty[rows] = self.decision.outcome.needs.penalty[needs]
        in_use[rows] = True
        in_use &= np.isfinite(penalty)
        probability = self.given.snapshot.offerings.probability[columns.offering]
        return math.fsum((probability[in_use] * penalty[in_use]).tolist())


def _hash_of(cluster: str) -> int:
    return pair_of(cluster, "\0cluster")


def newly(base: DecidedSide, changed: DecidedSide) -> tuple[Int64s, Int64s]:
    """Rows of the changed demand that are unmet there and were not before, and the reverse."""
    before, after = base.identity_of_row, changed.identity_of_row
    if not len(before) or not len(after):
        return np.flatnonzero(changed.short_of_row), np.zeros(0, np.int64)
    order = np.argsort(before, kind="stable")
    at = np.minimum(np.searchsorted(before[order], after), len(order) - 1)
    row = order[at]
    known = before[row] == after
    was_short = known & base.short_of_row[row]
    is_short = changed.short_of_row
    return np.flatnonzero(is_short & ~was_short), np.flatnonzero(was_short & ~is_short)


def _clusters(
    base: DecidedSide, changed: DecidedSide, lost: dict[str, int]
) -> tuple[ClusterDelta, ...]:
    before, after = base.clusters(), changed.clusters()
    nothing = ClusterSide()
    return tuple(
        ClusterDelta(name, before.get(name, nothing), after.get(name, nothing), lost.get(name, 0))
        for name in sorted({*before, *after})
    )
