"""Bodies of requests: JSON of one shape, every problem with its place."""

import re
from typing import TypeVar

import msgspec

from bigfleet.web.operations import Asked
from bigfleet.web.problems import bad

T = TypeVar("T")
_MISSING = re.compile(r"missing required field `(\w+)`")
_PLACE = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)


def _told(problem: str) -> tuple[str, str]:
    """The field that is wrong, and what is wrong with it."""
    missing, placed = _MISSING.search(problem), _PLACE.fullmatch(problem)
    if missing is not None:
        return missing[1], f"{missing[1]} is missing"
    return (placed[2], placed[1]) if placed is not None else ("", problem)


async def body_of(asked: Asked, shape: type[T]) -> T:
    """Raises Problem; how long it may be is checked around every route."""
    content = await asked.request.body()
    if not content.strip():
        raise bad("", "the request has no body; send a JSON object")
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.ValidationError as problem:
        raise bad(*_told(str(problem))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise bad("", f"the body is not JSON: {problem}") from None
