"""Cursors of List: readable by their writer only, and never half right.

`delta(r)`: what changed after r. `walk(r, position)`: a capped read of the whole list that began
at revision r and has come to a position in slot order; its last page hands over to delta(r).
"""

import re
from dataclasses import dataclass
from zlib import crc32

_FORM = re.compile(
    rb"(?P<body>(?P<life>[0-9a-f]+)-(?P<rev>[0-9]+)(?:-(?P<pos>[0-9]+))?)\.(?P<crc>[0-9a-f]{8})"
)


@dataclass(frozen=True, slots=True)
class Cursor:
    revision: int
    #: None: a delta.
    position: int | None = None


def written(life: str, cursor: Cursor) -> bytes:
    body = f"{life}-{cursor.revision}"
    if cursor.position is not None:
        body += f"-{cursor.position}"
    return f"{body}.{crc32(body.encode()):08x}".encode()


def read(life: str, content: bytes, head: int) -> Cursor | None:
    """None for bytes we did not write, or wrote in a future that was lost: a full list."""
    match = _FORM.fullmatch(content)
    if match is None or int(match["crc"], 16) != crc32(match["body"]):
        return None
    if match["life"].decode() != life or int(match["rev"]) > head:
        return None
    return Cursor(int(match["rev"]), int(match["pos"]) if match["pos"] else None)
