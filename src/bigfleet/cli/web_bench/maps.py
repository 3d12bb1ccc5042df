"""A map of many machines, from the shard's columns to what a browser gets; nothing else runs."""

import gzip
import time
from collections.abc import Callable
from typing import TypeVar

from bigfleet.bench.measures import Measure
from bigfleet.bench.shard.fleet import TYPES, ZONES
from bigfleet.engine.inventory import Inventory
from bigfleet.model.fleet_maps import map_bytes, map_changes, map_of
from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.requirements import RACK_KEY
from bigfleet.model.watch_events import ShardEvent
from bigfleet.shard.watching.map_columns import MapInput, MapMaker
from bigfleet.web.live.maps import FleetMaps

#: One machine in so many is another in the change that is measured: 5,000 of 500,000.
_CHANGED = 100
T = TypeVar("T")


def map_rows(machines: int) -> list[Measure]:
    inventory, maker, spent = _inventory(machines), MapMaker(), _Spent()
    before = _seen(inventory)
    first = spent.on("map of a shard, from nothing", lambda: maker.make(before))
    for number in range(0, machines, _CHANGED):
        inventory.apply(_machine(number, MachineState.CREATING), now=2)
    seen = _seen(inventory)
    after = spent.on("map of a shard, 1 % changed", lambda: maker.make(seen))
    changes = spent.on("its changes", lambda: map_changes(first, after))
    data = spent.on("map as bytes", lambda: map_bytes(after))
    shown = spent.on("map read by the page's server", lambda: map_of(first.header, data))
    maps = FleetMaps()
    maps.put("shard-0", shown)
    body = spent.on("body of /fleet/map, a new layout", lambda: maps.body("zone", 1))
    spent.on("body of /fleet/map, the same layout", lambda: maps.body("zone", 1))
    spent.on("changes as an event", lambda: maps.change("shard-0", changes, ShardEvent(1, 2, 3)))
    packed = spent.on("compressing it", lambda: gzip.compress(body, 1))
    sizes = (("body of /fleet/map", body), ("the same, compressed", packed))
    return [
        *spent.rows,
        *(Measure(f"size of {name}", len(each) / 2**20, "MB") for name, each in sizes),
    ]


class _Spent:
    """CPU time of one step after the other."""

    def __init__(self) -> None:
        self.rows: list[Measure] = []

    def on(self, name: str, work: Callable[[], T]) -> T:
        before = time.process_time()
        done = work()
        self.rows.append(Measure(f"{name}, CPU", 1e3 * (time.process_time() - before), "ms"))
        return done


def _inventory(machines: int) -> Inventory:
    inventory = Inventory()
    for number in range(machines):
        inventory.insert(_machine(number, MachineState.SPECULATIVE), source="bench")
    return inventory


def _machine(number: int, state: MachineState) -> Machine:
    zone = ZONES[number % len(ZONES)]
    return Machine(
        f"m-{number:06}",
        state,
        CapacityType.SPOT,
        instance_type=TYPES[number % len(TYPES)],
        zone=zone,
        labels={RACK_KEY: f"{zone}-r{number % 97}"},
        price_per_hour=0.1 + number % 7 / 10,
    )


def _seen(inventory: Inventory) -> MapInput:
    return MapInput(inventory.snapshot(), {}, lambda _: 1, 1, 1, 1)
