"""The application: routes below /api, the page everywhere else, and the checks around both."""

import importlib
import pkgutil
from collections.abc import Iterator
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from bigfleet.edge.logs import Log
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.web import routes as route_modules
from bigfleet.web.answers import error
from bigfleet.web.assets import Assets
from bigfleet.web.fleet import Fleet
from bigfleet.web.live.live import Live
from bigfleet.web.live.routes import live_routes
from bigfleet.web.safety import BodyTooLarge, Safety, WebPolicy

STATIC = Path(str(files("bigfleet.web"))) / "static"
_STATUS = {
    Code.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Code.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Code.RESOURCE_EXHAUSTED: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.ABORTED: HTTPStatus.CONFLICT,
    Code.ALREADY_EXISTS: HTTPStatus.CONFLICT,
    Code.FAILED_PRECONDITION: HTTPStatus.CONFLICT,
}


def application(live: Live, policy: WebPolicy, log: Log, static: Path = STATIC) -> ASGIApp:
    """`/api` has the compatible routes too: the older dashboard asks there."""
    found = [*found_routes(live.fleet), *live_routes(live)]
    assets = Assets(static)

    async def page(request: Request) -> Response:
        return assets.answer(request)

    app = Starlette(
        routes=[
            Mount("/api/v1", routes=found),
            Mount("/api", routes=found),
            Route("/{path:path}", page),
        ],
        exception_handlers={
            HTTPException: _on_http,
            Rejected: _on_rejected,
            TimeoutError: _on_timeout,
            BodyTooLarge: _on_too_large,
            Exception: _on_fault,
        },
    )
    # Around everything: an answer to a fault has the headers of any other.
    return Safety(app, policy, log)


def found_routes(fleet: Fleet) -> Iterator[BaseRoute]:
    """Of every module of `bigfleet.web.routes`, in the order of their names."""
    for module in pkgutil.iter_modules(route_modules.__path__):
        loaded = importlib.import_module(f"{route_modules.__name__}.{module.name}")
        if hasattr(loaded, "routes"):
            yield from loaded.routes(fleet)


async def _on_http(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    is_missing = problem.status_code == HTTPStatus.NOT_FOUND
    text = f"no route {request.url.path[:200]}" if is_missing else problem.detail
    answer = error(problem.status_code, text)
    answer.headers.update(problem.headers or {})
    return answer


async def _on_rejected(_request: Request, problem: Exception) -> Response:
    """What a shard or a coordinator said; 502 where it said nothing of use."""
    assert isinstance(problem, Rejected)
    status = _STATUS.get(problem.code, HTTPStatus.BAD_GATEWAY)
    return error(status, problem.text)


async def _on_timeout(_request: Request, _problem: Exception) -> Response:
    text = "the fleet took too long to answer"
    return error(HTTPStatus.BAD_GATEWAY, text, remedy="try again in a moment")


async def _on_too_large(_request: Request, problem: Exception) -> Response:
    return error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(problem))


async def _on_fault(_request: Request, problem: Exception) -> Response:
    """A fault of one route answers one request."""
    text = f"this is a fault of the page itself: {type(problem).__name__}"
    return error(HTTPStatus.INTERNAL_SERVER_ERROR, text, remedy="see the log of the process")
