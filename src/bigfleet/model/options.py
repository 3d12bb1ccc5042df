"""What may be set about a decision, with the defaults of the pure library."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.model.machines import CapacityType

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class VictimWeights:
    priority: float = 1.0
    drain: float = 0.1
    interruption: float = 0.1
    reclamation: float = 0.1


@dataclass(frozen=True, slots=True)
class Parking:
    after: int = 8
    probe: int = 32


def default_holds() -> dict[CapacityType, float]:
    return {CapacityType.ON_DEMAND: 600.0, CapacityType.SPOT: 60.0}


@dataclass(frozen=True, slots=True)
class EngineOptions:
    #: Clusters that have reported; None means all of them.
    clusters_ready: frozenset[str] | None = None
    #: Seconds an unclaimed Idle machine is kept. Only OnDemand and Spot are ever released.
    release_holds: Mapping[CapacityType, float] = field(default_factory=default_holds)
    victim_weights: VictimWeights = VictimWeights()
    drain_seconds: float = 30.0
    reservation_margin_seconds: float = 60.0
    parking: Parking = Parking()
    fold: bool = True
    workers: int = 1
    #: Needs below which a worker is not worth waking.
    smallest_share: int = 512
    #: The part of its Needs that may have to be proposed again before an area is left uncut: a
    #: conflict costs a second proposal, on the one thread that commits.
    most_conflicts: float = 0.25
