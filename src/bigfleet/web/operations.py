"""The table of routes: one entry per route serves the application, the OpenAPI document and the
tests.

A route module has a class whose methods answer, and `operations(fleet)` that lists them. An entry
says what is asked (parameters, a body) and what is answered (a msgspec type), so that no route can
be served without a description.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bigfleet.model.durations import seconds_of
from bigfleet.model.provider_calls import Rejected
from bigfleet.web.answers import Json, error
from bigfleet.web.fleet import problem_of
from bigfleet.web.problems import Problem, bad

#: Characters of a parameter; an object's name is shorter.
LONGEST_PARAMETER = 4096
Method = Literal["GET", "POST"]


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    text: str
    kind: Literal["string", "integer", "boolean"] = "string"
    required: bool = False
    default: str | int | bool | None = None
    #: Of an integer: more is cut to it, and the answer says so.
    most: int | None = None
    choices: tuple[str, ...] = ()
    #: In the path, not in the query.
    in_path: bool = False
    #: In the path, and may hold slashes.
    rooted: bool = False
    #: A regular expression that a value must match.
    pattern: str = ""
    example: str = ""


class Asked:
    """A request, read by the parameters its route names."""

    def __init__(self, request: Request, params: Mapping[str, Param]) -> None:
        self.request = request
        self._params = params
        #: Parameters that were cut to their most.
        self.clamped: dict[str, int] = {}

    def text(self, name: str) -> str:
        """Empty where it is not given; raises Problem where it must be, or is not a choice."""
        param = self._params[name]
        request = self.request
        said = request.path_params if param.in_path else request.query_params
        given = str(said.get(name, ""))
        if len(given) > LONGEST_PARAMETER:
            raise bad(name, f"{name} has at most {LONGEST_PARAMETER} characters")
        if not given:
            if param.required:
                raise bad(name, f"{name} is missing: {param.text}")
            return str(param.default or "")
        if param.choices and given not in param.choices:
            raise bad(name, f"{name}: {given[:100]!r} is not one of {', '.join(param.choices)}")
        return given

    def number(self, name: str) -> int:
        """The default where it is not given; raises Problem where it is not a number."""
        param, given = self._params[name], self.text(name)
        if not given:
            return 0
        if not given.isdecimal() or len(given) > 18:
            raise bad(name, f"{name}: {given[:100]!r} is not a whole number, 0 or more")
        return self._at_most(name, int(given), param.most)

    def lenient_number(self, name: str) -> int:
        """The default where it is not given, not a number, or 0."""
        param = self._params[name]
        given = self.request.query_params.get(name, "")
        fits = given.isdecimal() and len(given) <= 18 and int(given) > 0
        wanted = int(given) if fits else int(param.default or 0)
        return self._at_most(name, wanted, param.most)

    def flag(self, name: str) -> bool:
        given = self.text(name).lower()
        if given not in ("", "true", "false", "1", "0"):
            raise bad(name, f"{name}: {given[:100]!r} is neither true nor false")
        return given in ("true", "1")

    def duration(self, name: str, default: int, most: int) -> int:
        """Whole seconds: the default where it cannot be read, at most the most, at least one."""
        seconds = seconds_of(self.request.query_params.get(name, ""))
        if seconds is None or not 0 < seconds < float("inf"):
            return default
        return max(1, round(min(seconds, most)))

    def _at_most(self, name: str, wanted: int, most: int | None) -> int:
        if most is None or wanted <= most:
            return wanted
        self.clamped[name] = most
        return most

    def head(self) -> dict[str, Any]:
        """Of an answer: what was cut; nothing where nothing was."""
        if not self.clamped:
            return {}
        return {"clamped": True, "limit": next(iter(self.clamped.values()))}


#: A response stands for itself; anything else is sent as JSON.
Answering = Callable[[Asked], Awaitable[Mapping[str, Any] | bytes | Response]]
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Operation:
    path: str
    #: Its name in the OpenAPI document and in tests.
    name: str
    text: str
    answering: Answering
    #: A msgspec type.
    answer: Any
    params: tuple[Param, ...] = ()
    method: Method = "GET"
    #: A msgspec type; None: it has no body.
    body: Any = None
    #: Statuses beside 200 that it may answer with.
    problems: tuple[HTTPStatus, ...] = ()
    #: One of the 14 that the older dashboard asks for.
    compatible: bool = False
    #: What it may be answered as; only JSON has the shape of `answer`.
    media: tuple[str, ...] = (JSON,)
    #: Below /api/v1, for the documentation.
    example: str = ""

    def route(self) -> Route:
        params = {param.name: param for param in self.params}

        async def endpoint(request: Request) -> Response:
            asked = Asked(request, params)
            try:
                told = await self.answering(asked)
            except Rejected as why:
                problem = problem_of(why)
            except Problem as found:
                problem = found
            else:
                return told if isinstance(told, Response) else Json(told)
            return error(problem.status, problem.text, field=problem.field, remedy=problem.remedy)

        path = self.path
        for param in self.params:
            if param.rooted:
                path = path.replace(f"{{{param.name}}}", f"{{{param.name}:path}}")
        return Route(path, endpoint, methods=[self.method], name=self.name)
