"""The answers of several shards as one: each speaks for its own machines and clusters."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

from bigfleet.model.what_if import (
    ClusterDelta,
    ClusterSide,
    Fate,
    NeedChange,
    NeedWait,
    SettledSide,
    Settling,
    Sweep,
    SweepPoint,
    WhatIfAnswer,
    WhatIfSide,
)

T = TypeVar("T")


def summed(answer_of_shard: Mapping[str, WhatIfAnswer]) -> WhatIfAnswer:
    """At least one; of one shard its own answer."""
    if len(answer_of_shard) == 1:
        return next(iter(answer_of_shard.values()))
    answers = list(answer_of_shard.values())
    return WhatIfAnswer(
        cycle=", ".join(f"{shard} {each.cycle}" for shard, each in answer_of_shard.items()),
        base=_side(each.base for each in answers),
        changed=_side(each.changed for each in answers),
        clusters=_clusters(delta for each in answers for delta in each.clusters),
        newly_unmet=_by_priority(n for each in answers for n in each.newly_unmet),
        newly_met=_by_priority(n for each in answers for n in each.newly_met),
        newly_unmet_count=sum(each.newly_unmet_count for each in answers),
        newly_met_count=sum(each.newly_met_count for each in answers),
        moved=tuple(move for each in answers for move in each.moved),
        removed=sum(each.removed for each in answers),
        overlay=answers[0].overlay,
        warnings=tuple(
            f"{shard}: {text}" for shard, each in answer_of_shard.items() for text in each.warnings
        ),
        added=tuple(n for each in answers for n in each.added),
        settling=_settling([each.settling for each in answers if each.settling is not None]),
        sweep=_sweep({shard: each.sweep for shard, each in answer_of_shard.items()}),
        fates=_fates([each.fates for each in answers if each.fates is not None]),
    )


def _sweep(sweep_of_shard: Mapping[str, Sweep | None]) -> Sweep | None:
    """Points that every shard has."""
    sweeps = {shard: sweep for shard, sweep in sweep_of_shard.items() if sweep is not None}
    if len(sweeps) < len(sweep_of_shard):
        return None
    found = {
        shard: {point.values: point.answer for point in sweep.points}
        for shard, sweep in sweeps.items()
    }
    first = next(iter(sweeps.values()))
    shared = [
        point.values
        for point in first.points
        if all(point.values in answers for answers in found.values())
    ]
    return Sweep(
        first.axes,
        tuple(
            SweepPoint(values, summed({shard: each[values] for shard, each in found.items()}))
            for values in shared
        ),
    )


def _fates(parts: list[tuple[Fate, ...]]) -> tuple[Fate, ...] | None:
    """Shards have different machines."""
    if not parts:
        return None
    groups: dict[tuple[bool, str, str, str, str], list[Fate]] = {}
    for fate in (each for part in parts for each in part):
        key = (fate.removed, fate.before, fate.before_cluster, fate.after, fate.after_cluster)
        groups.setdefault(key, []).append(fate)
    found = (
        Fate(
            *key,
            sum(each.machines for each in some),
            tuple(name for each in some for name in each.machine_ids),
        )
        for key, some in groups.items()
    )
    return tuple(sorted(found, key=lambda each: -each.machines))


def _side(sides: Iterable[WhatIfSide]) -> WhatIfSide:
    all_sides = list(sides)
    shortfalls = _counts(each.shortfalls_by_priority for each in all_sides)
    return WhatIfSide(
        actions_by_kind=_counts(each.actions_by_kind for each in all_sides),
        satisfied_needs=sum(each.satisfied_needs for each in all_sides),
        unsatisfied_needs=sum(each.unsatisfied_needs for each in all_sides),
        shortfalls_by_priority={p: shortfalls[p] for p in sorted(shortfalls, reverse=True)},
        cost_per_hour=math.fsum(each.cost_per_hour for each in all_sides),
        expected_interruption_per_hour=math.fsum(
            each.expected_interruption_per_hour for each in all_sides
        ),
        declared_penalties=math.fsum(each.declared_penalties for each in all_sides),
        pinned_victims=sum(each.pinned_victims for each in all_sides),
        machines_by_state=_counts(each.machines_by_state for each in all_sides),
        settled=_rest([each.settled for each in all_sides if each.settled is not None]),
    )


def _rest(sides: list[SettledSide]) -> SettledSide | None:
    """At rest once the last shard is."""
    if not sides:
        return None
    cycles = [each.quiet_after_cycles for each in sides if each.quiet_after_cycles is not None]
    covered = _counts(dict(each.covered_after) for each in sides)
    return SettledSide(
        max(cycles) if len(cycles) == len(sides) else None,
        max(each.seconds for each in sides),
        tuple(sorted(covered.items())),
        sum(each.uncovered for each in sides),
    )


def _settling(parts: list[Settling]) -> Settling | None:
    if not parts:
        return None

    def order(wait: NeedWait) -> tuple[float, int]:
        after = math.inf if wait.covered_after is None else wait.covered_after
        return -after, -wait.priority

    return Settling(
        parts[0].latencies,
        sum(each.short_at_first for each in parts),
        sum(each.recovered for each in parts),
        tuple(sorted((wait for each in parts for wait in each.waits), key=order)),
    )


def _counts(parts: Iterable[Mapping[T, int]]) -> dict[T, int]:
    total: Counter[T] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def _clusters(deltas: Iterable[ClusterDelta]) -> tuple[ClusterDelta, ...]:
    """A cluster has machines in several shards while it moves between them."""
    parts: dict[str, list[ClusterDelta]] = {}
    for delta in deltas:
        parts.setdefault(delta.cluster, []).append(delta)
    return tuple(
        ClusterDelta(
            name,
            _cluster_side(delta.before for delta in parts[name]),
            _cluster_side(delta.after for delta in parts[name]),
            sum(delta.lost for delta in parts[name]),
        )
        for name in sorted(parts)
    )


def _cluster_side(sides: Iterable[ClusterSide]) -> ClusterSide:
    all_sides = list(sides)
    return ClusterSide(
        sum(each.machines for each in all_sides),
        sum(each.unmet for each in all_sides),
        math.fsum(each.cost_per_hour for each in all_sides),
        _counts(each.actions_by_kind for each in all_sides),
    )


def _by_priority(changes: Iterable[NeedChange]) -> tuple[NeedChange, ...]:
    return tuple(sorted(changes, key=lambda change: -change.priority))
