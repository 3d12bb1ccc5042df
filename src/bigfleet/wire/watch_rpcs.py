"""WatchEvents and FleetMap: what changes as it changes, and every machine as columns.

Columns are arrays of numbers: what reads and writes those is loaded when it is used.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ClusterPods
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.watch_events import (
    DecisionChanges,
    FleetMapCall,
    FleetMapHeader,
    MapChanges,
    MapColumn,
    MapLegend,
    NeedChanges,
    ShardEvent,
    ShardOverview,
    Topic,
    WatchCall,
)
from bigfleet.wire.figures import FIGURES
from bigfleet.wire.forecasts import RELIABILITY
from bigfleet.wire.machine_answers import decisions_in_full
from bigfleet.wire.machine_views import NEED_KEY
from bigfleet.wire.need_listings import NEED_ROW
from bigfleet.wire.record_codecs import NOT_NEGATIVE, RecordCodec
from bigfleet.wire.regrets import REGRET
from bigfleet.wire.shard_views import OFFERING, QUARANTINE, STATUS

if TYPE_CHECKING:
    from bigfleet.model.fleet_maps import FleetMap

#: Of a map, in one frame.
PIECE_BYTES = 2**20
_TOPICS = tuple(Topic)
WATCH_CALL = RecordCodec(WatchCall, pb.WatchEventsRequest, after_cycle=NOT_NEGATIVE)
MAP_CALL = RecordCodec(FleetMapCall, pb.FleetMapRequest, cycle=NOT_NEGATIVE)
OVERVIEW = RecordCodec(
    ShardOverview,
    pb.ShardOverview,
    status=STATUS,
    quarantines=QUARANTINE,
    offerings=OFFERING,
    figures=FIGURES,
    pods=RecordCodec(ClusterPods, pb.ClusterPods),
    regret=REGRET,
    calibration=RELIABILITY,
)
DECISION_CHANGES = RecordCodec(DecisionChanges, pb.DecisionChanges, decisions_in_full("decisions"))
NEED_CHANGES = RecordCodec(NeedChanges, pb.NeedChanges, changed=NEED_ROW, removed=NEED_KEY)
LEGEND = RecordCodec(MapLegend, pb.MapLegend)
MAP_CHANGES = RecordCodec(MapChanges, pb.MapChanges, legends=LEGEND)
EVENT = RecordCodec(
    ShardEvent,
    pb.WatchEventsResponse,
    epoch="shard_epoch",
    overview=OVERVIEW,
    decisions=DECISION_CHANGES,
    needs=NEED_CHANGES,
    map=MAP_CHANGES,
)
MAP_COLUMN = RecordCodec(MapColumn, pb.MapColumn)
MAP_HEADER = RecordCodec(
    FleetMapHeader, pb.FleetMapHeader, epoch="shard_epoch", columns=MAP_COLUMN, legends=LEGEND
)


class WatchHandler(Protocol):
    def watch_events(self, call: WatchCall) -> AsyncGenerator[ShardEvent, None]:
        """Until the caller hangs up; raises Rejected."""

    async def fleet_map(self, call: FleetMapCall) -> "FleetMap":
        """Raises Rejected."""


async def event_frames(
    handler: WatchHandler, request: pb.WatchEventsRequest
) -> AsyncGenerator[pb.WatchEventsResponse, None]:
    if unknown := [topic for topic in request.topics[:99] if topic not in _TOPICS]:
        text = f"topics: {unknown[0][:40]!r} is not one of {', '.join(_TOPICS)}"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    async with aclosing(handler.watch_events(WATCH_CALL.record(request))) as events:
        async for event in events:
            yield EVENT.message(event)


async def map_frames(
    handler: WatchHandler, request: pb.FleetMapRequest
) -> AsyncGenerator[pb.FleetMapResponse, None]:
    import asyncio

    from bigfleet.model.fleet_maps import map_bytes

    shown = await handler.fleet_map(MAP_CALL.record(request))
    yield pb.FleetMapResponse(header=MAP_HEADER.message(shown.header))
    data = await asyncio.to_thread(map_bytes, shown)
    for begin in range(0, len(data), PIECE_BYTES):
        yield pb.FleetMapResponse(data=data[begin : begin + PIECE_BYTES])


def map_piece(frame: pb.FleetMapResponse) -> "FleetMapHeader | bytes":
    return MAP_HEADER.record(frame.header) if frame.HasField("header") else frame.data
