"""Events and a map of a shard, every field with a value of its own."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import numpy as np

from bigfleet.model.actions import ActionKind
from bigfleet.model.cluster_reports import ClusterPods
from bigfleet.model.fleet_maps import FleetMap, column_type, map_bytes
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile
from bigfleet.model.reasons import ToldReason
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import (
    ActionView,
    Disposition,
    NeedRow,
    NeedView,
    OfferingState,
    OfferingView,
    Quarantine,
    QuarantineKind,
    ShardStatus,
)
from bigfleet.model.watch_events import (
    MAP_COLUMNS,
    DecisionChanges,
    FleetMapCall,
    FleetMapHeader,
    MapChanges,
    MapLegend,
    NeedChanges,
    ShardEvent,
    ShardOverview,
    WatchCall,
)
from tests.wire import figures_answer, regret_answer

STATUS = ShardStatus(
    *("shard-0", 3, "1.2.3", 9, 10, 0.25, "", 2, 3, 4, 5, (), True, 6, 7, ()),
    stuck_pods=8,
    journal_error="disk full",
    journal_degraded=True,
)
HELD = Quarantine(QuarantineKind.ROLLUP, "shop", 100, 0, 1, 3, 4, 5)
RESTING = OfferingView("sim/a3/z-a/Spot", OfferingState.OPEN, "stockout", 2, 3, 4, "none left", 5)
STARTED = ActionView(
    *(9, 1, ActionKind.BOOTSTRAP, "m-0", "shop", NeedKey("shop", "p=1", "g"), "cheapest"),
    disposition=Disposition.ENQUEUED,
    outcome="success",
    at=10,
    reasons=(ToldReason("cost.rank", "cheapest", {"rank": "1"}, ("machine/m-0",)),),
    bill_change=0.5,
)
WANTED = Need("shop", Profile.of(priority=1), Resources.parse({"cpu": "1"}))
BLOCKED = NeedRow(
    NeedView(WANTED, True, claimed=1),
    NeedState.BLOCKED,
    ToldReason("rail.paused", "it is paused"),
    13,
)
LEGEND = MapLegend("clusterIdx", ("", "shop"))
EVENTS = (
    ShardEvent(
        3,
        9,
        10,
        overview=ShardOverview(
            STATUS,
            (HELD,),
            (RESTING,),
            figures_answer.FIGURES,
            2,
            ("ml", "shop"),
            (ClusterPods("shop", 4, 2, 1),),
            regret_answer.MEASURED,
        ),
    ),
    ShardEvent(3, 9, 10, decisions=DecisionChanges((STARTED,))),
    ShardEvent(
        3,
        9,
        10,
        needs=NeedChanges((BLOCKED,), (NeedKey("shop", "p=1", "g"),), True),
    ),
    ShardEvent(3, 9, 10, map=MapChanges(4, True, b"\1\0\0\0", b"\2", b"\3\0\0\0", (LEGEND,))),
)
IDS = ["m-0", "m-ü"]
MAP = FleetMap(
    FleetMapHeader(3, 9, 10, 4, len(IDS), MAP_COLUMNS, (LEGEND,)),
    {
        each.name: np.array([place, place + 1], column_type(each))
        for place, each in enumerate(MAP_COLUMNS)
    },
    IDS,
)


@dataclass
class ScriptedWatch:
    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def watch_events(self, call: WatchCall) -> AsyncGenerator[ShardEvent, None]:
        self.asked.append(("watch_events", call))
        for event in EVENTS:
            yield event

    async def fleet_map(self, call: FleetMapCall) -> FleetMap:
        self.asked.append(("fleet_map", call))
        return MAP


PIECES = [MAP.header, map_bytes(MAP)]
