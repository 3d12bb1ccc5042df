"""The decision: snapshot and demand in, actions, verdicts and memory out.

A pure function of its arguments: no clock, no I/O, no chance. One cycle is one call.
"""

from collections.abc import Callable

import numpy as np

from bigfleet.engine.acquisition import RunWorkers, acquire
from bigfleet.engine.arrays import (
    NOT_TRACED,
    Pool,
    all_or_nothing,
    empty_credit,
    need_and_kind_arrays,
    nothing_weighed,
    precedence_order,
    still_short,
)
from bigfleet.engine.decision import Decision
from bigfleet.engine.demand import Demand
from bigfleet.engine.fold import Normalised, normalise
from bigfleet.engine.identities import identity_of, pair_of
from bigfleet.engine.kernels.compiled import Bools
from bigfleet.engine.kernels.prepass import credit_supply
from bigfleet.engine.ledgers import is_parked
from bigfleet.engine.outcome import Outcome
from bigfleet.engine.preemption import preempt_for
from bigfleet.engine.release import excess, ready_clusters, released
from bigfleet.engine.reservations import (
    StandingReservation,
    awaited_by_gangs,
    draining_victims,
    guards_of,
    in_flight,
    standing_reservations,
    surviving_reservations,
    wanted_reservations,
)
from bigfleet.engine.scene import Scene, scene_of
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.machines import Instant
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import EngineOptions


def unobserved(part: str) -> None:
    """For cycles that are not timed."""


def decide(
    snapshot: Snapshot,
    demand: Demand,
    memory: EngineMemory,
    options: EngineOptions,
    now: Instant | None,
    *,
    run_workers: RunWorkers = map,
    phase_ended: Callable[[str], None] = unobserved,
) -> Decision:
    """One cycle. `run_workers` lends threads; `phase_ended` hears of each part as it ends."""
    scene = scene_of(snapshot, demand)
    standing = standing_reservations(scene, memory.reservations)
    phase_ended("match")

    unguarded = Pool(scene, guards_of([]))
    normalised = normalise(scene, unguarded.machines, in_flight(scene, standing), options.fold)
    wanted = wanted_reservations(standing, normalised)
    phase_ended("fold")

    parked = _parked(scene, normalised, memory, wanted, options)
    needs, kinds = need_and_kind_arrays(scene, normalised, parked)
    grouped = Pool(scene, guards_of(wanted)) if wanted else unguarded
    pool = grouped.arrays(kinds)
    credit = empty_credit(scene, normalised)
    order = precedence_order(scene, normalised)
    credit_supply(
        order,
        needs,
        kinds,
        scene.supply,
        pool,
        *awaited_by_gangs(scene, wanted, normalised),
        credit.holder,
        credit.remaining,
        credit.domain,
        credit.satisfiable,
        credit.may_acquire,
        NOT_TRACED,
        nothing_weighed(),
    )
    phase_ended("prepass")

    whole = all_or_nothing(scene, normalised, needs)
    acquired = acquire(
        needs,
        kinds,
        scene.supply,
        pool,
        credit,
        whole,
        still_short(order, credit),
        options,
        run_workers,
        phase_ended,
    )
    queue = still_short(order, credit)
    unsatisfied = set(normalised.identity[queue].tolist())
    margin = options.reservation_margin_seconds
    surviving = surviving_reservations(scene, wanted, credit.holder, unsatisfied, now, margin)
    phase_ended("unmet")

    ready = ready_clusters(scene, options)
    preempted = preempt_for(
        scene,
        needs,
        kinds,
        credit,
        acquired,
        queue,
        draining_victims(scene, surviving),
        ready,
        options,
    )
    phase_ended("phase2")

    leaving = excess(scene, ready, credit.holder, preempted.row)
    reserved = np.array([s.row for s in surviving], np.int64)
    deleted = released(scene, credit.holder, reserved, now, options)
    phase_ended("phase3")

    outcome = Outcome(
        scene,
        normalised,
        needs,
        kinds,
        credit,
        acquired,
        queue,
        preempted,
        leaving,
        deleted,
        parked,
    )
    outcome.emit()
    phase_ended("emit")
    decision = Decision(outcome, outcome.memory_after(memory, surviving, options, now))
    phase_ended("memory")
    return decision


def _parked(
    scene: Scene,
    normalised: Normalised,
    memory: EngineMemory,
    standing: list[StandingReservation],
    options: EngineOptions,
) -> Bools:
    """Gangs that acquire nothing this cycle, unless victims are on their way to them (U19)."""
    resting = [
        identity_of(scene.demand.tables.clusters.find(key.cluster), pair_of(*key[1:]))
        for key, age in memory.parking.items()
        if is_parked(age, options.parking)
    ]
    awaited = [s.identity for s in standing if s.is_preemption]
    parked = normalised.parked
    if resting:
        parked = parked | np.isin(normalised.identity, np.array(resting, np.int64))
    if awaited:
        parked = parked & ~np.isin(normalised.identity, np.array(awaited, np.int64))
    is_gang = scene.same_of_profile[normalised.profile] >= 0
    wants: Bools = np.any(normalised.wanted > 0, axis=1)
    return parked & is_gang & wants
