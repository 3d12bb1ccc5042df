"""What a shard is short of, judged once for each of its syncs.

A sweep looks at every shortfall of every shard, and for each of them at every other shard as a
donor that may be short itself: twenty thousand against two hundred in a large fleet that has run
out of something. So what depends only on a shard's report is worked out once, when the report
comes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bigfleet.coordinator.rebalancing.shapes import Shape
from bigfleet.coordinator.settings import RebalanceSettings
from bigfleet.model.coordination import ShortfallDetail
from bigfleet.model.reasons import Reason
from bigfleet.model.requirements import Operator

#: Syncs in a row that must name a shortfall: one alone may be about a moment that is over.
SYNCS = 2


@dataclass(frozen=True, slots=True)
class Shortage:
    shortfall: ShortfallDetail
    shape: Shape
    #: Why no other shard is to help; None: they are, now or later.
    against: Reason | None


@dataclass(frozen=True, slots=True)
class Shortages:
    #: In the order of their names.
    by_fingerprint: Mapping[str, Shortage]
    #: What it gives nothing of: each shape once. Here it is enough to have been told once, or a new
    #: leader would ask every shard for what all of them are short of.
    shapes: tuple[Shape, ...]


NO_SHORTAGES = Shortages({}, ())


def judged(
    shortfalls: Iterable[ShortfallDetail], streaks: Mapping[str, int], rules: RebalanceSettings
) -> Shortages:
    """`streaks`: how many syncs in a row have named each fingerprint."""
    rows = {
        each.fingerprint: Shortage(
            each, Shape.of(each), why_not_eligible(each, streaks.get(each.fingerprint, 0), rules)
        )
        for each in sorted(shortfalls, key=lambda each: each.fingerprint)
    }
    kept = {
        row.shape.name: row.shape
        for row in rows.values()
        if why_not_across_shards(row.shortfall) is None
        and why_not_old_enough(row.shortfall, rules) is None
    }
    return Shortages(rows, tuple(kept.values()))


def why_not_eligible(
    shortfall: ShortfallDetail, streak: int, rules: RebalanceSettings
) -> Reason | None:
    """Whether others are to help at all, now or later."""
    return (
        why_not_across_shards(shortfall)
        or why_not_old_enough(shortfall, rules)
        or why_not_persistent(streak)
    )


def why_not_across_shards(shortfall: ShortfallDetail) -> Reason | None:
    gangs = (r.key for r in shortfall.requirements if r.operator is Operator.SAME)
    key = next(gangs, "domain" if shortfall.same else None)
    return Reason("rebalance.topology", {"key": key}) if key is not None else None


def why_not_old_enough(shortfall: ShortfallDetail, rules: RebalanceSettings) -> Reason | None:
    if shortfall.age_cycles > rules.age_cycles:
        return None
    return Reason("rebalance.age", {"age": shortfall.age_cycles, "cycles": rules.age_cycles})


def why_not_persistent(streak: int) -> Reason | None:
    return None if streak >= SYNCS else Reason("rebalance.persistence", {"streak": streak})
