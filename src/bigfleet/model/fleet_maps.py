"""Machines as columns, for a map of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.watch_events import MAP_COLUMNS, FleetMapHeader, MapChanges, MapColumn

Numbers = NDArray[np.unsignedinteger]
#: Changes beyond this part of all values are not worth telling one by one.
_MOST_CHANGED = 0.1
_TYPES: dict[int, "np.dtype[np.unsignedinteger]"] = {
    1: np.dtype("u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
}


def column_type(column: MapColumn) -> "np.dtype[np.unsignedinteger]":
    return _TYPES[column.width]


@dataclass(frozen=True, slots=True)
class FleetMap:
    """All machines of a shard by id, ascending."""

    header: FleetMapHeader
    #: By name.
    columns: Mapping[str, Numbers]
    ids: Sequence[str]

    def __len__(self) -> int:
        return len(self.ids)


def map_bytes(shown: FleetMap) -> bytes:
    """As it travels, without its header."""
    texts = [each.encode() for each in shown.ids]
    ends = np.cumsum([len(text) for text in texts], dtype="<u4").astype("<u4")
    columns = (shown.columns[each.name].tobytes() for each in MAP_COLUMNS)
    return b"".join((*columns, ends.tobytes(), *texts))


def map_of(header: FleetMapHeader, data: bytes) -> FleetMap:
    """Raises ValueError where the bytes are not what the header says."""
    count, place = header.count, 0
    columns: dict[str, Numbers] = {}
    for column in header.columns:
        kind = _TYPES.get(column.width)
        if kind is None:
            raise ValueError(f"a column of {column.width} bytes")
        columns[column.name] = np.frombuffer(data, kind, count, place)
        place += column.width * count
    missing = {each.name for each in MAP_COLUMNS} - columns.keys()
    if missing:
        raise ValueError(f"no column {', '.join(sorted(missing))}")
    ends = np.frombuffer(data, "<u4", count, place).tolist()
    text, begin = data[place + 4 * count :], 0
    ids: list[str] = []
    for end in ends:
        ids.append(text[begin:end].decode())
        begin = end
    if begin != len(text):
        raise ValueError("the ids end elsewhere")
    return FleetMap(header, columns, ids)


def map_changes(before: FleetMap, after: FleetMap) -> MapChanges:
    """What leads from one to the next; a reset where machines came or went, or much changed."""
    version, known = after.header.version, {each.column: each for each in before.header.legends}
    grown = tuple(each for each in after.header.legends if known.get(each.column) != each)
    if before.ids is not after.ids and list(before.ids) != list(after.ids):
        return MapChanges(version, reset=True)
    rows, numbers, values = [], [], []
    for number, column in enumerate(MAP_COLUMNS):
        mine, theirs = before.columns[column.name], after.columns[column.name]
        changed = np.flatnonzero(mine != theirs)
        rows.append(changed.astype("<u4"))
        numbers.append(np.full(len(changed), number, np.uint8))
        values.append(theirs[changed].astype("<u4"))
    total = sum(map(len, rows))
    if total > max(1000, _MOST_CHANGED * len(after) * len(MAP_COLUMNS)):
        return MapChanges(version, reset=True)
    return MapChanges(
        version,
        rows=np.concatenate(rows).tobytes(),
        columns=np.concatenate(numbers).tobytes(),
        values=np.concatenate(values).tobytes(),
        legends=grown,
    )


def with_changes(before: FleetMap, changes: MapChanges) -> FleetMap:
    """Raises ValueError where they are not changes of this map."""
    header = before.header
    rows = np.frombuffer(changes.rows, "<u4")
    numbers = np.frombuffer(changes.columns, np.uint8)
    values = np.frombuffer(changes.values, "<u4")
    if changes.reset or changes.version != header.version + 1 or len(rows) != len(values):
        raise ValueError("these changes do not follow this map")
    columns = dict(before.columns)
    for number in np.unique(numbers).tolist():
        chosen, column = numbers == number, MAP_COLUMNS[number]
        fresh = columns[column.name].copy()
        fresh[rows[chosen]] = values[chosen].astype(column_type(column))
        columns[column.name] = fresh
    legends = {each.column: each for each in (*header.legends, *changes.legends)}
    told = replace(header, version=changes.version, legends=tuple(legends.values()))
    return FleetMap(told, columns, before.ids)
