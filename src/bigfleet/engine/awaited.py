"""Who still waits for machines after a decision: what is short, acquires, or has machines coming.

A Need that Configured machines cover alone waits for nothing. Gangs that were folded get machines
stamped with the fingerprint of the fold, so both fingerprints are told.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Bools
from bigfleet.engine.kernels.hashing import number_by_value
from bigfleet.engine.outcome import Outcome
from bigfleet.model.machines import MachineState

_COMING = (MachineState.CREATING, MachineState.CONFIGURING)


class AwaitedMachine(NamedTuple):
    cluster: str
    #: Of the demand, as the cluster asked.
    fingerprint: str
    #: Of the machines it is going to get.
    stamped: str


def awaiting_in(decision: Decision, clusters: Collection[str]) -> list[AwaitedMachine]:
    """Each once; clusters that are not named are not looked at."""
    outcome = decision.outcome
    normalised, demand = outcome.normalised, outcome.scene.demand
    names, profiles = demand.tables.clusters, demand.tables.profiles.rows
    numbers = [number for name in clusters if (number := names.find(name)) >= 0]
    asked = np.zeros(len(names.rows), np.bool_)
    asked[numbers] = True
    waiting = np.flatnonzero(asked[normalised.cluster] & _is_waiting(outcome))
    sizes = normalised.starts[waiting + 1] - normalised.starts[waiting]
    need = np.repeat(waiting, sizes)
    first = np.repeat(normalised.starts[waiting] - (np.cumsum(sizes) - sizes), sizes)
    member = normalised.members[first + np.arange(len(need))]
    cluster, stamped = normalised.cluster[need], normalised.profile[need]
    wanted = demand.columns.profile[member]
    each = (cluster.astype(np.int64) * len(profiles) + wanted) * len(profiles) + stamped
    _, distinct = number_by_value(each)
    return [
        AwaitedMachine(names.rows[c], profiles[w].fingerprint, profiles[s].fingerprint)
        for c, w, s in zip(
            cluster[distinct].tolist(),
            wanted[distinct].tolist(),
            stamped[distinct].tolist(),
            strict=True,
        )
    ]


def _is_waiting(outcome: Outcome) -> Bools:
    waiting = outcome.unsatisfied | (outcome.acquired.count > 0)
    holder, state = outcome.credit.holder, outcome.scene.snapshot.columns.state
    coming = np.logical_or(*(state == each for each in _COMING))
    holders = holder[coming]
    waiting[holders[holders >= 0]] = True
    return waiting
