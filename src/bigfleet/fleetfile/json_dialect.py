"""JSON of fleet files: fast where it is sound, exact about what is wrong where it is not.

The fast decoder keeps the last of two equal keys and stops at NaN. So a text whose keys do not add
up, or that it refuses, goes through the slow one, which reports repeated keys and lets NaN through
to the checks that name its path.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from bigfleet.fleetfile.limits import MOST_DEPTH, MOST_DIGITS, is_too_deep


class BadJson(ValueError):
    """The text is not JSON a fleet file may hold."""


def decode_json(raw: bytes) -> object:
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        return _decode_slowly(raw, str(error))
    _refuse_depth(document)
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
        document = json.loads(raw.decode(), object_pairs_hook=_object_of, parse_int=_whole_of)
    except BadJson:
        raise
    except RecursionError:
        raise BadJson(
            f"not valid JSON: more than {MOST_DEPTH} levels of objects and lists"
        ) from None
    except ValueError as error:
        raise BadJson(f"not valid JSON: {error}") from None
    _refuse_depth(document)
    _refuse_half_characters(document)
    if refusal and not _holds_unordinary_number(document):
        raise BadJson(f"not valid JSON: {refusal}")
    return document


def _refuse_depth(document: object) -> None:
    if is_too_deep(document):
        raise _too_deep()


def _too_deep() -> BadJson:
    return BadJson(f"not valid JSON: more than {MOST_DEPTH} levels of objects and lists")


def _refuse_half_characters(document: object) -> None:
    """Half of a surrogate pair is not a character: it could be read and never be written again."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadJson("not valid JSON: half of a surrogate pair in a text") from None


def _whole_of(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise BadJson(f"a number of {len(digits):,} digits; {MOST_DIGITS} fit")
    return int(digits)


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise BadJson(f"key {json.dumps(twice[:80])} appears twice in one object")
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
