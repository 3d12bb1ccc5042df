"""What one cycle decided: actions, verdicts and the memory for the next cycle.

Inside they are columns; the records of this module are made when they are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.model.actions import Action, ActionKind, Rule, UnmetReason
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources

if TYPE_CHECKING:
    from bigfleet.engine.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one Need of the normalised demand got, and why it did not get the rest."""

    need: Need
    #: Positions in the demand given to the engine: one, or every gang of a folded group.
    members: tuple[int, ...]
    folded: bool
    satisfied: bool
    deficit: Resources
    #: What Phase 2 left of the deficit after its victims, new and still draining.
    unresolved: Resources
    #: Machine ids ascending, credited and acquired.
    claimed: tuple[str, ...]
    bootstraps: int
    provisions: int
    preempts: int
    domain: str | None
    same_satisfiable: bool
    parked: bool
    matching_supply: bool
    unmet_reason: UnmetReason | None


class Mode(Enum):
    """How a proposal treats machines that it cannot have."""

    #: It takes the others.
    INCREMENTAL = "incremental"
    #: It takes none.
    ALL_OR_NOTHING = "all-or-nothing"


@dataclass(frozen=True, slots=True)
class Counters:
    """How Phase 1's optimistic concurrency went; never part of the outcome."""

    proposals: int = 0
    committed: int = 0
    conflicts: int = 0
    displacements: int = 0
    #: Each conflict is proposed again once, on the spot, and cannot conflict again (ADR-0005).
    retries: int = 0
    #: Retries that still found something to take.
    retries_committed: int = 0


_RULE = {
    ActionKind.BOOTSTRAP: Rule.IDLE,
    ActionKind.PROVISION: Rule.SPECULATIVE,
    ActionKind.PREEMPT: Rule.INVERSION,
    ActionKind.RECLAIM: Rule.EXCESS,
    ActionKind.DELETE: Rule.RELEASE,
}


class Decision:
    def __init__(self, outcome: "Outcome", memory: EngineMemory) -> None:
        self.outcome = outcome
        self.memory = memory

    @property
    def counters(self) -> Counters:
        """Over both modes."""
        return self.outcome.acquired.counters

    @property
    def counters_of_mode(self) -> Mapping[Mode, Counters]:
        return self.outcome.acquired.counters_of_mode

    @property
    def action_count(self) -> int:
        return self.outcome.action_count

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """In order of emission."""
        return self.actions_at(np.arange(self.action_count))

    def actions_at(self, places: Int64s) -> tuple[Action, ...]:
        """Those at these places of the order of emission."""
        columns = self.outcome.action_columns
        return tuple(
            self._action(ActionKind(kind), row, need, grace)
            for kind, row, need, grace in zip(
                columns.kind[places].tolist(),
                columns.row[places].tolist(),
                columns.need[places].tolist(),
                columns.grace_seconds[places].tolist(),
                strict=True,
            )
        )

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each Need of the normalised demand, in its order."""
        claimed = self._claimed_by_need()
        return tuple(self.verdict(n, claimed.get(n, ())) for n in range(len(self.outcome)))

    def _action(self, kind: ActionKind, row: int, need: int, grace: int) -> Action:
        outcome, snapshot = self.outcome, self.outcome.scene.snapshot
        cluster, profile, group, preemptor = "", None, "", 0
        if kind in (ActionKind.BOOTSTRAP, ActionKind.PROVISION):
            key = outcome.key(need)
            cluster, group = key.cluster, key.group
            profile = outcome.scene.demand.tables.profiles.rows[outcome.normalised.profile[need]]
        elif kind is not ActionKind.DELETE:
            cluster = snapshot.tables.clusters.rows[snapshot.columns.cluster[row]]
        if kind is ActionKind.PREEMPT:
            preemptor = int(outcome.needs.priority[need])
        return Action(
            kind=kind,
            machine=snapshot.ids[row],
            cluster=cluster,
            rule=_RULE[kind],
            grace_seconds=grace,
            preemptor_priority=preemptor,
            need=need if need >= 0 else None,
            source_profile=profile,
            source_group=group,
            whole_domain=kind is ActionKind.PREEMPT and bool(outcome.preempted.whole_domain[need]),
        )

    def _claimed_by_need(self) -> dict[int, tuple[str, ...]]:
        holder, ids = self.outcome.credit.holder, self.outcome.scene.snapshot.ids
        claimed: dict[int, list[str]] = {}
        for row in np.flatnonzero(holder >= 0).tolist():
            claimed.setdefault(int(holder[row]), []).append(ids[row])
        return {n: tuple(machines) for n, machines in claimed.items()}

    def verdict(self, n: int, claimed: tuple[str, ...] = ()) -> Verdict:
        """Of one Need of the normalised demand; with the ids of its machines where given."""
        outcome = self.outcome
        normalised, credit = outcome.normalised, outcome.credit
        members = normalised.members[normalised.starts[n] : normalised.starts[n + 1]].tolist()
        short = bool(outcome.unsatisfied[n])
        return Verdict(
            need=outcome.need(n),
            members=tuple(members),
            folded=n >= normalised.first_folded,
            satisfied=not short,
            deficit=outcome.resources(credit.remaining[n].tolist()),
            unresolved=outcome.resources(outcome.preempted.unresolved[n].tolist()),
            claimed=claimed,
            bootstraps=int(outcome.bootstraps[n]),
            provisions=int(outcome.acquired.count[n] - outcome.bootstraps[n]),
            preempts=int(outcome.preempted.count_of_need[n]),
            domain=self.domain(n),
            same_satisfiable=outcome.same_satisfiable(n),
            parked=bool(outcome.parked[n]),
            matching_supply=bool(outcome.matching_supply[n]) if short else False,
            unmet_reason=self.unmet_reason(n) if short else None,
        )

    def domain(self, n: int) -> str | None:
        """The domain recorded for a gang."""
        chosen, scene = int(self.outcome.credit.domain[n]), self.outcome.scene
        if chosen < 0:
            return None
        key = scene.topology_keys[self.outcome.needs.same[n]]
        return scene.kinds.domains(key)[0][chosen]

    def unmet_reason(self, n: int) -> UnmetReason:
        """Of a Need that is short."""
        outcome, credit = self.outcome, self.outcome.credit
        hopeless = not outcome.same_satisfiable(n) or outcome.parked[n] or credit.domain[n] < 0
        if outcome.needs.same[n] >= 0 and hopeless:
            return UnmetReason.TOPOLOGY_UNSATISFIABLE
        if outcome.acquired.skew_stopped[n]:
            return UnmetReason.TOPOLOGY_UNSATISFIABLE
        if not outcome.matching_supply[n]:
            return UnmetReason.NO_MATCHING_SUPPLY
        if outcome.preempted.count_of_need[n] and outcome.preempted.unresolved[n].any():
            return UnmetReason.PREEMPTION_EXHAUSTED
        if outcome.withheld_supply[n]:
            # It is not taken: a quota, a back-off or a missing List keeps it back.
            return UnmetReason.NO_MATCHING_SUPPLY
        return UnmetReason.PRIORITY_STARVED
