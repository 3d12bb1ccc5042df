"""What each Need of a decision still waits for, as columns.

Made once per cycle in the engine's thread. A Need whose claimed machines are all Configured does
not appear here at all, so a calm fleet costs a few passes over its columns.
"""

from dataclasses import dataclass

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.encoding import HELD_BY
from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Bools, Int8s, Int64s
from bigfleet.engine.outcome import Outcome
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import NeedKey

_FREE = (MachineState.IDLE, MachineState.SPECULATIVE)
#: Gangs whose domains are looked at in one cycle; of the others all held machines count.
MOST_GANGS = 200


@dataclass(frozen=True, slots=True)
class NeedProgress:
    """Index space: normalised NeedRow, unless a column says otherwise."""

    #: (cluster, fingerprint, group) as one number, the same in every cycle and every process.
    key: Int64s
    #: Rows of machines that are claimed and not Configured, and the Need that claims each.
    coming: Int64s
    coming_need: Int64s
    #: Short now, and covered as soon as its victims have drained.
    by_victims: Bools
    #: Short even after its victims.
    short: Bools
    #: Of a short Need: what holds back the machines that would cover it, as the column `held` has
    #: it; 0: no hold does.
    held_by: Int8s


def progress_of(decision: Decision) -> NeedProgress:
    outcome = decision.outcome
    scene, queue = outcome.scene, outcome.queue
    holder = outcome.credit.holder
    not_there = (holder >= 0) & (scene.snapshot.columns.state != MachineState.CONFIGURED)
    coming = np.flatnonzero(not_there)
    unresolved = (outcome.preempted.unresolved[queue] > 0).any(axis=1)
    short, by_victims = np.zeros(len(outcome), np.bool_), np.zeros(len(outcome), np.bool_)
    short[queue[unresolved]] = True
    by_victims[queue[~unresolved]] = True
    normalised = outcome.normalised
    return NeedProgress(
        keys_of(normalised.pair, cluster_numbers(scene.cluster_names)[normalised.cluster]),
        coming,
        holder[coming].astype(np.int64),
        by_victims,
        short,
        _held_by(outcome, queue[unresolved]),
    )


def cluster_numbers(names: list[str]) -> Int64s:
    return np.array([pair_of(name, "") for name in names], np.int64)


def keys_of(pair: Int64s, cluster: Int64s) -> Int64s:
    """Sums wrap around, which is what a digest wants."""
    return pair + cluster


def key_number(key: NeedKey) -> int:
    """The number `keys_of` gives a Need of this key."""
    pair = np.array([pair_of(key.fingerprint, key.group)], np.int64)
    return int(keys_of(pair, cluster_numbers([key.cluster]))[0])


def hold_of(code: int) -> HeldBy:
    """Of the column `held`, where it is not 0."""
    return HELD_BY[code - 1]


# -- supply that is held back --------------------------------------------------------------------


def _held_by(outcome: Outcome, short: Int64s) -> Int8s:
    """For each Need: the hold under most machines that fit, where lifting all holds covers it.

    Every Need is judged alone: what two of them would share counts for both.
    """
    found = np.zeros(len(outcome), np.int8)
    counts = _held_counts(outcome)
    kinds = np.flatnonzero(counts.sum(axis=0))
    if not len(short) or not len(kinds):
        return found
    keys, number = np.unique(outcome.needs.key[short], return_inverse=True)
    fits = outcome.kinds.eligible[np.ix_(keys, kinds)].astype(np.int64)
    machines = fits @ counts[:, kinds].T
    capacity = fits @ (outcome.kinds.units[kinds] * counts[:, kinds].sum(axis=0)[:, None])
    covered = (capacity[number] >= outcome.preempted.unresolved[short]).all(axis=1)
    covered &= machines.sum(axis=1)[number] > 0
    gangs = np.flatnonzero(covered & (outcome.needs.same[short] >= 0))[:MOST_GANGS]
    if len(gangs):
        obtainable = counts.sum(axis=0) + _free_counts(outcome)
        for gang in gangs.tolist():
            covered[gang] = _fits_one_domain(outcome, int(short[gang]), obtainable)
    found[short[covered]] = machines.argmax(axis=1)[number[covered]] + 1
    return found


def _held_counts(outcome: Outcome) -> Int64s:
    """Free machines that are held: by hold and by kind."""
    columns, kind = outcome.scene.snapshot.columns, outcome.scene.supply.kind
    kinds = len(outcome.scene.kinds)
    rows = np.flatnonzero(columns.held)
    rows = rows[np.isin(columns.state[rows], _FREE)]
    places = (columns.held[rows].astype(np.int64) - 1) * kinds + kind[rows]
    counted: Int64s = np.bincount(places, minlength=len(HELD_BY) * kinds)
    return counted.reshape(len(HELD_BY), kinds)


def _free_counts(outcome: Outcome) -> Int64s:
    """Machines that are neither held nor claimed, by kind."""
    scene = outcome.scene
    columns = scene.snapshot.columns
    free = (columns.held == 0) & (outcome.credit.holder < 0) & np.isin(columns.state, _FREE)
    return np.bincount(scene.supply.kind[free], minlength=len(scene.kinds))


def _fits_one_domain(outcome: Outcome, gang: int, obtainable: Int64s) -> bool:
    """Whether some domain holds the whole gang, what it claims there included."""
    scene, needs = outcome.scene, outcome.needs
    own = scene.supply.kind[outcome.credit.holder == gang]
    machines = obtainable + np.bincount(own, minlength=len(scene.kinds))
    domain_of_kind = scene.kinds.domains(scene.topology_keys[needs.same[gang]])[1]
    fits = outcome.kinds.eligible[needs.key[gang], :-1] & (domain_of_kind >= 0) & (machines > 0)
    kinds = np.flatnonzero(fits)
    for domain in np.unique(domain_of_kind[kinds]).tolist():
        there = kinds[domain_of_kind[kinds] == domain]
        capacity = (outcome.kinds.units[there] * machines[there][:, None]).sum(axis=0)
        if (capacity >= needs.wanted[gang]).all():
            return True
    return False
