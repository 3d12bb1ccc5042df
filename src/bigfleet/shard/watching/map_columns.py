"""The machines of a snapshot as columns of a map, straight from the inventory's own.

What machines share (type, zone, rack, price) is looked up once per offering, not per machine. Names
get numbers that stay: a change of one machine is then a change of one number, also after the
inventory has numbered its own tables anew.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.kernels.compiled import Int32s, Int64s
from bigfleet.engine.snapshot import Snapshot, Tables
from bigfleet.model.batches import Offering
from bigfleet.model.fleet_maps import FleetMap, Numbers, column_type
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import RACK_KEY
from bigfleet.model.watch_events import (
    HELD,
    MAP_COLUMNS,
    OVERDUE,
    RESERVED,
    FleetMapHeader,
    MapLegend,
)

#: The highest price that fits: some four thousand dollars an hour.
_MOST_MICROS = 2**32 - 1
#: Dollars per hour up to which each bucket goes; the last has no end.
PRICES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_FIXED = (
    MapLegend("state", tuple("" if not state else state.label for state in MachineState)),
    MapLegend("capacityType", tuple("" if not each else each.label for each in CapacityType)),
    MapLegend("priceBucket", (*(f"{price:g}" for price in PRICES), "more")),
)
_OTHERS = "others"
_TYPE_OF = {each.name: column_type(each) for each in MAP_COLUMNS}


@dataclass(frozen=True, slots=True)
class MapInput:
    """What a map is made from; nothing of it changes any more but `since`, which may be read."""

    snapshot: Snapshot
    reservations: Mapping[str, Reservation]
    #: When a machine came into its state; 0: unknown.
    since: Callable[[str], Instant]
    epoch: int
    cycle: int
    at: Instant


class Names:
    """Numbers for names, from 1 on; 0 is none. The last number stands for all that have no own."""

    def __init__(self, column: str, most: int) -> None:
        self.column = column
        self._most = most
        self._number_of: dict[str, int] = {"": 0}

    def number(self, name: str) -> int:
        found = self._number_of.get(name)
        if found is not None:
            return found
        if len(self._number_of) >= self._most:
            return self._number_of.setdefault(_OTHERS, self._most)
        return self._number_of.setdefault(name, len(self._number_of))

    def numbers(self, names: Iterable[str]) -> Int64s:
        """With 0 at the end, for those who have none and look at -1."""
        return np.array([*map(self.number, names), 0], np.int64)

    def legend(self) -> MapLegend:
        return MapLegend(self.column, tuple(self._number_of))


class OfferingNumbers:
    """Type, zone, rack, price bucket and price of every row of a table of offerings."""

    def __init__(self, types: Names, zones: Names, racks: Names) -> None:
        self._names = (types, zones, racks)
        self._tables: Tables | None = None
        self.columns: Int64s = np.zeros((0, 5), np.int64)

    def look_at(self, tables: Tables) -> Int64s:
        """A row per offering; only new ones are looked at."""
        rows = tables.offerings.table.rows
        if tables is not self._tables:
            self._tables, self.columns = tables, np.zeros((0, 5), np.int64)
        done, total = len(self.columns), len(rows)
        if done < total:
            fresh = np.array([self._numbers(each) for each in rows[done:total]], np.int64)
            self.columns = np.concatenate((self.columns, fresh))
        return self.columns

    def _numbers(self, offering: Offering) -> tuple[int, int, int, int, int]:
        types, zones, racks = self._names
        rack = next((value for key, value in offering.labels if key == RACK_KEY), "")
        price = int(np.searchsorted(PRICES, offering.price_per_hour))
        return (
            types.number(offering.instance_type),
            zones.number(offering.zone),
            racks.number(rack),
            price,
            min(round(offering.price_per_hour * 1_000_000), _MOST_MICROS),
        )


class MapMaker:
    """Makes one map after the other; called by one thread at a time."""

    def __init__(self, real_of: Callable[[Instant], Instant] | None = None) -> None:
        """`real_of`: what people's watches show at an instant of the shard; None: the same."""
        self._real_of = real_of
        self._clusters = Names("clusterIdx", 2**16 - 1)
        self._types = Names("typeIdx", 2**16 - 1)
        self._zones = Names("zoneIdx", 2**16 - 1)
        self._racks = Names("rackIdx", 2**16 - 1)
        self._providers = Names("providerIdx", 2**16 - 1)
        self._priorities = Names("priorityClass", 2**8 - 1)
        self._offerings = OfferingNumbers(self._types, self._zones, self._racks)
        self._version = 0
        self.last: FleetMap | None = None

    def make(self, seen: MapInput) -> FleetMap:
        columns = self._columns(seen)
        self._version += 1
        self.last = FleetMap(self._header(seen, self._version), columns, seen.snapshot.ids)
        return self.last

    def of_past(self, seen: MapInput) -> FleetMap:
        """One that no other follows: of a past cycle."""
        columns = self._columns(seen, past=True)
        return FleetMap(self._header(seen, 0), columns, seen.snapshot.ids)

    # -- within ----------------------------------------------------------------------------------

    def _header(self, seen: MapInput, version: int) -> FleetMapHeader:
        names = (
            *(self._clusters, self._types, self._zones),
            *(self._racks, self._providers, self._priorities),
        )
        legends = (*_FIXED, *(each.legend() for each in names))
        count = len(seen.snapshot)
        return FleetMapHeader(seen.epoch, seen.cycle, seen.at, version, count, MAP_COLUMNS, legends)

    def _columns(self, seen: MapInput, *, past: bool = False) -> dict[str, Numbers]:
        snapshot = seen.snapshot
        live, tables = snapshot.columns, snapshot.tables
        offered = self._offerings.look_at(tables)
        # What a number stands for is looked up in a small table of the column's own type: a large
        # array is made once per column and never widened.
        looked_up: dict[str, tuple[Int64s, Int32s]] = {
            "capacityType": (snapshot.offerings.capacity_type.astype(np.int64), live.offering),
            "clusterIdx": (self._clusters.numbers(tables.clusters.rows), live.cluster),
            "typeIdx": (offered[:, 0], live.offering),
            "zoneIdx": (offered[:, 1], live.offering),
            "rackIdx": (offered[:, 2], live.offering),
            "priceBucket": (offered[:, 3], live.offering),
            "priceMicros": (offered[:, 4], live.offering),
            "priorityClass": (self._classes(snapshot), live.stamp),
            "providerIdx": (self._providers.numbers(tables.sources.rows), live.source),
        }
        columns: dict[str, Numbers] = {
            name: table.astype(_TYPE_OF[name])[rows] for name, (table, rows) in looked_up.items()
        }
        columns["priorityClass"][live.cluster < 0] = 0
        columns["state"] = live.state.astype(np.uint8)
        columns["flags"] = _flags(seen)
        unknown = np.zeros(len(snapshot), _TYPE_OF["sinceSeconds"])
        columns["sinceSeconds"] = unknown if past else self._since(seen, columns["state"])
        return columns

    def _classes(self, snapshot: Snapshot) -> Int64s:
        """By stamp: the number of its priority."""
        distinct, place = np.unique(snapshot.stamps.priority[1:], return_inverse=True)
        number = self._priorities.numbers(map(str, distinct.tolist()))
        # The first stamp is the empty one.
        return np.concatenate(([0], number[place]))

    def _since(self, seen: MapInput, state: Numbers) -> Numbers:
        """Looked up only for machines that are new or in another state than before."""
        before, ids = self.last, seen.snapshot.ids
        if before is None or before.ids is not ids:
            return self._looked_up(seen, ids)
        changed = np.flatnonzero(before.columns["state"] != state)
        if not len(changed):
            return before.columns["sinceSeconds"]
        since = before.columns["sinceSeconds"].copy()
        since[changed] = self._looked_up(seen, [ids[row] for row in changed.tolist()])
        return since

    def _looked_up(self, seen: MapInput, ids: Sequence[str]) -> Numbers:
        found: Iterable[Instant] = map(seen.since, ids)
        if (real_of := self._real_of) is not None:
            found = (real_of(instant) if instant else 0 for instant in found)
        nanos: Int64s = np.fromiter(found, np.int64, len(ids))
        return (nanos // SECOND).astype("<u4")


def _flags(seen: MapInput) -> Numbers:
    live = seen.snapshot.columns
    flags = (live.held > 0) * np.uint8(HELD) + live.overdue * np.uint8(OVERDUE)
    for machine in seen.reservations:
        row = seen.snapshot.row_of(machine)
        if row >= 0:
            flags[row] |= RESERVED
    return flags
