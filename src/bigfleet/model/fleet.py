"""Fleet: one shard's inputs at one instant, as records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bigfleet.model.machines import Instant, Machine
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions


class HeldBy(StrEnum):
    BACKOFF = "backoff"
    QUOTA = "quota"
    OPERATOR = "operator"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Held:
    by: HeldBy
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    """What the shard knows of a machine beside its record."""

    #: When it last became Idle; None: unknown, so it is never released.
    idle_since: Instant | None = None
    #: Idle or Speculative: not acquirable, not released, no matching supply.
    held: Held | None = None
    #: Past the deadline of its state: not credited.
    overdue: bool = False
    #: Configured, and its cluster says that nothing runs on it; unknown counts as busy.
    empty: bool = False


@dataclass(frozen=True, slots=True)
class FleetMachine:
    machine: Machine
    marks: Marks = Marks()


@dataclass(frozen=True, slots=True)
class FleetNeed:
    need: Need
    name: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What `plan` adds to the engine's own options: rails and how many cycles to run."""

    reclaim_cap_fraction: float = 0.0
    max_actions_per_cycle: int = 0
    cycles: int = 1


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a dump came from."""

    shard: str = ""
    #: `<shardEpoch>:<cycle>`, or the cycle alone.
    cycle: str = ""
    engine_version: str = ""
    captured_at: Instant | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Costs:
    """Read by reports only; no decision looks at it."""

    #: Dollars per hour by instance type or capacity type.
    imputed: Mapping[str, float] = field(default_factory=dict)
    team_of_cluster: Mapping[str, str] = field(default_factory=dict)

    def imputed_of(self, instance_type: str, capacity_type: str) -> float | None:
        """By type, else by the label of the capacity type; None: neither is named."""
        found = self.imputed.get(instance_type)
        return self.imputed.get(capacity_type) if found is None else found


@dataclass(frozen=True, slots=True)
class Fleet:
    machines: tuple[FleetMachine, ...] = ()
    needs: tuple[FleetNeed, ...] = ()
    #: None: no clock, so nothing is released and no reservation expires.
    now: Instant | None = None
    options: EngineOptions = field(default_factory=EngineOptions)
    plan: PlanOptions = PlanOptions()
    memory: EngineMemory = field(default_factory=EngineMemory)
    name: str = ""
    provenance: Provenance = Provenance()
    costs: Costs = field(default_factory=Costs)
