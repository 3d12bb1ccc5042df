"""A scenario: a fleet, its clusters and their demand, what happens to them, and what must hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.resources import Resources
from bigfleet.provider.sim.world.distributions import Distribution
from bigfleet.shard.settings import ShardSettings
from bigfleet.sim.workloads import Workload
from bigfleet.simulation.curves import Curve
from bigfleet.simulation.expressions import Expression

PROVIDER = "sim"


@dataclass(frozen=True, slots=True)
class Supply:
    """The provider: its machines at the start, and how it behaves."""

    machines: tuple[FleetMachine, ...]
    latency: Mapping[str, Distribution] = field(default_factory=dict)
    failure_rate: Mapping[str, float] = field(default_factory=dict)
    #: Whether spot machines are taken back at the rate they report.
    interruptions: bool = True
    #: From a spot notice to the end of the machine.
    notice_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    cluster: str
    #: Of one replica, or of one gang.
    workload: Workload
    curve: Curve
    #: Pods of one unit.
    pods: int = 1
    #: Units are gangs, or objects with a name of their own.
    named_units: bool = False


@dataclass(frozen=True, slots=True)
class Happening:
    """An event or a fault: what is done, when, and for how long."""

    at: float
    do: str
    arguments: Mapping[str, object]
    #: None: it is not undone.
    seconds: float | None = None
    #: How assertions call it.
    name: str = ""


@dataclass(frozen=True, slots=True)
class Chaos:
    """Faults at drawn times: another seed, another schedule."""

    per_minute: float
    do: tuple[str, ...]
    seconds: tuple[float, float]
    begins: float
    ends: float


@dataclass(frozen=True, slots=True)
class Assertion:
    name: str
    #: always, never, final, within or at.
    kind: str
    expression: Expression
    #: of `within`: how long it may take; of `at`: when it is looked at.
    seconds: float = 0.0
    #: of `within`: the event it counts from; empty: the start.
    event: str = ""
    #: `except`: not looked at for so long after each of these events.
    except_event: str = ""
    except_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    seed: int
    duration: float
    supply: Supply
    clusters: tuple[str, ...]
    workloads: tuple[WorkloadPlan, ...]
    settings: ShardSettings
    shards: int = 1
    #: The shard that owns the machines of each zone.
    owner_of_zone: Mapping[str, str] = field(default_factory=dict)
    #: The shard that serves each cluster.
    shard_of_cluster: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Happening, ...] = ()
    faults: tuple[Happening, ...] = ()
    chaos: Chaos | None = None
    assertions: tuple[Assertion, ...] = ()
    #: Seconds after the start at which faults have ended for good and demand stands still.
    settles_at: float | None = None

    @property
    def replays(self) -> bool:
        """Whether an assertion needs the journal."""
        names = (name.name for each in self.assertions for name in each.expression.names())
        return "replay_identical" in names or "journal_gaps" in names


EMPTY = Resources()
