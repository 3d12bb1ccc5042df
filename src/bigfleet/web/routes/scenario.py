"""The tour and the controls of `up`: 404 in every other process."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bigfleet.web.answers import Json, error
from bigfleet.web.fleet import Fleet
from bigfleet.web.scenario import Scenario


@dataclass(frozen=True, slots=True)
class ScenarioRoutes:
    scenario: Scenario

    async def show(self, _request: Request) -> Response:
        return Json(self.scenario.document())

    async def command(self, request: Request) -> Response:
        """`{"do": "next"}`, with `beat` where another one is meant."""
        given = await _body(request)
        if isinstance(given, Response):
            return given
        beat = given.get("beat")
        if beat is not None and not _is_whole(beat):
            return _wrong("beat", "the number of a beat, from 1")
        self.scenario.command(str(given.get("do", "")), beat)
        return Json(self.scenario.document())

    async def do(self, request: Request) -> Response:
        given = await _body(request)
        if isinstance(given, Response):
            return given
        return Json(await self.scenario.do(given))

    async def demand(self, request: Request) -> Response:
        given = await _body(request)
        if isinstance(given, Response):
            return given
        factor = given.get("factor")
        if isinstance(factor, bool) or not isinstance(factor, int | float):
            return _wrong("factor", "a number")
        cluster, name = str(given.get("cluster", "")), str(given.get("class", ""))
        return Json(self.scenario.set_demand(cluster, name, float(factor)))


def routes(fleet: Fleet) -> list[Route]:
    if fleet.scenario is None:
        return [
            Route("/scenario", _elsewhere, methods=["GET", "POST"]),
            Route("/scenario/do", _elsewhere, methods=["POST"]),
            Route("/demand", _elsewhere, methods=["POST"]),
        ]
    answers = ScenarioRoutes(fleet.scenario)
    return [
        Route("/scenario", answers.show, methods=["GET"]),
        Route("/scenario", answers.command, methods=["POST"]),
        Route("/scenario/do", answers.do, methods=["POST"]),
        Route("/demand", answers.demand, methods=["POST"]),
    ]


async def _elsewhere(_request: Request) -> Response:
    text = "only the page of `bigfleet up` has a scenario: this fleet is real"
    return error(HTTPStatus.NOT_FOUND, text, remedy="bigfleet up")


async def _body(request: Request) -> Mapping[str, Any] | Response:
    """The object of a request, or the answer that says what is wrong with it."""
    try:
        given = orjson.loads(await request.body() or b"{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return error(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
    return given


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(field: str, wanted: str) -> Response:
    return error(HTTPStatus.BAD_REQUEST, f"{field}: write {wanted}", field=field)
