"""What a shard tells those who watch it: an overview, new decisions, changed Needs, a map.

Machines are columns here: a map of 500,000 of them is some megabytes and a change of it is a few
numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.shard_views import (
    ActionView,
    NeedCounts,
    NeedRow,
    OfferingView,
    Quarantine,
    ShardStatus,
)


class Topic(StrEnum):
    OVERVIEW = "overview"
    DECISIONS = "decisions"
    NEEDS = "needs"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class WatchCall:
    topics: tuple[str, ...] = ()
    #: Decisions after this cycle come first; 0: only new ones.
    after_cycle: int = 0


@dataclass(frozen=True, slots=True)
class NeedClass:
    priority: int
    counts: NeedCounts


@dataclass(frozen=True, slots=True)
class ShardOverview:
    status: ShardStatus
    quarantines: tuple[Quarantine, ...]
    offerings: tuple[OfferingView, ...]
    machines_by_state: Mapping[str, int]
    machines_by_capacity_type: Mapping[str, int]
    #: Of machines that exist, at their prices.
    dollars_per_hour: float
    idle_dollars_per_hour: float
    dollars_by_cluster: Mapping[str, float]
    dollars_by_capacity_type: Mapping[str, float]
    #: The highest priority first.
    need_classes: tuple[NeedClass, ...]
    #: Of the last five minutes; 0: no cycle has ended.
    cycle_p50_seconds: float
    cycle_p99_seconds: float
    phase_p99_seconds: Mapping[str, float]
    #: Started actions by kind, of the last minute.
    actions_per_minute: Mapping[str, float]
    #: Proposals of the workers of Phase 1, of the last minute.
    committed_per_second: float
    conflicts_per_second: float
    thrash_findings: int
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DecisionChanges:
    #: New ones, and those whose outcome is known now; newest last.
    decisions: tuple[ActionView, ...]


@dataclass(frozen=True, slots=True)
class NeedChanges:
    changed: tuple[NeedRow, ...] = ()
    removed: tuple[NeedKey, ...] = ()
    #: More have changed than are told.
    reset: bool = False


@dataclass(frozen=True, slots=True)
class MapLegend:
    column: str
    #: What the numbers of the column mean, from 0 on.
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MapChanges:
    #: Of the columns after these changes; they follow the version before.
    version: int
    #: Machines came or went, or too much has changed: the map must be asked for anew.
    reset: bool = False
    #: Side by side: row (uint32), number of the column (uint8), value (uint32), little-endian.
    rows: bytes = b""
    columns: bytes = b""
    values: bytes = b""
    #: Those that have grown, whole.
    legends: tuple[MapLegend, ...] = ()


@dataclass(frozen=True, slots=True)
class ShardEvent:
    """One of the four."""

    epoch: int
    cycle: int
    at: Instant
    overview: ShardOverview | None = None
    decisions: DecisionChanges | None = None
    needs: NeedChanges | None = None
    map: MapChanges | None = None


@dataclass(frozen=True, slots=True)
class FleetMapCall:
    #: 0: now; else a cycle of the journal.
    cycle: int = 0


@dataclass(frozen=True, slots=True)
class MapColumn:
    name: str
    #: Bytes of a value.
    width: int


@dataclass(frozen=True, slots=True)
class FleetMapHeader:
    epoch: int
    cycle: int
    at: Instant
    version: int
    count: int
    columns: tuple[MapColumn, ...]
    legends: tuple[MapLegend, ...]


#: In the order in which they travel.
MAP_COLUMNS = (
    MapColumn("state", 1),
    MapColumn("capacityType", 1),
    MapColumn("clusterIdx", 2),
    MapColumn("typeIdx", 2),
    MapColumn("priorityClass", 1),
    MapColumn("priceBucket", 1),
    MapColumn("sinceSeconds", 4),
    MapColumn("flags", 1),
    MapColumn("zoneIdx", 2),
    MapColumn("rackIdx", 2),
    MapColumn("providerIdx", 2),
)
#: Of the column flags.
RESERVED, HELD, OVERDUE = 1, 2, 4
