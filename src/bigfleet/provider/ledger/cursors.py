"""List cursors: opaque to callers, checked by us, and never a reason for an error.

A cursor names the store's incarnation, so that a cursor of another life is recognised, and carries
a checksum, so that an altered one is. Bytes that do not read back exactly are not a cursor: the
caller gets the full list.
"""

import re
import zlib
from dataclasses import dataclass

_VERSION = "1"
_TEXT = re.compile(rb"1\.([0-9a-z]{1,32})\.([dw](?:\.(?:0|[1-9][0-9]{0,18}))+)\.([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Delta:
    """Everything that changed after `revision`."""

    revision: int


@dataclass(frozen=True, slots=True)
class Walk:
    """A capped walk over all slots, begun at `start` when the head was `revision`.

    It goes from `start` to the last slot, then from the first one up to `start`; `position` is the
    next slot to look at. Once round, it turns into the delta of what changed meanwhile.
    """

    revision: int
    start: int
    position: int


Cursor = Delta | Walk


def cursor_bytes(cursor: Cursor, incarnation: str) -> bytes:
    if isinstance(cursor, Delta):
        body = f"d.{cursor.revision}"
    else:
        body = f"w.{cursor.revision}.{cursor.start}.{cursor.position}"
    text = f"{_VERSION}.{incarnation}.{body}".encode()
    return text + b".%08x" % zlib.crc32(text)


def cursor_of(text: bytes, incarnation: str) -> Cursor | None:
    """The cursor, None for anything this store did not write itself."""
    match = _TEXT.fullmatch(text)
    if match is None or match[1] != incarnation.encode():
        return None
    if zlib.crc32(text[:-9]) != int(match[3], 16):
        return None
    kind, *numbers = match[2].decode().split(".")
    values = [int(number) for number in numbers]
    if kind == "d" and len(values) == 1:
        return Delta(*values)
    if kind == "w" and len(values) == 3:
        return Walk(*values)
    return None
