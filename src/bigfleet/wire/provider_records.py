"""A machine record as the bytes of a Machine message, written field by field.

A provider writes every record it shows, a quarter of a million at the start of a large fleet;
building a message for each costs up to twice as much. The bytes are what protobuf would write:
fields by number, defaults left out; maps lie in the order of their keys.
"""

import struct
from collections.abc import Mapping
from functools import lru_cache

from bigfleet.model.machines import Host
from bigfleet.model.provider_calls import MachineRecord

_DOUBLE = struct.Struct("<d").pack
_ZERO = bytes(8)
#: Lengths and enum numbers below 128 are one byte.
_SMALL = [bytes((number,)) for number in range(0x80)]
#: Tags of Machine: number and wire type.
_ID, _STATE, _HOST, _TYPE, _ZONE, _CAPACITY = b"\x0a", b"\x10", b"\x1a", b"\x22", b"\x2a", b"\x30"
_PRICE, _PROBABILITY, _RESOURCES, _LABELS = b"\x39", b"\x41", b"\x4a", b"\x52"
_ERROR, _ALLOCATABLE, _CLUSTER, _METADATA = b"\x62", b"\x6a", b"\x72", b"\x7a"
#: Field 1 and 2 of HostRef, of Resources and of every map entry.
_FIRST, _SECOND = b"\x0a", b"\x12"
#: Shapes and label names come from a catalog; more different ones than this are not kept.
_KEPT = 4096


def machine_bytes(record: MachineRecord) -> bytes:
    """Equal records have equal bytes, so callers can compare the bytes."""
    parts = [
        _text(_ID, record.id),
        _STATE + _SMALL[record.state] if record.state else b"",
        _field(_HOST, _host(record.host)) if record.host is not None else b"",
        _text(_TYPE, record.instance_type),
        _text(_ZONE, record.zone),
        _CAPACITY + _SMALL[record.capacity_type] if record.capacity_type else b"",
        _number(_PRICE, record.price_per_hour),
        _number(_PROBABILITY, record.interruption_probability),
    ]
    if record.resources:
        parts.append(_shape(_RESOURCES, tuple(record.resources.items())))
    _add_entries(parts, _LABELS, record.labels)
    if record.last_error:
        parts.append(_text(_ERROR, record.last_error))
    if record.allocatable:
        parts.append(_shape(_ALLOCATABLE, tuple(record.allocatable.items())))
    if record.cluster:
        parts.append(_text(_CLUSTER, record.cluster))
    _add_entries(parts, _METADATA, record.shard_metadata)
    return b"".join(parts)


def varint(number: int) -> bytes:
    if number < 0x80:
        return _SMALL[number]
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _host(host: Host) -> bytes:
    return _text(_FIRST, host.provider) + _text(_SECOND, host.ref)


def _text(tag: bytes, text: str) -> bytes:
    return _field(tag, text.encode()) if text else b""


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + varint(len(content)) + content


def _number(tag: bytes, number: float) -> bytes:
    packed = _DOUBLE(number)
    return tag + packed if packed != _ZERO else b""


@lru_cache(_KEPT)
def _shape(tag: bytes, quantities: tuple[tuple[str, str], ...]) -> bytes:
    parts: list[bytes] = []
    _add_entries(parts, _FIRST, dict(quantities))
    return _field(tag, b"".join(parts))


def _add_entries(parts: list[bytes], tag: bytes, fields: Mapping[str, str]) -> None:
    """In order: however a map was filled, its bytes are the same."""
    for key, text in sorted(fields.items()):
        name = _key(key) if len(key) < 0x40 else _field(_FIRST, key.encode())
        value = text.encode()
        length = varint(len(value))
        parts += (tag, varint(len(name) + 1 + len(length) + len(value)), name, _SECOND, length)
        parts.append(value)


@lru_cache(_KEPT)
def _key(key: str) -> bytes:
    return _field(_FIRST, key.encode())
