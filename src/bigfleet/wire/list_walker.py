"""Walks the bytes of a MachineList without the interpreter's lock: where each machine lies, and
64-bit keys of its parts by which equal parts are recognised without reading them.

Equal parts have equal keys in any order of their maps, which differs from answer
to answer with providers that write maps as they come. Keys are not proof against an attacker who
looks for collisions: a provider is believed anyway.

| column of `spans` | what it gives |
|---|---|
| MACHINE, MACHINE + 1 | first byte of the machine, and the byte after its last |
| ID, REF, CLUSTER, HOSTNAME (+ 1) | the same of its id, host reference, cluster, node name |

| column of `keys` | made of |
|---|---|
| WHOLE | every field, known or not |
| ID_KEY, HOST_KEY, CLUSTER_KEY | the id; the host's provider; the cluster |
| OFFERING | type, zone, capacity type, price, probability, resources, allocatable, other labels |
| STAMP | the shard's metadata |

The label `kubernetes.io/hostname` is apart from the offering, since no two machines share it.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from bigfleet.compiling import Columns, ReadOnly, copied, kernel, step

#: As they lie in an answer: a view of `bytes`, which cannot be written to.
Bytes = Annotated[NDArray[np.uint8], ReadOnly]
Places = NDArray[np.int64]
Spans = Annotated[NDArray[np.int64], Columns]
Keys = Annotated[NDArray[np.uint64], Columns]
States = NDArray[np.int32]
Flags = NDArray[np.uint8]
Int = int | np.int64

MACHINE, ID, REF, CLUSTER, HOSTNAME, SPANS = 0, 2, 4, 6, 8, 10
WHOLE, ID_KEY, HOST_KEY, CLUSTER_KEY, OFFERING, STAMP, KEYS = 0, 1, 2, 3, 4, 5, 6
#: Bits of a machine's flags.
HAS_HOST, HAS_CLUSTER, HAS_ERROR = 1, 2, 4

#: What stands for a malformed message instead of a position.
_BROKEN = -1
#: FNV-1a, then the finisher of splitmix64, whose every output bit depends on every input bit.
_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
#: How the label of the node name begins as a map entry: its key, then the tag of its value.
_HOSTNAME = np.frombuffer(b"\x0a\x16kubernetes.io/hostname\x12", np.uint8).copy()
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@copied
def _mixed(key: np.uint64) -> np.uint64:
    key = (key ^ (key >> _30)) * _MIX_A
    key = (key ^ (key >> _27)) * _MIX_B
    return key ^ (key >> _31)


@step
def _key(content: Bytes, start: Int, end: Int, field: Int) -> np.uint64:
    key = _BASIS ^ np.uint64(field)
    for i in range(start, end):
        key = (key ^ np.uint64(content[i])) * _PRIME
    return _mixed(key)


@step
def _varint(content: Bytes, at: Int, end: Int) -> tuple[Int, Int]:
    """The number and the position behind it; a number wider than 64 bits is broken."""
    value = np.uint64(0)
    for shift in range(0, 70, 7):
        if at >= end:
            return 0, _BROKEN
        byte = np.uint64(content[at])
        at += 1
        value |= (byte & np.uint64(0x7F)) << np.uint64(shift)
        if byte < np.uint64(0x80):
            return np.int64(value), at
    return 0, _BROKEN


@step
def _field(content: Bytes, at: Int, end: Int) -> tuple[Int, Int, Int, Int]:
    """Number and wire type of the field at this position, and where its payload begins and ends;
    the next field follows at once. Number 0: broken."""
    tag, at = _varint(content, at, end)
    number, kind = tag >> 3, tag & 7
    if at == _BROKEN or number <= 0 or number > 0x1FFFFFFF:
        return 0, 0, 0, 0
    start = at
    if kind == 0:
        _, at = _varint(content, at, end)
    elif kind == 1:
        at += 8
    elif kind == 5:
        at += 4
    elif kind == 2:
        size, start = _varint(content, at, end)
        if start == _BROKEN or size < 0 or size > end - start:
            return 0, 0, 0, 0
        at = start + size
    else:
        at = _BROKEN
    if at == _BROKEN or at > end:
        return 0, 0, 0, 0
    return number, kind, start, at


@step
def _entries(content: Bytes, at: Int, end: Int, field: Int) -> tuple[np.uint64, bool]:
    """One key of a Resources message, in any order of its entries; False: broken."""
    total = np.uint64(field)
    while at < end:
        number, _, start, at = _field(content, at, end)
        if number == 0:
            return total, False
        total += _key(content, start, at, number)
    return _mixed(total), True


@step
def _host(content: Bytes, at: Int, end: Int, row: Int, spans: Spans, keys: Keys) -> int:
    """HAS_HOST where either text is not empty, else 0; -1: broken."""
    found = 0
    while at < end:
        number, kind, start, at = _field(content, at, end)
        if number == 0:
            return _BROKEN
        if number <= 2 and kind == 2:
            if at > start:
                found = HAS_HOST
            if number == 1:
                keys[row, HOST_KEY] = _key(content, start, at, np.int64(1))
            else:
                spans[row, REF], spans[row, REF + 1] = start, at
    return found


@step
def _hostname(content: Bytes, start: Int, end: Int) -> Int:
    """Where the value of the label begins, if it is a node name and nothing follows it; or -1."""
    if end - start <= len(_HOSTNAME):
        return _BROKEN
    for i in range(len(_HOSTNAME)):
        if content[start + i] != _HOSTNAME[i]:
            return _BROKEN
    size, at = _varint(content, start + len(_HOSTNAME), end)
    return at if at != _BROKEN and 0 < size == end - at else _BROKEN


def rows_to_fill(count: int) -> tuple[Spans, Keys, States, Flags, Places]:
    """What `walk_list` writes to."""
    return (
        np.zeros((count, SPANS), np.int64),
        np.zeros((count, KEYS), np.uint64),
        np.zeros(count, np.int32),
        np.zeros(count, np.uint8),
        np.zeros(2, np.int64),
    )


@kernel
def walk_list(
    content: Bytes, spans: Spans, keys: Keys, states: States, flags: Flags, revision: Places
) -> int:
    """Fills one row per machine as far as there are rows, and the span of the revision. Returns how
    many machines there are; -1: broken."""
    at: Int = np.int64(0)
    end, row = len(content), np.int64(0)
    while at < end:
        number, kind, start, at = _field(content, at, end)
        if number == 0:
            return _BROKEN
        if kind == 2 and number == 1:
            if row < len(spans):
                if not _walk_machine(content, start, at, row, spans, keys, states, flags):
                    return _BROKEN
            row += 1
        elif kind == 2 and number == 2:
            revision[0], revision[1] = start, at
    return int(row)


@step
def _walk_machine(
    content: Bytes,
    at: Int,
    end: Int,
    row: Int,
    spans: Spans,
    keys: Keys,
    states: States,
    flags: Flags,
) -> bool:
    spans[row, MACHINE], spans[row, MACHINE + 1] = at, end
    whole, offering, labels, stamp = _BASIS, _BASIS, np.uint64(0), np.uint64(0)
    while at < end:
        number, kind, start, at = _field(content, at, end)
        if number == 0:
            return False
        if number == 15 and kind == 2:
            stamp += _key(content, start, at, number)
            continue
        if number == 10 and kind == 2:
            name = _hostname(content, start, at)
            if name == _BROKEN:
                labels += _key(content, start, at, number)
            else:
                spans[row, HOSTNAME], spans[row, HOSTNAME + 1] = name, at
                whole = (whole ^ _key(content, name, at, number)) * _PRIME
            continue
        if (number == 9 or number == 13) and kind == 2:
            key, sound = _entries(content, start, at, number)
            if not sound:
                return False
            offering = (offering ^ key) * _PRIME
            continue
        key = _key(content, start, at, number)
        if 4 <= number <= 8:
            offering = (offering ^ key) * _PRIME
            continue
        whole = (whole ^ key) * _PRIME
        if number == 2 and kind == 0:
            states[row] = _state(content, start, at)
        elif kind == 2:
            if number == 1:
                spans[row, ID], spans[row, ID + 1], keys[row, ID_KEY] = start, at, key
            elif number == 3:
                found = _host(content, start, at, row, spans, keys)
                if found == _BROKEN:
                    return False
                flags[row] |= np.uint8(found)
            elif number == 12 and at > start:
                flags[row] |= np.uint8(HAS_ERROR)
            elif number == 14 and at > start:
                spans[row, CLUSTER], spans[row, CLUSTER + 1] = start, at
                keys[row, CLUSTER_KEY] = key
                flags[row] |= np.uint8(HAS_CLUSTER)
    keys[row, OFFERING] = _mixed(offering + _mixed(labels))
    keys[row, STAMP] = stamp
    keys[row, WHOLE] = _mixed(whole + _mixed(keys[row, OFFERING] + _mixed(stamp)))
    return True


@step
def _state(content: Bytes, start: Int, end: Int) -> Int:
    """The state's number; one that fits no MachineState is UNSPECIFIED."""
    number, _ = _varint(content, start, end)
    return number if 0 <= number <= 8 else 0


@kernel
def _is_beyond_ascii(content: Bytes, starts: Places, ends: Places, beyond: Flags) -> None:
    """Marks the texts that hold a byte above 127."""
    for row in range(len(starts)):
        for i in range(starts[row], ends[row]):
            if content[i] >= 128:
                beyond[row] = 1
                break


def rows_beyond_ascii(content: Bytes, starts: Places, ends: Places) -> Places:
    """Texts that may be broken; plain ASCII never is."""
    beyond = np.zeros(len(starts), np.uint8)
    _is_beyond_ascii(content, starts, ends, beyond)
    return np.flatnonzero(beyond)
