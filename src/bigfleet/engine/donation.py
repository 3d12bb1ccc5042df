"""What a shard could give to another one, as of its last decision.

Free machines no Need claims, cheapest first; or bound ones of lower priority, the best victims
first. Decides nothing about margins, and knows nothing of what happened since the decision: the
caller looks at the chosen machines as they are now. Reads the decision only, so it may run beside
the engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Bools, Floats, Int32s, Int64s
from bigfleet.engine.kernels.victims import grace_seconds, victim_score
from bigfleet.engine.release import ready_clusters
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.batches import Offering
from bigfleet.model.machines import MachineState
from bigfleet.model.options import EngineOptions
from bigfleet.model.requirements import HOSTNAME_KEY, Requirement, attribute_of
from bigfleet.model.resources import Resources


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the other shard is short of."""

    requirements: tuple[Requirement, ...] = ()
    min_unit: Resources = Resources()
    #: A machine that brings nothing of this is of no use; empty: all are.
    deficit: Resources = Resources()
    #: Dollars of one interruption, may be infinite.
    penalty: float = 0.0


@dataclass(frozen=True, slots=True)
class DonationVictim:
    machine: str
    #: Of the Need that claims it, else the stamped one.
    priority: int
    grace_seconds: int


def spare_machines(
    decision: Decision, state: MachineState, wanted: Wanted, asked: Callable[[str], bool]
) -> list[str]:
    """Ids of free machines that would do and are neither claimed nor held, cheapest first.

    `asked`: whether a machine is of the provider in question.
    """
    outcome = decision.outcome
    snapshot, columns = outcome.scene.snapshot, outcome.scene.snapshot.columns
    free = (columns.state == state) & (outcome.credit.holder < 0) & (columns.held == 0)
    rows = _matching(snapshot, np.flatnonzero(free), wanted)
    cost = _cost(snapshot, rows, wanted.penalty)
    ids = map(snapshot.ids.__getitem__, rows[np.lexsort((rows, cost))].tolist())
    return list(filter(asked, ids))


def victims_below(
    decision: Decision,
    priority: int,
    wanted: Wanted,
    asked: Callable[[str], bool],
    options: EngineOptions,
    most: int,
) -> list[DonationVictim]:
    """Configured machines of strictly lower priority that would do, best victims first."""
    outcome = decision.outcome
    scene, holder = outcome.scene, outcome.credit.holder
    snapshot, columns = scene.snapshot, scene.snapshot.columns
    rows = np.flatnonzero(columns.state == MachineState.CONFIGURED)
    claimed = holder[rows] >= 0
    stamped = snapshot.stamps.priority[columns.stamp[rows]].astype(np.int64)
    # Of an unclaimed machine the holder is -1: the Need it finds is not looked at.
    needs = outcome.needs.priority if len(outcome.needs.priority) else np.zeros(1, np.int64)
    priorities = np.where(claimed, needs[holder[rows]], stamped)
    lower = priorities < priority
    rows, claimed, priorities = rows[lower], claimed[lower], priorities[lower]
    chosen = np.isin(rows, _matching(snapshot, rows, wanted))
    rows, claimed, priorities = rows[chosen], claimed[chosen], priorities[chosen]
    leaving = ~claimed & ready_clusters(scene, options)[columns.cluster[rows]]
    gaps = priority - priorities
    score = _scores(snapshot, rows, gaps, options)
    found = (
        DonationVictim(
            snapshot.ids[rows[at]], int(priorities[at]), int(grace_seconds(int(gaps[at])))
        )
        for at in np.lexsort((rows, -score, ~leaving)).tolist()
    )
    return list(islice((victim for victim in found if asked(victim.machine)), most))


def is_claimed(decision: Decision, machine_id: str) -> bool:
    """Whether a Need has the machine in this decision; False for an unknown one."""
    outcome = decision.outcome
    row = outcome.scene.snapshot.row_of(machine_id)
    return row >= 0 and bool(outcome.credit.holder[row] >= 0)


def victim_priority(decision: Decision, machine_id: str, stamped: int) -> int:
    """Of the Need that claims the machine, else the stamped one."""
    outcome = decision.outcome
    row = outcome.scene.snapshot.row_of(machine_id)
    holder = int(outcome.credit.holder[row]) if row >= 0 else -1
    return int(outcome.needs.priority[holder]) if holder >= 0 else stamped


def _matching(snapshot: Snapshot, rows: Int64s, wanted: Wanted) -> Int64s:
    """Those of the rows that meet the requirements and hold one unit; asked once an offering."""
    columns, table = snapshot.columns, snapshot.tables.offerings.table.rows
    named = [r for r in wanted.requirements if r.key == HOSTNAME_KEY]
    others = [r for r in wanted.requirements if r.key != HOSTNAME_KEY]
    offerings, place = np.unique(columns.offering[rows], return_inverse=True)
    met = [_fits(table[o], others, wanted) for o in offerings.tolist()]
    fits = np.array(met, np.bool_)
    rows = rows[fits[place]] if len(rows) else rows
    if not named:
        return rows
    return rows[_names_met(snapshot, columns.node_name[rows], named)]


def _fits(offering: Offering, requirements: Sequence[Requirement], wanted: Wanted) -> bool:
    labels = dict(offering.labels)
    capacity = offering.allocatable if offering.allocatable.amounts else offering.resources
    missing = wanted.deficit.positive()
    useful = not missing or any(capacity[name] > 0 for name in missing)
    return (useful and capacity.covers(wanted.min_unit)) and all(
        r.met_by(attribute_of(r.key, offering.instance_type, offering.zone, labels))
        for r in requirements
    )


def _names_met(snapshot: Snapshot, names: Int32s, requirements: Sequence[Requirement]) -> Bools:
    words = snapshot.tables.node_names.rows
    return np.array(
        [
            all(r.met_by(words[name] if name >= 0 else None) for r in requirements)
            for name in names.tolist()
        ],
        np.bool_,
    )


def _cost(snapshot: Snapshot, rows: Int64s, penalty: float) -> Floats:
    """Price, and what interruptions are expected to cost; nothing where none is expected."""
    offering = snapshot.columns.offering[rows]
    cost = snapshot.offerings.price[offering].copy()
    probability = snapshot.offerings.probability[offering]
    risky = probability > 0
    cost[risky] += probability[risky] * penalty
    return cost


def _scores(snapshot: Snapshot, rows: Int64s, gaps: Int64s, options: EngineOptions) -> Floats:
    """As Phase 2 scores them, once for each sort of victim."""
    stamps, weights = snapshot.stamps, options.victim_weights
    stamp = snapshot.columns.stamp[rows].astype(np.int64)
    sorts, place = np.unique(np.stack([gaps, stamp]), axis=1, return_inverse=True)
    terms = [weights.priority, weights.drain, weights.interruption, weights.reclamation]
    weighed = np.array(terms, np.float64)
    found = [
        victim_score(
            gap,
            float(options.drain_seconds),
            float(stamps.interruption_penalty[sort]),
            float(stamps.reclamation_penalty[sort]),
            weighed,
        )
        for gap, sort in sorts.T.tolist()
    ]
    return np.array(found, np.float64)[place.reshape(-1)]
