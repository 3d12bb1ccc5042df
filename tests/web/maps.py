"""Maps of small shards."""

import json
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bigfleet.model.fleet_maps import FleetMap, column_type
from bigfleet.model.watch_events import MAP_COLUMNS, FleetMapHeader, MapLegend, ShardEvent

STATES = MapLegend("state", ("", "Speculative", "Creating", "Idle"))


def shard_map(
    ids: Sequence[str],
    *,
    version: int = 1,
    zones: Sequence[str] = ("a",),
    clusters: Sequence[str] = ("",),
    **columns: Sequence[int],
) -> FleetMap:
    """Columns that are not given are 0; `zones` and `clusters` name numbers from 0 on."""
    legends = (STATES, MapLegend("zoneIdx", tuple(zones)), MapLegend("clusterIdx", tuple(clusters)))
    header = FleetMapHeader(3, 9, 10, version, len(ids), MAP_COLUMNS, legends)
    made = {
        each.name: np.array(columns.get(each.name, [0] * len(ids)), column_type(each))
        for each in MAP_COLUMNS
    }
    return FleetMap(header, made, list(ids))


def changed(before: FleetMap, **columns: dict[int, int]) -> FleetMap:
    """The next version, with other values at some rows."""
    made = {name: each.copy() for name, each in before.columns.items()}
    for name, values in columns.items():
        for row, value in values.items():
            made[name][row] = value
    header = replace(before.header, version=before.header.version + 1)
    return FleetMap(header, made, before.ids)


def event(cycle: int = 10) -> ShardEvent:
    return ShardEvent(3, cycle, 11)


def read_body(body: bytes) -> tuple[dict[str, Any], dict[str, list[int]], list[str]]:
    """The header, its columns, and ids, as a page reads them."""
    [length] = struct.unpack("<I", body[:4])
    header = json.loads(body[4 : 4 + length])
    count, columns = header["count"], {}
    for each in header["columns"]:
        assert each["offset"] % 4 == 0, "typed arrays of a browser begin at multiples of their size"
        kind = {1: "u1", 2: "<u2", 4: "<u4"}[each["bytes"]]
        columns[each["name"]] = np.frombuffer(body, kind, count, each["offset"]).tolist()
    place = header["ids"]["offset"]
    ends = np.frombuffer(body, "<u4", count, place).tolist()
    text = body[place + 4 * count :]
    assert len(text) == header["ids"]["length"]
    starts = [0, *ends][:count]
    ids = [text[start:end].decode() for start, end in zip(starts, ends, strict=True)]
    return header, columns, ids
