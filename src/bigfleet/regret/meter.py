"""The regret of a decided cycle: its cost, the bound, and where the difference is."""

from collections import defaultdict

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Floats
from bigfleet.model.priority_classes import PRIORITY_CLASSES, priority_class
from bigfleet.model.regret import (
    HOW_TO_ENABLE,
    Regret,
    RegretStatus,
    TypeRegret,
    UncoveredDemand,
    skipped,
)
from bigfleet.model.resources import Resources
from bigfleet.regret.classes import FleetClasses, classes_of
from bigfleet.regret.programs import Programs
from bigfleet.regret.solver import NoSolver, NotSolved, Solution, solved

TIME_LIMIT_SECONDS = 10.0
#: Beyond this Needs of different sizes become one group, ...
MANY_PAIRS = 100_000
#: ... and beyond this nothing is measured: building the programs would take the time there is.
MOST_PAIRS = 1_000_000
_MEBIBYTE = 1 << 20
#: As much of anything but cpu is an amount of bytes.
_BYTES = 16 * _MEBIBYTE


def regret_of(decision: Decision, seconds: float = TIME_LIMIT_SECONDS) -> Regret:
    """Never raises for want of a solver: the answer says how to get one."""
    fleet = classes_of(decision.outcome)
    if int(fleet.fits.sum()) > MANY_PAIRS:
        fleet = classes_of(decision.outcome, merge=True)
    pairs = int(fleet.fits.sum())
    if pairs > MOST_PAIRS:
        return skipped(
            f"the fleet is too varied: {pairs:,} pairs of a class of machines and a group of Needs,"
            f" at most {MOST_PAIRS:,} are measured"
        )
    try:
        return _measured(fleet, Programs(fleet), seconds)
    except NoSolver:
        return skipped(HOW_TO_ENABLE)
    except NotSolved as problem:
        return skipped(f"the solver ended without a result: {problem}")


def _measured(fleet: FleetClasses, programs: Programs, seconds: float) -> Regret:
    claims, dollars = programs.claims(), programs.dollars()
    pinned = ~np.isfinite(dollars)
    finite = np.where(pinned, fleet.price[programs.pair_class], dollars)
    greedy = float((claims * finite).sum())
    cheapest = solved(programs.cost(), seconds)
    left = seconds - cheapest.seconds
    uncovered, took = _uncovered(fleet, programs, left)
    in_time = cheapest.is_optimal and uncovered is not None
    return Regret(
        RegretStatus.OPTIMAL if in_time else RegretStatus.BOUND_ONLY,
        reason="" if in_time else f"time ran out after {seconds:g} s: the gap may be smaller",
        seconds=cheapest.seconds + took,
        greedy_per_hour=greedy,
        # A solver's last digit must not make the cycle better than the best.
        bound_per_hour=min(max(cheapest.lower_bound, 0.0), greedy),
        pinned_machines=round(float(claims[pinned].sum())),
        uncovered=_by_class(fleet, uncovered),
        by_type=_by_type(fleet, programs, claims * finite, cheapest, finite),
        machine_classes=len(fleet.machines),
        need_groups=len(fleet.level),
    )


def _uncovered(
    fleet: FleetClasses, programs: Programs, seconds: float
) -> tuple[Floats | None, float]:
    """By level and dimension, where the highest level comes first; None: time ran out."""
    levels = len(fleet.priorities)
    greedy = [programs.greedy_share(level) for level in range(levels)]
    if not any(greedy):
        return np.zeros(fleet.uncovered.shape), 0.0
    found = np.zeros(fleet.uncovered.shape)
    held: list[float] = []
    took = 0.0
    first = min(level for level in range(levels) if greedy[level] > 0)
    for level in range(levels):
        if level < first:
            # Nothing can be better than the cycle, which covers it.
            held.append(0.0)
            continue
        if seconds - took <= 0:
            return None, took
        best = solved(programs.coverage(level, held), seconds - took)
        took += best.seconds
        if not best.is_optimal:
            return None, took
        found[level] = programs.lacking(best.values, level)
        # What was attained: the bound may be lower by the solver's tolerance, and out of reach.
        held.append(programs.share_lacking(best.values, level))
    return found, took


def _by_class(fleet: FleetClasses, bound: Floats | None) -> tuple[UncoveredDemand, ...]:
    classes = [priority_class(int(priority)) for priority in fleet.priorities]
    found = []
    for name in PRIORITY_CLASSES:
        rows = np.array([each == name for each in classes], np.bool_)
        greedy = _resources(fleet, fleet.uncovered[rows])
        best = _resources(fleet, bound[rows]) if bound is not None else Resources()
        if greedy.amounts or best.amounts:
            found.append(UncoveredDemand(name, greedy, best, bound is not None))
    return tuple(found)


def _resources(fleet: FleetClasses, levels: Floats) -> Resources:
    amounts = levels.sum(axis=0)
    return Resources.of(
        {
            name: _readable(name, round(float(amount)))
            for name, amount in zip(fleet.dimensions, amounts, strict=True)
            if round(float(amount)) > 0
        }
    )


def _readable(dimension: str, amount: int) -> int:
    """Whole Mi of what is counted in bytes: parts of machines are no round numbers."""
    is_bytes = dimension != "cpu" and amount >= _BYTES
    return amount - amount % _MEBIBYTE if is_bytes else amount


def _by_type(
    fleet: FleetClasses, programs: Programs, greedy: Floats, best: Solution, dollars: Floats
) -> tuple[TypeRegret, ...]:
    if not best.is_optimal:
        return ()
    bound = best.values[: programs.pairs] * dollars
    parts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for machine_class, mine, least in zip(
        programs.pair_class.tolist(), greedy.tolist(), bound.tolist(), strict=True
    ):
        part = parts[fleet.instance_type[machine_class]]
        part[0] += mine
        part[1] += least
    found = [TypeRegret(name, *part) for name, part in parts.items() if any(part)]
    return tuple(sorted(found, key=lambda each: (-each.gap_per_hour, each.instance_type)))
