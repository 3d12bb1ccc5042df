"""The part of JSON Schema that the charts use, checked here because `make test` has no helm.

A keyword that is not known here is an error: what helm would check and this does not would let bad
defaults through.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "string": str,
}
_SILENT = {"$schema", "title", "description", "definitions"}


def violations(schema: dict[str, Any], value: Any) -> list[str]:
    return list(_violations(schema, schema, value, "values"))


def objects_in(
    schema: dict[str, Any], path: str = "values"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object with keys of its own, at its path; `$ref` is not followed."""
    if "properties" in schema:
        yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from objects_in(inner, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from objects_in(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from objects_in(schema["additionalProperties"], f"{path}.*")
    for name, inner in schema.get("definitions", {}).items():
        yield from objects_in(inner, f"definitions.{name}")


def _violations(
    root: dict[str, Any], schema: dict[str, Any], value: Any, path: str
) -> Iterator[str]:
    for keyword, said in schema.items():
        if keyword in _SILENT:
            continue
        elif keyword == "$ref":
            named = root["definitions"][said.removeprefix("#/definitions/")]
            yield from _violations(root, named, value, path)
        elif keyword == "anyOf":
            if all(list(_violations(root, each, value, path)) for each in said):
                yield f"{path}: {value!r} is not one of the allowed values"
        elif keyword == "not":
            if not list(_violations(root, said, value, path)):
                yield f"{path}: {value!r} is what it must not be"
        elif keyword in _INSIDE:
            yield from _INSIDE[keyword](root, schema, value, path)
        elif not _HOLDS[keyword](said, value):
            yield f"{path}: {value!r} breaks {keyword} {said!r}"


def _is(said: str | list[str], value: Any) -> bool:
    names = [said] if isinstance(said, str) else said
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)


def _properties(
    root: dict[str, Any], schema: dict[str, Any], value: Any, path: str
) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in value if isinstance(value, dict) else ():
        if name in known:
            yield from _violations(root, known[name], value[name], f"{path}.{name}")


def _additional(
    root: dict[str, Any], schema: dict[str, Any], value: Any, path: str
) -> Iterator[str]:
    more = value.keys() - schema.get("properties", {}).keys() if isinstance(value, dict) else ()
    for name in sorted(more):
        if schema["additionalProperties"] is False:
            yield f"{path}: {name} is unknown"
        else:
            of = schema["additionalProperties"]
            yield from _violations(root, of, value[name], f"{path}.{name}")


def _items(root: dict[str, Any], schema: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    for place, each in enumerate(value if isinstance(value, list) else ()):
        yield from _violations(root, schema["items"], each, f"{path}[{place}]")


_INSIDE = {"properties": _properties, "additionalProperties": _additional, "items": _items}
#: Each holds for values it is not about, as the standard has it.
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "type": _is,
    "enum": lambda said, value: value in said,
    "const": lambda said, value: value == said,
    "pattern": lambda said, value: not isinstance(value, str) or re.search(said, value) is not None,
    "minLength": lambda said, value: not isinstance(value, str) or len(value) >= said,
    "maxLength": lambda said, value: not isinstance(value, str) or len(value) <= said,
    "minimum": lambda said, value: isinstance(value, str) or value >= said,
    "maximum": lambda said, value: isinstance(value, str) or value <= said,
    "exclusiveMinimum": lambda said, value: isinstance(value, str) or value > said,
    "required": lambda said, value: not isinstance(value, dict) or set(said) <= value.keys(),
}
