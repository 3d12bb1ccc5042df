"""The OpenAPI document, made from the table of routes: nothing is described twice."""

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from bigfleet.web import routes as route_modules
from bigfleet.web.fleet import Fleet
from bigfleet.web.live.routes import operations as live_operations
from bigfleet.web.operations import JSON, Operation, Param
from bigfleet.web.schemas import ErrorShape
from bigfleet.wire.message_schemas import message_schemas

_REF = "#/components/schemas/{name}"
#: Any route may answer so: a bad parameter, a shard that fails, that is late, or not known yet.
_USUAL = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
_BODY_PROBLEMS = (HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def all_operations(fleet: Fleet) -> list[Operation]:
    """What is live, then that of every module of routes, in the order of their names."""
    found = live_operations(None)
    for module in pkgutil.iter_modules(route_modules.__path__):
        loaded = importlib.import_module(f"{route_modules.__name__}.{module.name}")
        if hasattr(loaded, "operations"):
            found += loaded.operations(fleet)
    return found


def document_of(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    listed = list(operations)
    shapes = [ErrorShape, *(each.answer for each in listed)]
    shapes += [each.body for each in listed if each.body is not None]
    unique = list(dict.fromkeys(shapes))
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    schema_of = dict(zip(unique, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in listed:
        paths.setdefault(each.path, {})[each.method.lower()] = _described(each, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "BigFleet",
            "version": version,
            "description": "A fleet as its shards and its coordinator tell it. Fields are added, "
            "never changed. Every answer has the time it was made; one without a shard names it in "
            "`warnings`.",
        },
        "servers": [{"url": "/api/v1"}],
        "paths": paths,
        "components": {"schemas": {**_wire_schemas(), **components}},
    }


@cache
def _wire_schemas() -> dict[str, Any]:
    return message_schemas(_REF)


def _described(each: Operation, schema_of: dict[Any, Any]) -> dict[str, Any]:
    problems = {*each.problems, *_USUAL, *(_BODY_PROBLEMS if each.method == "POST" else ())}
    error = {JSON: {"schema": schema_of[ErrorShape]}}
    described: dict[str, Any] = {
        "operationId": each.name,
        "summary": each.text,
        "parameters": [_parameter(param) for param in each.params],
        "responses": {
            "200": {
                "description": HTTPStatus.OK.phrase,
                "content": {media: _content(each, media, schema_of) for media in each.media},
            },
            **{
                str(int(status)): {"description": status.phrase, "content": error}
                for status in sorted(problems)
            },
        },
    }
    if each.method == "POST":
        own = {"name": "X-BigFleet", "in": "header", "required": True, "schema": {"const": "1"}}
        described["parameters"].append(own)
        content = {JSON: {"schema": schema_of[each.body]}}
        described["requestBody"] = {"required": True, "content": content}
    if each.compatible:
        described["tags"] = ["compatible"]
    return described


def _content(each: Operation, media: str, schema_of: dict[Any, Any]) -> dict[str, Any]:
    return {"schema": schema_of[each.answer] if media == JSON else {"type": "string"}}


def _parameter(param: Param) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": param.kind}
    if param.kind == "integer":
        schema["minimum"] = 0
    if param.choices:
        schema["enum"] = list(param.choices)
    if param.pattern:
        schema["pattern"] = param.pattern
    if param.default is not None:
        schema["default"] = param.default
    text = (
        param.text if param.most is None else f"{param.text} More than {param.most} is cut to it."
    )
    described = {
        "name": param.name,
        "in": "path" if param.in_path else "query",
        "required": param.required or param.in_path,
        "description": text,
        "schema": schema,
    }
    if param.example:
        described["example"] = param.example
    return described
