"""JSON of fleet files: fast where it is sound, exact about what is wrong where it is not.

The fast decoder keeps the last of two equal keys and stops at NaN. So a text whose keys do not add
up, or that it refuses, goes through the slow one, which reports repeated keys and lets NaN through
to the checks that name its path.
"""

import json
from collections.abc import Iterable
from typing import Any

import msgspec


class BadJson(ValueError):
    """The text is no JSON a fleet file may hold."""


def decode_json(raw: bytes) -> object:
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        return _decode_slowly(raw, str(error))
    # Our own dumps come back byte by byte, which settles it; other writers' spaces need a count.
    if msgspec.json.encode(document) != raw and raw.count(b'":') != _keys_in(document):
        _decode_slowly(raw, "")
    return document


def _keys_in(document: object) -> int:
    """How many keys the objects of a document have in all."""
    count, waiting = 0, [document]
    while waiting:
        value = waiting.pop()
        if type(value) is dict:
            count += len(value)
            values: Iterable[object] = value.values()
        else:
            values = value if type(value) is list else ()
        waiting += [v for v in values if type(v) is dict or type(v) is list]
    return count


def _decode_slowly(raw: bytes, refusal: str) -> object:
    try:
        document = json.loads(raw.decode(), object_pairs_hook=_object_of)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadJson(f"not valid JSON: {error}") from None
    if refusal and not _holds_unordinary_number(document):
        raise BadJson(f"not valid JSON: {refusal}")
    return document


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadJson(f"key {json.dumps(twice)} appears twice in one object")
    return record


def _holds_unordinary_number(document: object) -> bool:
    match document:
        case dict():
            return any(map(_holds_unordinary_number, document.values()))
        case list():
            return any(map(_holds_unordinary_number, document))
        case float():
            return document != document or document in (float("inf"), float("-inf"))
        case _:
            return False


def encode_json(document: object) -> bytes:
    return msgspec.json.encode(document)
