"""The answers of several shards as one: each speaks for its own machines and clusters."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from bigfleet.model.what_if import ClusterDelta, ClusterSide, NeedChange, WhatIfAnswer, WhatIfSide


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
    )


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
    )


def _counts(parts: Iterable[Mapping[str, int] | Mapping[int, int]]) -> dict:  # type: ignore[type-arg]
    total: Counter[str | int] = Counter()
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
