"""What a simulated shard must know of the answer to its sync, without reading the rest of it.

A view of a hundred thousand domains takes a shard a tenth of a second to read, on a machine of its
own. Two hundred shards that live in one process beside their coordinator would leave it no
processor; so of the view only its revision is read.
"""

from dataclasses import dataclass

#: Fields of SyncShardResponse, and the first one of its view.
_OWNERSHIP, _OFFERS, _NEXT_SYNC_MILLIS, _REVISION = 2, 5, 9, 1
#: Wire types: a number, and something with its length before it.
_VARINT, _LENGTH = 0, 2


@dataclass(frozen=True, slots=True)
class SyncHead:
    #: Of the view; 0: there is none.
    revision: int
    next_sync_millis: int
    offers: int


def sync_head_of(content: bytes) -> SyncHead:
    """Of the bytes of a SyncShardResponse; ValueError where they hold what it does not."""
    revision = millis = offers = place = 0
    while place < len(content):
        tag, place = _number(content, place)
        value, place = _number(content, place)
        field, kind = tag >> 3, tag & 7
        if kind == _LENGTH:
            if field == _OWNERSHIP:
                revision = _first_number(content[place : place + 16])
            offers += field == _OFFERS
            place += value
        elif kind != _VARINT:
            raise ValueError(f"field {field} of the answer is of wire type {kind}")
        elif field == _NEXT_SYNC_MILLIS:
            millis = value
    return SyncHead(revision, millis, offers)


def _first_number(content: bytes) -> int:
    tag, place = _number(content, 0)
    return _number(content, place)[0] if tag >> 3 == _REVISION else 0


def _number(content: bytes, place: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    value = shift = 0
    while True:
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
