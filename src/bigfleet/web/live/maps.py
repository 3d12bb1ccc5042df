"""The fleet's map: the machines of all shards in one order, as bytes and as changes of them.

Pure. Names of clusters, types and priorities get numbers of the whole fleet, which stay. An order
is called a layout and has a number: an index in a change means a place in that layout. Machines
that come or go make a new one at once. One that goes to another cluster keeps its place on a map by
cluster for a while: else that map would never stand still.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.fleet_maps import FleetMap, Numbers, column_type, with_changes
from bigfleet.model.watch_events import MAP_COLUMNS, MapChanges, ShardEvent
from bigfleet.web.answers import json_bytes

By = Literal["zone", "provider", "cluster", "type"]
BYS: tuple[By, ...] = get_args(By)
VERSION = 1
#: What a page is told of every machine, in this order; the rest is for groups.
SHOWN = MAP_COLUMNS[:9]
#: Columns whose numbers mean names, and what the legend calls them.
_NAMED = {
    "state": "state",
    "capacityType": "capacityType",
    "clusterIdx": "cluster",
    "typeIdx": "type",
    "priorityClass": "priority",
    "priceBucket": "price",
}
_FIXED = ("state", "capacityType", "priceBucket")
_GROUPED: Mapping[By, tuple[str, ...]] = {
    "zone": ("zoneIdx", "rackIdx"),
    "provider": ("providerIdx",),
    "cluster": ("clusterIdx",),
    "type": ("typeIdx",),
}
_TYPE_OF = {each.name: column_type(each) for each in MAP_COLUMNS}
_NUMBER_OF = {each.name: number for number, each in enumerate(MAP_COLUMNS)}
Int64s = NDArray[np.int64]


@dataclass
class _Legend:
    """Numbers of names over all shards; they only grow."""

    names: list[str] = field(default_factory=list)
    number_of: dict[str, int] = field(default_factory=dict)

    def numbers(self, names: Iterable[str]) -> Int64s:
        return np.array([self._number(name) for name in names], np.int64)

    def _number(self, name: str) -> int:
        if name not in self.number_of:
            self.number_of[name] = len(self.names)
            self.names.append(name)
        return self.number_of[name]


@dataclass(frozen=True, slots=True)
class MapEvent:
    by: By
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    by: By
    number: int
    #: Place of every row, shard after shard; and the other way round.
    place: Int64s
    row: Int64s
    groups: tuple[tuple[str, int, int], ...]
    #: First row of each shard.
    first: Mapping[str, int]
    #: Of all machines in this order, as one text, and where each ends in it (uint32).
    ids: bytes
    id_ends: bytes


class FleetMaps:
    def __init__(self) -> None:
        self._shards: dict[str, FleetMap] = {}
        self._legends: dict[str, _Legend] = {}
        self._layouts: dict[By, Layout] = {}
        self._layout_number = 0

    def __contains__(self, shard: str) -> bool:
        return shard in self._shards

    @property
    def shards(self) -> Sequence[str]:
        return sorted(self._shards)

    @property
    def layouts(self) -> Sequence[By]:
        """Those that someone has asked for."""
        return tuple(self._layouts)

    def version_of(self, shard: str) -> int:
        return self._shards[shard].header.version

    def put(self, shard: str, shown: FleetMap) -> list[MapEvent]:
        """The whole map of a shard; every layout is over."""
        self._shards[shard] = shown
        return self._over()

    def drop(self, shard: str) -> list[MapEvent]:
        """A shard that left the fleet."""
        return self._over() if self._shards.pop(shard, None) is not None else []

    def forget(self) -> None:
        """Nobody looks any more."""
        self._shards, self._layouts = {}, {}

    def regroup(self, by: By) -> list[MapEvent]:
        """Machines that went to other groups go to their places; none: all are at theirs."""
        layout = self._layouts.get(by)
        if layout is None or self._groups(by)[1] == layout.groups:
            return []
        del self._layouts[by]
        return [MapEvent(by, {"by": by, "cycle": self.cycle, "reset": True, "changes": []})]

    def change(self, shard: str, changes: MapChanges, told: ShardEvent) -> list[MapEvent]:
        """What every layout is told; raises ValueError where they do not follow what is known.

        `told`: the event that brought them.
        """
        known = self._shards[shard]
        changed = with_changes(known, changes)
        header = replace(changed.header, cycle=told.cycle, at=told.at)
        changed = replace(changed, header=header)
        self._shards[shard] = changed
        rows = np.frombuffer(changes.rows, "<u4").astype(np.int64)
        numbers = np.frombuffer(changes.columns, np.uint8)
        values = np.frombuffer(changes.values, "<u4").astype(np.int64)
        shown = numbers < len(SHOWN)
        rows, numbers, values = rows[shown], numbers[shown], values[shown]
        if not len(rows):
            return []
        before = {name: len(each.names) for name, each in self._legends.items()}
        values = self._in_fleet_numbers(changed, numbers, values)
        grown = self._grown(before)
        return [
            MapEvent(by, self._told(layout, shard, rows, numbers, values, grown))
            for by, layout in self._layouts.items()
            if shard in layout.first
        ]

    @property
    def cycle(self) -> int:
        return max((each.header.cycle for each in self._shards.values()), default=0)

    # -- bytes -----------------------------------------------------------------------------------

    def layout(self, by: By) -> Layout:
        """Some tenths of a second for a large fleet where it is new."""
        if by not in self._layouts:
            self._layout_number += 1
            row, groups = self._groups(by)
            place = np.empty(len(row), np.int64)
            place[row] = np.arange(len(row))
            sizes = [len(self._shards[name]) for name in self.shards]
            first = dict(zip(self.shards, np.cumsum([0, *sizes]).tolist(), strict=False))
            number, ids = self._layout_number, self._ids(row)
            self._layouts[by] = Layout(by, number, place, row, groups, first, *ids)
        return self._layouts[by]

    def body(self, by: By, sequence: int, warnings: Sequence[str] = ()) -> bytes:
        """uint32 length of the header, header, columns, ends of ids, ids; all from multiples of 4.

        `sequence`: the number of the last event whose changes are in it.
        """
        layout = self.layout(by)
        columns = [self._column(each.name)[layout.row] for each in SHOWN]
        header = self._header(layout, sequence, warnings)
        # Offsets are from the beginning of the answer, which the header is part of: its length is
        # fixed first, with room for numbers of any length.
        room = _padded(len(json_bytes(header)) + 24 * (len(SHOWN) + 2))
        place, parts = 4 + room, []
        header["columns"] = []
        for shown, values in zip(SHOWN, columns, strict=True):
            content = values.tobytes()
            entry = {"name": shown.name, "bytes": shown.width, "offset": place}
            header["columns"].append(entry)
            parts.append(content.ljust(_padded(len(content)), b"\0"))
            place += _padded(len(content))
        header["ids"] = {"offset": place, "length": len(layout.ids)}
        head = json_bytes(header).ljust(room)
        assert len(head) == room, f"a header of {len(head)} bytes in a room for {room}"
        return b"".join((struct.pack("<I", room), head, *parts, layout.id_ends, layout.ids))

    # -- within ----------------------------------------------------------------------------------

    def _over(self) -> list[MapEvent]:
        gone, self._layouts = tuple(self._layouts), {}
        cycle = self.cycle
        return [
            MapEvent(by, {"by": by, "cycle": cycle, "reset": True, "changes": []}) for by in gone
        ]

    def _header(self, layout: Layout, sequence: int, warnings: Sequence[str]) -> dict[str, Any]:
        headers = [self._shards[name].header for name in self.shards]
        legend = {
            told: self._legends[name].names if name in self._legends else []
            for name, told in _NAMED.items()
        }
        return {
            "version": VERSION,
            "by": layout.by,
            "layout": layout.number,
            "sequence": sequence,
            "epoch": max((each.epoch for each in headers), default=0),
            "cycle": self.cycle,
            "atUnixNanos": max((each.at for each in headers), default=0),
            "count": len(layout.row),
            "shards": list(self.shards),
            "groups": [{"name": n, "start": start, "end": end} for n, start, end in layout.groups],
            "legend": legend,
            "columns": [{"name": each.name, "bytes": 4, "offset": 0} for each in SHOWN],
            "ids": {"offset": 0, "length": 0},
            **({"warnings": list(warnings)} if warnings else {}),
        }

    def _column(self, name: str) -> Numbers:
        """Of all shards, one after the other, in numbers of the whole fleet."""
        parts = [
            self._renumbered(name, shown, shown.columns[name])
            for shown in (self._shards[each] for each in self.shards)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, _TYPE_OF[name])

    def _renumbered(self, name: str, shown: FleetMap, values: Numbers) -> Numbers:
        names = next((each.names for each in shown.header.legends if each.column == name), None)
        if names is None:
            return values
        numbers = self._legends.setdefault(name, _Legend()).numbers(names)
        return values if name in _FIXED else numbers.astype(_TYPE_OF[name])[values]

    def _in_fleet_numbers(self, shown: FleetMap, numbers: Numbers, values: Int64s) -> Int64s:
        values = values.copy()
        for column in SHOWN:
            chosen = numbers == _NUMBER_OF[column.name]
            if chosen.any():
                told = values[chosen].astype(_TYPE_OF[column.name])
                values[chosen] = self._renumbered(column.name, shown, told)
        return values

    def _grown(self, before: Mapping[str, int]) -> dict[str, list[str]]:
        """Legends with new names, whole."""
        return {
            _NAMED[name]: each.names
            for name, each in self._legends.items()
            if name in _NAMED and len(each.names) != before.get(name, 0)
        }

    def _told(
        self,
        layout: Layout,
        shard: str,
        rows: Int64s,
        numbers: Numbers,
        values: Int64s,
        grown: dict[str, list[str]],
    ) -> dict[str, Any]:
        index = layout.place[rows + layout.first[shard]]
        changes = np.column_stack((index, numbers.astype(np.int64), values))
        document: dict[str, Any] = {
            "by": layout.by,
            "layout": layout.number,
            "cycle": self.cycle,
            "reset": False,
            "changes": changes.tolist(),
        }
        return {**document, "legend": grown} if grown else document

    def _groups(self, by: By) -> tuple[Int64s, tuple[tuple[str, int, int], ...]]:
        """Rows in the order of a map, and its groups with where each begins and ends."""
        ranks, names = [], []
        for name in _GROUPED[by]:
            column = self._column(name)
            known = self._legends[name].names if name in self._legends else [""]
            order = sorted(range(len(known)), key=known.__getitem__)
            rank = np.empty(len(known), np.int64)
            rank[order] = np.arange(len(known))
            ranks.append(rank[column])
            names.append([known[each] for each in order])
        if not len(ranks[0]):
            return np.zeros(0, np.int64), ()
        width = len(names[-1]) if len(ranks) > 1 else 1
        key = ranks[0] * width + ranks[1] if len(ranks) > 1 else ranks[0]
        row = np.argsort(key, kind="stable")
        ordered = key[row]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1)).tolist()
        ends = [*starts[1:], len(ordered)]
        told = []
        for start, end in zip(starts, ends, strict=True):
            first, second = divmod(int(ordered[start]), width)
            parts = [names[0][first], names[1][second]] if len(names) > 1 else [names[0][first]]
            told.append(("/".join(filter(None, parts)) or "none", start, end))
        return row, tuple(told)

    def _ids(self, rows: Int64s) -> tuple[bytes, bytes]:
        ids = [each for name in self.shards for each in self._shards[name].ids]
        texts = [ids[row].encode() for row in rows.tolist()]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64).astype("<u4")
        return b"".join(texts), ends.tobytes()


def _padded(length: int) -> int:
    return -(-length // 4) * 4
