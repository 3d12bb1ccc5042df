"""Cuts a roll-up into rows and a row into its parts, by lengths alone.

Only messages as every known writer makes them are cut here: fields in order, nothing unknown, no
length that leads beyond the end. For anything else NotInOrder is raised, and protobuf has the word.
What the parts say is not looked at.
"""

from typing import NamedTuple

# Tags: field number * 8 + wire type, which is 0 for a number and 2 for what has a length.
_CLUSTER, _TIMESTAMP, _ROW = 0x0A, 0x10, 0x1A
_REQUIREMENTS = frozenset({0x0A})
_AGGREGATE = frozenset({0x12})
#: Priority, spread and the two buckets.
_REST = frozenset({0x18, 0x2A, 0x30, 0x38})
_MIN_UNIT = frozenset({0x42})
_GROUP = frozenset({0x4A})
_WITH_LENGTH = 0x07


class NotInOrder(Exception):
    """Not as usual, which need not be wrong."""


class Parts(NamedTuple):
    #: These two lie beside each other in a CapacityNeed without vectors and group.
    requirements: bytes
    rest: bytes
    #: The entries of each map, one after the other, with their tags.
    aggregate: bytes
    min_unit: bytes
    group: bytes


def rows_in(content: bytes) -> tuple[bytes, int, list[bytes]]:
    """The cluster id, the time and the rows; what comes twice counts as it came last."""
    cluster, timestamp, rows = b"", 0, []
    at, end = 0, len(content)
    try:
        while at < end:
            tag = content[at]
            if tag == _TIMESTAMP:
                timestamp, at = _number(content, at + 1)
                continue
            start, at = _body(content, at)
            if tag == _ROW:
                rows.append(content[start:at])
            elif tag == _CLUSTER:
                cluster = content[start:at]
            else:
                raise NotInOrder
    except IndexError:
        raise NotInOrder from None
    if at != end:
        raise NotInOrder
    return cluster, timestamp - (1 << 64) if timestamp >> 63 else timestamp, rows


def split(row: bytes) -> Parts:
    try:
        aggregate = _past(row, 0, _REQUIREMENTS)
        rest = _past(row, aggregate, _AGGREGATE)
        min_unit = _past(row, rest, _REST)
        group = _past(row, min_unit, _MIN_UNIT)
        start, end = _body(row, group) if group < len(row) else (group, group)
        if end != len(row) or (group < end and row[group] not in _GROUP):
            raise NotInOrder
    except IndexError:
        raise NotInOrder from None
    return Parts(
        row[:aggregate],
        row[rest:min_unit],
        row[aggregate:rest],
        row[min_unit:group],
        row[start:end],
    )


def entries_in(vector: bytes) -> list[bytes]:
    """The entries of a map without their tags, from the bytes `split` found."""
    entries, at = [], 0
    while at < len(vector):
        start, at = _body(vector, at)
        entries.append(vector[start:at])
    return entries


def _past(row: bytes, at: int, tags: frozenset[int]) -> int:
    """Where the fields of these tags end that begin here."""
    end = len(row)
    while at < end and row[at] in tags:
        if row[at] & _WITH_LENGTH:
            size = row[at + 1]
            at = at + 2 + size if size < 0x80 else _body(row, at)[1]
        else:
            at += 1
            while row[at] >= 0x80:
                at += 1
            at += 1
    return at


def _body(content: bytes, at: int) -> tuple[int, int]:
    """Where the content of a field with a length begins and ends."""
    size = content[at + 1]
    if size < 0x80:
        return at + 2, at + 2 + size
    size, start = _number(content, at + 1)
    return start, start + size


def _number(content: bytes, at: int) -> tuple[int, int]:
    """A varint of at most 64 bits, and where it ends."""
    number = shift = 0
    while True:
        byte = content[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift > 63 and (byte >= 0x80 or number >> 64):
            raise NotInOrder
        if byte < 0x80:
            return number, at
