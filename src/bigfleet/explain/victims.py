"""Victims of a Need with each term of their score, the best that is not one, and what is held.

Which could be one and what they score, the engine's own functions say.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bigfleet.engine.encoding import HELD_BY
from bigfleet.explain.need_victims import best_spared, victim_terms
from bigfleet.model.machines import Assigned, Machine, MachineState

if TYPE_CHECKING:
    from bigfleet.explain.decided_cycle import DecidedCycle


@dataclass(frozen=True, slots=True)
class Victim:
    machine: str
    row: int
    cluster: str
    priority: int
    assigned: Assigned
    score: float
    chosen: bool

    @classmethod
    def of(cls, cycle: "DecidedCycle", row: int, need: int) -> "Victim":
        machine = cycle.machine(row).machine
        priority = cycle.victim_priority(row)
        gap, stamp = int(cycle.outcome.needs.priority[need]) - priority, machine.assigned
        penalties = stamp.interruption_penalty, stamp.reclamation_penalty
        score = sum(victim_terms(cycle.given.options, gap, *penalties))
        chosen = cycle.preemptor(row) == need
        return cls(machine.id, row, machine.cluster, priority, machine.assigned, score, chosen)


def victims_of(cycle: "DecidedCycle", need: int) -> list[Victim]:
    """Those chosen for the Need, in order of emission."""
    preempted = cycle.outcome.preempted
    rows = preempted.row[preempted.need == need].tolist()
    return [Victim.of(cycle, row, need) for row in rows]


def next_best_victim(cycle: "DecidedCycle", need: int) -> Victim | None:
    """The machine that would have been preempted next for the Need; None: no other could be."""
    spared = best_spared(cycle.outcome, need, cycle.given.options)
    return None if spared is None else Victim.of(cycle, spared.row, need)


def cheapest_held(cycle: "DecidedCycle", need: int) -> tuple[Machine, str] | None:
    """The machine that fits, costs least and cannot be bought now, and what holds it; None: none
    does."""
    columns = cycle.given.snapshot.columns
    slots = columns.state == int(MachineState.SPECULATIVE)
    rows = np.flatnonzero(cycle.eligible(need) & slots & (columns.held != 0))
    if not len(rows):
        return None
    row = int(rows[np.lexsort((rows, cycle.costs(need, rows)))[0]])
    return cycle.machine(row).machine, HELD_BY[int(columns.held[row]) - 1].value
