"""What a shard is short of, judged once for each of its syncs.

A sweep looks at every shortfall of every shard, and for each of them at every other shard as a
donor that may be short itself: twenty thousand against two hundred in a large fleet that has run
out of something. So what depends only on a shard's report is worked out once, when the report
comes.

What machines a shortfall asks for, and what can be told about them from afar.

The coordinator knows no machine, only counts and requirements. Everything here is an upper bound or
a possibility: whether a machine really matches is for the shard that has it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from sys import intern

from bigfleet.coordinator.settings import RebalanceSettings
from bigfleet.model.coordination import ShortfallDetail
from bigfleet.model.reasons import Reason
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShardSummary


@dataclass(frozen=True, slots=True)
class MachineShape:
    """What a machine must be like, without who asks for it and how many."""

    requirements: tuple[Requirement, ...] = ()
    #: It must hold this much at least.
    min_unit: Resources = Resources()
    #: Computed once: equal for equal shapes, and cheaper to look up.
    name: str = field(init=False, compare=False, repr=False, default="")

    def __post_init__(self) -> None:
        name = f"{shape_text(self.requirements)} {self.min_unit.amounts}"
        object.__setattr__(self, "name", intern(name))

    @classmethod
    def of(cls, shortfall: ShortfallDetail) -> "MachineShape":
        return cls(shortfall.requirements, shortfall.min_unit)

    def would_serve(self, other: "MachineShape") -> bool:
        """Whether a machine picked for this one could be used for the other as well.

        Requirements are given the benefit of the doubt. Sizes are not: a shard that is short of
        large machines keeps no small ones back for it.
        """
        return self.min_unit.covers(other.min_unit) and not exclude_each_other(
            self.requirements, other.requirements
        )


def exclude_each_other(ours: Iterable[Requirement], theirs: Iterable[Requirement]) -> bool:
    """Whether no machine can meet both, as far as one requirement against one other tells."""
    by_key: dict[str, list[Requirement]] = {}
    for requirement in ours:
        by_key.setdefault(requirement.key, []).append(requirement)
    return any(
        _exclude(mine, other) or _exclude(other, mine)
        for other in theirs
        for mine in by_key.get(other.key, ())
    )


def _exclude(one: Requirement, other: Requirement) -> bool:
    if other.operator is Operator.DOES_NOT_EXIST:
        return one.operator in (Operator.IN, Operator.EXISTS, Operator.SAME)
    if one.operator is Operator.IN:
        # Of the values that are allowed, the other must let one through.
        return not any(other.met_by(value) for value in one.values)
    return False


def shape_text(requirements: Iterable[Requirement]) -> str:
    """Equal for equal requirements; part of the name of a row."""
    return ";".join(f"{r.key}:{r.operator.value}:{','.join(r.values)}" for r in requirements)


def machines_for(deficit: Resources, min_unit: Resources) -> int | None:
    """How many machines cover the deficit for sure, each holding one unit; None: not to be told."""
    counts = [
        -(-amount // min_unit[name]) for name, amount in deficit.amounts if min_unit[name] > 0
    ]
    return max(counts, default=None)


def may_match(summary: ShardSummary, requirements: Iterable[Requirement], among: int) -> int:
    """How many of `among` machines may meet the requirements, at most.

    Counts by instance type and by zone are of all machines of the shard in all states.
    """
    most = among
    for requirement in requirements:
        if requirement.operator is Operator.IN:
            if requirement.key == INSTANCE_TYPE_KEY:
                counts = summary.count_of_instance_type
            elif requirement.key == ZONE_KEY:
                counts = summary.count_of_zone
            else:
                continue
            most = min(most, sum(counts.get(value, 0) for value in requirement.values))
    return most


#: Syncs in a row that must name a shortfall: one alone may be about a moment that is over.
SYNCS = 2


@dataclass(frozen=True, slots=True)
class Shortage:
    shortfall: ShortfallDetail
    shape: MachineShape
    #: Why no other shard is to help; None: they are, now or later.
    against: Reason | None


@dataclass(frozen=True, slots=True)
class Shortages:
    #: In the order of their names.
    by_fingerprint: Mapping[str, Shortage]
    #: What it gives nothing of: each shape once. Here it is enough to have been told once, or a new
    #: leader would ask every shard for what all of them are short of.
    shapes: tuple[MachineShape, ...]


NO_SHORTAGES = Shortages({}, ())


def judged(
    shortfalls: Iterable[ShortfallDetail], streaks: Mapping[str, int], rules: RebalanceSettings
) -> Shortages:
    """`streaks`: how many syncs in a row have named each fingerprint."""
    rows = {
        each.fingerprint: Shortage(
            each,
            MachineShape.of(each),
            why_not_eligible(each, streaks.get(each.fingerprint, 0), rules),
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
