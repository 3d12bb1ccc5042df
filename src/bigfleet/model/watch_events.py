"""What a shard tells those who watch it: an overview, new decisions, changed Needs, a map.

Machines are columns here: a map of 500,000 of them is some megabytes and a change of it is a few
numbers.
"""

from dataclasses import dataclass
from enum import StrEnum

from bigfleet.model.cluster_reports import ClusterPods
from bigfleet.model.figures import ShardFigures
from bigfleet.model.forecasts import Reliability
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.regret import Regret
from bigfleet.model.shard_views import (
    ActionView,
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
class ShardOverview:
    """A shard on one page."""

    status: ShardStatus
    quarantines: tuple[Quarantine, ...]
    offerings: tuple[OfferingView, ...]
    figures: ShardFigures
    thrash_findings: int
    #: Clusters with a session, now or before.
    clusters: tuple[str, ...]
    #: Of clusters whose operators count them now; of the others nothing is known.
    pods: tuple[ClusterPods, ...] = ()
    #: As it was measured last; None: of an earlier version.
    regret: Regret | None = None
    #: Of all forecasts that have ended; None: of an earlier version.
    calibration: Reliability | None = None


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
    #: Millionths of a dollar an hour: what a selection of machines costs, exactly.
    MapColumn("priceMicros", 4),
    MapColumn("zoneIdx", 2),
    MapColumn("rackIdx", 2),
    MapColumn("providerIdx", 2),
)
#: Of the column flags.
RESERVED, HELD, OVERDUE = 1, 2, 4
