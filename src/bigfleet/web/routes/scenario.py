"""The tour and the controls of `up`: 404 in every other process."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.web.bodies import body_of
from bigfleet.web.fleet import Fleet
from bigfleet.web.operations import Asked, Operation
from bigfleet.web.problems import Problem
from bigfleet.web.scenario import Scenario
from bigfleet.web.scenario_schemas import (
    CommandRequest,
    DemandRequest,
    DemandRow,
    DoneShape,
    DoRequest,
    ScenarioShape,
)


@dataclass(frozen=True, slots=True)
class ScenarioRoutes:
    fleet: Fleet

    @property
    def _scenario(self) -> Scenario:
        if self.fleet.scenario is None:
            text = "only the page of `bigfleet up` has a scenario: this fleet is real"
            raise Problem(HTTPStatus.NOT_FOUND, text, remedy="bigfleet up")
        return self.fleet.scenario

    async def show(self, _asked: Asked) -> dict[str, Any]:
        return self._scenario.document()

    async def command(self, asked: Asked) -> dict[str, Any]:
        scenario, said = self._scenario, await body_of(asked, CommandRequest)
        scenario.command(said.do, said.beat)
        return scenario.document()

    async def do(self, asked: Asked) -> dict[str, Any]:
        scenario = self._scenario
        return await scenario.do(await body_of(asked, DoRequest))

    async def demand(self, asked: Asked) -> dict[str, Any]:
        scenario, said = self._scenario, await body_of(asked, DemandRequest)
        return scenario.set_demand(said.cluster, said.class_, said.factor)


def operations(fleet: Fleet) -> list[Operation]:
    routes = ScenarioRoutes(fleet)
    problems = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
    return [
        Operation(
            "/scenario",
            "getScenario",
            "The tour, the controls with their limits, the clock, what is asserted. `up` only.",
            routes.show,
            ScenarioShape,
            problems=problems,
            example="/scenario",
        ),
        Operation(
            "/scenario",
            "commandTour",
            "Of the tour: next, repeat, skip, leave, play, present. `up` only.",
            routes.command,
            ScenarioShape,
            method="POST",
            body=CommandRequest,
            problems=problems,
            example='/scenario {"do": "next"}',
        ),
        Operation(
            "/scenario/do",
            "doScenario",
            "Begins a fault, ends one by its number, or sets the speed. `up` only.",
            routes.do,
            DoneShape,
            method="POST",
            body=DoRequest,
            problems=problems,
            example='/scenario/do {"do": "speed", "speed": 10}',
        ),
        Operation(
            "/demand",
            "setDemand",
            "The factor of a class of work in a cluster. `up` only.",
            routes.demand,
            DemandRow,
            method="POST",
            body=DemandRequest,
            problems=problems,
            example='/demand {"cluster": "shop", "class": "web", "factor": 1.5}',
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
