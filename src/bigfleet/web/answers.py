"""JSON answers of the page's routes, and errors that say what to do."""

from typing import Any

import orjson
from starlette.responses import Response

from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant


class Json(Response):
    """One JSON object. It is not kept by anyone: the next moment has another one."""

    media_type = "application/json"

    def __init__(self, document: Any, status: int = 200, **headers: str) -> None:
        """`document`: JSON already where it is bytes."""
        content = document if isinstance(document, bytes) else json_bytes(document)
        super().__init__(content, status, {"cache-control": "no-store", **headers})


def json_bytes(document: Any) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)


def error(status: int, text: str, *, field: str = "", remedy: str = "") -> Json:
    """`field`: the parameter that is wrong; `remedy`: what the caller can do."""
    more = {name: each for name, each in (("field", field), ("remedy", remedy)) if each}
    return Json({"error": text, **more}, status)


def queried_at(now: Instant) -> str:
    """RFC 3339."""
    return instant_text(now)
