"""What-if overlays: edits of a cycle's input, in order, and the answer: both decisions compared."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import Machine
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.penalties import Bucket
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import MachineSelector

LOWEST_PRIORITY, HIGHEST_PRIORITY = -(2**31), 2**31 - 1
#: Of one edit; a slip of the keyboard must not eat all memory.
MOST_ADDED_MACHINES = 250_000
#: More than any forecast asks for; amounts stay countable.
LARGEST_FACTOR = 1000.0


@dataclass(frozen=True, slots=True)
class NeedSelector:
    """All of these must hold; empty fields match every Need."""

    cluster: str = ""
    #: The beginning of a Need's id, such as `n3f9c`.
    need_id: str = ""
    priority_min: int = LOWEST_PRIORITY
    priority_max: int = HIGHEST_PRIORITY


@dataclass(frozen=True, slots=True)
class NumberEdit:
    """`multiply` times the value, or `value` itself where it is given."""

    multiply: float = 1.0
    value: float | None = None

    def of(self, before: float) -> float:
        return before * self.multiply if self.value is None else self.value


@dataclass(frozen=True, slots=True)
class RemoveMachines:
    """They are gone; demand that they served stays. A zone or domain that is lost is this too."""

    selector: MachineSelector


@dataclass(frozen=True, slots=True)
class AddMachines:
    """`count` machines like the template."""

    template: Machine
    count: int = 1
    #: With `{000}` the place of the running number from 0; without, it is appended.
    id_pattern: str = ""


@dataclass(frozen=True, slots=True)
class SetAttributes:
    selector: MachineSelector
    price: NumberEdit | None = None
    probability: NumberEdit | None = None
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StockOut:
    """Speculative slots among these cannot be acquired."""

    selector: MachineSelector


@dataclass(frozen=True, slots=True)
class ScaleDemand:
    """Factor 0 withdraws the Needs."""

    selector: NeedSelector
    factor: float


@dataclass(frozen=True, slots=True)
class ReplaceDemand:
    """The whole demand of a cluster; without Needs the cluster leaves."""

    cluster: str
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class AddDemand:
    """Beside what the cluster asks for already; one of the same identity is added to it."""

    need: Need


@dataclass(frozen=True, slots=True)
class SetPenalty:
    """None: stays as it is."""

    selector: NeedSelector
    interruption: Bucket | None = None
    reclamation: Bucket | None = None


@dataclass(frozen=True, slots=True)
class SetPriority:
    selector: NeedSelector
    priority: int


@dataclass(frozen=True, slots=True)
class EngineOption:
    """By its name in a fleet file, such as `drainSeconds` or `parking.after`."""

    name: str
    value: str


Edit = (
    RemoveMachines
    | AddMachines
    | SetAttributes
    | StockOut
    | ScaleDemand
    | ReplaceDemand
    | AddDemand
    | SetPenalty
    | SetPriority
    | EngineOption
)
Overlay = tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class WhatIfCall:
    #: 0: the latest.
    base_cycle: int = 0
    edits: Overlay = ()
    #: Both sides go on until nothing happens any more.
    settle: bool = False
    latencies: Latencies = Latencies()
    #: One text per axis, such as `demand.ml=1.0:2.0:0.1`.
    sweep: tuple[str, ...] = ()
    #: Whether the answer names machines.
    with_machines: bool = False


def is_about(call: WhatIfCall, cluster: str) -> bool:
    """Whether a call asks about one cluster's demand and nothing else, in the latest cycle. What
    becomes of the whole fleet, cycle after cycle, is for its operators."""

    def is_own(edit: Edit) -> bool:
        match edit:
            case ReplaceDemand(named):
                return named == cluster
            case AddDemand(need):
                return need.cluster == cluster
            case _:
                return False

    asks_more = call.base_cycle or call.settle or call.sweep or call.with_machines
    return bool(call.edits) and not asks_more and all(map(is_own, call.edits))


# -- the answer ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WhatIfSide:
    """One decision, summed up; where the sides settle, the actions of all cycles and what is left
    at the end."""

    actions_by_kind: Mapping[str, int] = field(default_factory=dict)
    satisfied_needs: int = 0
    unsatisfied_needs: int = 0
    #: Needs that even preemption does not cover, by priority.
    shortfalls_by_priority: Mapping[int, int] = field(default_factory=dict)
    #: Billed, once the actions are done.
    cost_per_hour: float = 0.0
    #: Probability times declared penalty, of machines in use once the actions are done.
    expected_interruption_per_hour: float = 0.0
    #: Declared for the machines that are taken from clusters; never part of a bill.
    declared_penalties: float = 0.0
    #: Machines taken whose penalty has no finite amount.
    pinned_victims: int = 0
    #: Before the actions.
    machines_by_state: Mapping[str, int] = field(default_factory=dict)
    #: None: one cycle, which settles nothing.
    settled: "SettledSide | None" = None


@dataclass(frozen=True, slots=True)
class SettledSide:
    #: Cycles before the first quiet one; None: it was not quiet when the limit was reached.
    quiet_after_cycles: int | None = 0
    #: Virtual time that was looked at.
    seconds: float = 0.0
    #: Needs that had to wait: after how many seconds the last of their machines was Configured, and
    #: how many Needs; ascending.
    covered_after: tuple[tuple[float, int], ...] = ()
    #: Needs without all their machines at the end.
    uncovered: int = 0

    @property
    def waiting(self) -> int:
        """Needs that had to wait and did not wait in vain."""
        return sum(needs for _, needs in self.covered_after)

    def time_to_cover(self, share: float) -> float:
        """Seconds after which this share of those that had to wait was covered; 0: none had to."""
        left = share * self.waiting
        for seconds, needs in self.covered_after:
            left -= needs
            if left <= 0:
                return seconds
        return 0.0


@dataclass(frozen=True, slots=True)
class ClusterSide:
    #: Bound to it once the actions are done.
    machines: int = 0
    unmet: int = 0
    cost_per_hour: float = 0.0
    actions_by_kind: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterDelta:
    cluster: str
    before: ClusterSide = ClusterSide()
    after: ClusterSide = ClusterSide()
    #: Machines of it that the overlay removes.
    lost: int = 0


@dataclass(frozen=True, slots=True)
class NeedChange:
    """A Need that is met on one side only."""

    key: NeedKey
    priority: int
    #: Where it is short.
    deficit: Resources = Resources()
    #: Why it is short; empty where it is met.
    sentence: str = ""

    @property
    def name(self) -> str:
        return f"need/{self.key.cluster}/{self.key.need_id}"


@dataclass(frozen=True, slots=True)
class AddedNeed:
    """A Need that the overlay adds to, as it would stand: all of it, not only what is added."""

    key: NeedKey
    #: By what is there, what can be bought and what its priority lets it take.
    covered: bool
    #: The deciding reason, and all reasons as one text; empty where it is covered.
    code: str = ""
    sentence: str = ""

    @property
    def name(self) -> str:
        return f"need/{self.key.cluster}/{self.key.need_id}"


@dataclass(frozen=True, slots=True)
class Move:
    """Machines preempted from one cluster for another."""

    from_cluster: str
    to_cluster: str
    machines: int


@dataclass(frozen=True, slots=True)
class NeedWait:
    """A Need that had to wait for machines."""

    key: NeedKey
    priority: int
    #: None: it was not covered at the end.
    covered_after: float | None = None
    #: Why it is short; empty where it is covered, or its machines are on their way.
    sentence: str = ""

    @property
    def name(self) -> str:
        return f"need/{self.key.cluster}/{self.key.need_id}"


@dataclass(frozen=True, slots=True)
class Settling:
    """How the changed side comes to rest."""

    latencies: Latencies = Latencies()
    #: Needs that the first cycle leaves short because of the overlay, and those of them that are
    #: covered at the end.
    short_at_first: int = 0
    recovered: int = 0
    #: Those still waiting first, then the longest waits; at most MOST_LISTED.
    waits: tuple[NeedWait, ...] = ()


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    #: `3:18231`.
    cycle: str
    base: WhatIfSide
    changed: WhatIfSide
    #: By name.
    clusters: tuple[ClusterDelta, ...] = ()
    #: Highest priority first, at most MOST_LISTED each.
    newly_unmet: tuple[NeedChange, ...] = ()
    newly_met: tuple[NeedChange, ...] = ()
    newly_unmet_count: int = 0
    newly_met_count: int = 0
    #: Between clusters, of the changed side; the base's are not told.
    moved: tuple[Move, ...] = ()
    #: Machines the overlay removes.
    removed: int = 0
    #: Canonical, in order.
    overlay: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: What AddDemand names, each Need once, whether or not it was short before.
    added: tuple[AddedNeed, ...] = ()
    #: None: one cycle was asked for.
    settling: Settling | None = None
    #: None: no sweep was asked for.
    sweep: "Sweep | None" = None
    #: Largest group first; None: machines were not asked for.
    fates: "tuple[Fate, ...] | None" = None


@dataclass(frozen=True, slots=True)
class SweepAxis:
    #: As it is written before the values.
    name: str
    #: Ascending.
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    #: One for each axis.
    values: tuple[float, ...]
    answer: WhatIfAnswer


@dataclass(frozen=True, slots=True)
class Sweep:
    axes: tuple[SweepAxis, ...]
    #: The last axis moves fastest; fewer than `size` where the time was up.
    points: tuple[SweepPoint, ...]

    @property
    def size(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def is_complete(self) -> bool:
        return len(self.points) == self.size


@dataclass(frozen=True, slots=True)
class Fate:
    """Machines that the overlay takes away, or that the two decisions treat differently."""

    removed: bool
    #: Kind of action of the decision as it is, and the cluster it is for or takes from; empty:
    #: nothing is done with them.
    before: str = ""
    before_cluster: str = ""
    #: The same with the overlay.
    after: str = ""
    after_cluster: str = ""
    machines: int = 0
    #: As many as an answer has room for.
    machine_ids: tuple[str, ...] = ()


def part_of_cluster(answer: WhatIfAnswer, cluster: str) -> WhatIfAnswer:
    """What a cluster may know: of itself, and of the whole fleet nothing."""
    unmet = tuple(n for n in answer.newly_unmet if n.key.cluster == cluster)
    met = tuple(n for n in answer.newly_met if n.key.cluster == cluster)
    own = tuple(c for c in answer.clusters if c.cluster == cluster)
    before = WhatIfSide(unsatisfied_needs=sum(c.before.unmet for c in own))
    after = WhatIfSide(unsatisfied_needs=sum(c.after.unmet for c in own))
    added = tuple(n for n in answer.added if n.key.cluster == cluster)
    counts = (len(unmet), len(met))
    return WhatIfAnswer(
        answer.cycle, before, after, own, unmet, met, *counts, overlay=answer.overlay, added=added
    )
