"""When Needs that wait are expected to be met, and how good such forecasts have been."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.model.forecasts import MOST_TOLD, ForecastCall
from bigfleet.web.answers import queried_at
from bigfleet.web.fleet import Fleet
from bigfleet.web.further_schemas import Etas
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.wire.forecasts import FORECAST, FORECASTS


@dataclass(frozen=True, slots=True)
class EtaRoutes:
    fleet: Fleet

    async def eta(self, asked: Asked) -> dict[str, Any]:
        call = ForecastCall(asked.text("cluster"), asked.number("limit") or -1)
        told = (
            await self.fleet.ask(lambda client: client.forecasts(call), asked.text("shard"))
        ).require()
        forecasts, shards = [], []
        for shard, report in told.said.items():
            for each in report.forecasts:
                need = {"needId": each.need.need_id, "sentence": each.sentence}
                forecasts.append({**FORECAST.document(each), **need, "shardId": shard})
            document = FORECASTS.document(report)
            del document["forecasts"]
            shards.append({**document, "shardId": shard})
        return {
            "forecasts": forecasts,
            "shards": shards,
            **told.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/eta",
            "listForecasts",
            "When Needs that wait are expected to be met, and how good such forecasts have been.",
            EtaRoutes(fleet).eta,
            Etas,
            (
                Param("shard", "Only of this shard.", example="shard-0"),
                Param("cluster", "Only Needs of this cluster.", example="shop"),
                Param(
                    "limit",
                    "Forecasts of each shard at most.",
                    kind="integer",
                    default=MOST_TOLD,
                    most=MOST_TOLD,
                    example="100",
                ),
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND),
            example="/eta",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
