"""The whole fleet at a glance, and what it did over time."""

from dataclasses import dataclass
from typing import Any

from starlette.routing import Route

from bigfleet.model.forecasts import ALL, ForecastCall, Reliability, reliability_of
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.watch_events import ShardOverview
from bigfleet.web.answers import queried_at
from bigfleet.web.fleet import Fleet
from bigfleet.web.live.overview import FleetSeen, Recent, overview_of, sentence_of
from bigfleet.web.operations import Asked, Operation
from bigfleet.web.routes.shards import DURATION, STEP, samples
from bigfleet.web.schemas import Actions, Overview
from bigfleet.wire.shard_admin import ShardAdminClient


@dataclass(frozen=True, slots=True)
class OverviewRoutes:
    fleet: Fleet

    async def overview(self, _asked: Asked) -> dict[str, Any]:
        """What open pages were told last; a server that follows no shard asks them all."""
        history = self.fleet.history
        told = history.overview() if history is not None else None
        if told is None:
            told = await self._asked_for()
        silent = [f"{shard} gave no answer" for shard in told["shardsDown"]]
        more = {"warnings": silent} if silent else {}
        return {**told, **more, "queriedAt": queried_at(self.fleet.clock.now())}

    async def _asked_for(self) -> dict[str, Any]:
        told = (await self.fleet.ask(_looked)).require()
        recent = {shard: Recent(each.figures, each.figures) for shard, each in told.said.items()}
        down = {shard: why.text for shard, why in told.failed.items()}
        overview = overview_of(FleetSeen(told.said, recent, down))
        sentence = sentence_of(overview, None)
        return {**overview, "sentence": sentence, "calmSinceUnixNanos": None}

    async def actions(self, asked: Asked) -> dict[str, Any]:
        found = samples(self.fleet, asked)
        kinds = sorted(found.action_rates)
        return {
            "timestamps": found.timestamps,
            "kinds": kinds,
            "values": [found.action_rates[kind] for kind in kinds],
        }


async def _looked(shard: ShardAdminClient) -> ShardOverview:
    sessions = await shard.sessions()
    return ShardOverview(
        status=await shard.status(),
        quarantines=tuple(await shard.quarantines()),
        offerings=tuple(await shard.offerings()),
        figures=await shard.figures(axes=()),
        thrash_findings=len(await shard.thrash()),
        clusters=tuple(view.cluster for view in sessions),
        pods=tuple(pods for view in sessions if (pods := view.pods) is not None),
        calibration=await _calibration(shard),
    )


async def _calibration(shard: ShardAdminClient) -> Reliability | None:
    """None: of an earlier version."""
    try:
        told = await shard.forecasts(ForecastCall(limit=-1))
    except Rejected as problem:
        if problem.code is not Code.UNIMPLEMENTED:
            raise
        return None
    return reliability_of(told.reliability, ALL)


def operations(fleet: Fleet) -> list[Operation]:
    routes = OverviewRoutes(fleet)
    return [
        Operation(
            "/fleet/overview",
            "getOverview",
            "The whole fleet: machines by state, Needs by state, dollars, findings.",
            routes.overview,
            Overview,
            compatible=True,
            example="/fleet/overview",
        ),
        Operation(
            "/fleet/actions",
            "getActions",
            "Actions per second by kind, over time; null where nothing was measured.",
            routes.actions,
            Actions,
            (DURATION, STEP),
            compatible=True,
            example="/fleet/actions?duration=5m&step=10s",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
