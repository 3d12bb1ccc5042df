"""The domains a gang weighed: the pre-pass run once more, up to the gang, which writes them down.

For explanations only. What each domain had, which one was chosen and by which rule are the kernels'
own words; nothing is compared here.
"""

from dataclasses import dataclass

import numpy as np

from bigfleet.engine.arrays import Pool, empty_credit, nothing_weighed, precedence_order
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.domains import rank_domains
from bigfleet.engine.kernels.prepass import credit_supply
from bigfleet.engine.outcome import Outcome
from bigfleet.engine.reservations import (
    awaited_by_gangs,
    guards_of,
    standing_reservations,
    wanted_reservations,
)
from bigfleet.model.resources import Resources


@dataclass(frozen=True, slots=True)
class WeighedDomain:
    """Scores are shares of the gang, averaged over the dimensions it asks for."""

    name: str
    machines: int
    offers: Resources
    #: Of the gang, by machines it may be credited; by those of them that are its own.
    credited: float
    own: float
    #: By all machines of the domain, no dimension more than once.
    covered: float
    #: The same without that limit.
    offered: float
    #: Number of the rule by which the chosen domain beat it; 0: it is the chosen one.
    rule: int


def domains_weighed(
    given: EngineInput, outcome: Outcome, row: int, most: int
) -> tuple[WeighedDomain, ...]:
    """The best of them, the chosen one first; none where the Need is not a gang, or saw none."""
    needs, kinds, scene = outcome.needs, outcome.kinds, outcome.scene
    topology = int(needs.same[row])
    if topology < 0:
        return ()
    standing = standing_reservations(scene, given.memory.reservations)
    wanted = wanted_reservations(standing, outcome.normalised)
    credit = empty_credit(scene, outcome.normalised)
    order = precedence_order(scene, outcome.normalised)
    visited = order[: int(np.flatnonzero(order == row)[0]) + 1]
    names, _ = scene.kinds.domains(scene.topology_keys[topology])
    weighed = nothing_weighed(len(names), needs.wanted.shape[1])
    credit_supply(
        visited,
        needs,
        kinds,
        scene.supply,
        Pool(scene, guards_of(wanted)).arrays(kinds),
        *awaited_by_gangs(scene, wanted, outcome.normalised),
        credit.holder,
        credit.remaining,
        credit.domain,
        credit.satisfiable,
        credit.may_acquire,
        row,
        weighed,
    )
    size = min(most, len(names))
    ranked, rule = np.zeros(size, np.int64), np.zeros(size, np.int64)
    scores = np.zeros((size, 4), np.float64)
    machines = weighed.machines.copy()
    rank_domains(
        needs.wanted[row], np.arange(len(names), dtype=np.int32), *weighed, ranked, rule, scores
    )
    scores /= max(1, int(np.count_nonzero(needs.wanted[row] > 0)))
    return tuple(
        WeighedDomain(
            names[domain],
            int(machines[domain]),
            outcome.resources(weighed.total[domain].tolist()),
            float(scores[place, 0]),
            float(scores[place, 1]),
            float(scores[place, 2]),
            float(scores[place, 3]),
            int(rule[place]),
        )
        for place, domain in enumerate(ranked.tolist())
        if domain >= 0
    )
