"""Regret: what the machines of a cycle cost per hour, against the least that could do the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from bigfleet.model.machines import Instant
from bigfleet.model.resources import Resources

HOW_TO_ENABLE = (
    "the regret meter needs the solver HiGHS, which is not installed: "
    "pip install 'bigfleet[regret]' adds it"
)


class RegretStatus(IntEnum):
    UNSPECIFIED = 0
    #: The linear programs were solved to the end.
    OPTIMAL = 1
    #: Time ran out: the bound is true, and may be lower than it had to be.
    BOUND_ONLY = 2
    #: Not measured; the reason says why.
    SKIPPED = 3

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class UncoveredDemand:
    """What the Needs of a priority class lack, in the cycle and where coverage comes first."""

    priority_class: str
    greedy: Resources
    bound: Resources = Resources()
    #: False: time ran out before the bound was found.
    bound_known: bool = True


@dataclass(frozen=True, slots=True)
class TypeRegret:
    """The part of one instance type in the cost of the cycle and in that of the bound."""

    instance_type: str
    greedy_per_hour: float
    bound_per_hour: float

    @property
    def gap_per_hour(self) -> float:
        return self.greedy_per_hour - self.bound_per_hour


@dataclass(frozen=True, slots=True)
class Regret:
    """Dollars are effective cost: prices, and interruptions at the penalties that are declared."""

    status: RegretStatus
    #: Why it was skipped, or ended early.
    reason: str = ""
    cycle: int = 0
    at: Instant = 0
    #: What the measurement took.
    seconds: float = 0.0
    #: Of the machines that the cycle claims for Needs.
    greedy_per_hour: float = 0.0
    #: No assignment of whole machines with the same coverage costs less.
    bound_per_hour: float = 0.0
    #: Claimed machines that may be interrupted, for Needs that must not be: at their price alone.
    pinned_machines: int = 0
    #: Classes of priority that lack something in the cycle or in the bound, the highest first.
    uncovered: tuple[UncoveredDemand, ...] = ()
    #: The largest part of the gap first; empty unless optimal.
    by_type: tuple[TypeRegret, ...] = ()
    machine_classes: int = 0
    need_groups: int = 0

    @property
    def is_measured(self) -> bool:
        return self.status in (RegretStatus.OPTIMAL, RegretStatus.BOUND_ONLY)

    @property
    def gap_per_hour(self) -> float:
        return self.greedy_per_hour - self.bound_per_hour

    @property
    def ratio(self) -> float:
        """The part of the cycle's cost that the bound saves."""
        return self.gap_per_hour / self.greedy_per_hour if self.greedy_per_hour > 0 else 0.0


def skipped(reason: str, cycle: int = 0, at: Instant = 0) -> Regret:
    return Regret(RegretStatus.SKIPPED, reason, cycle, at)


def regret_of_fleet(shards: Mapping[str, Regret | None], silent: Iterable[str] = ()) -> Regret:
    """Of all shards together, as far as all of them are measured; `silent`: those that do not
    answer."""
    missing = [f"{shard} does not answer" for shard in sorted(silent)]
    known = {shard: each for shard, each in shards.items() if each is not None}
    older = [shard for shard in shards if shard not in known]
    missing += [f"{shard} is of a version that measures none" for shard in older]
    missing += [each.reason for each in known.values() if not each.is_measured]
    if missing:
        return skipped(missing[0])
    cut = [f"{shard}: {each.reason}" for shard, each in known.items() if each.reason]
    return Regret(
        RegretStatus.BOUND_ONLY if cut else RegretStatus.OPTIMAL,
        cut[0] if cut else "",
        greedy_per_hour=sum(each.greedy_per_hour for each in known.values()),
        bound_per_hour=sum(each.bound_per_hour for each in known.values()),
    )
