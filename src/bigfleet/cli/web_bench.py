"""`bigfleet bench web`: what the page costs: a map of many machines, and many open pages.

Every time of the map is CPU time of this process. Pages are open connections of this process; the
shard that serves them is one of its own, as `bigfleet shard --web-addr` runs it.
"""

import asyncio
import gzip
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from bigfleet import __version__
from bigfleet.bench.measures import Measure, beside_the_machine, percentile
from bigfleet.bench.shard import watched_shard
from bigfleet.bench.shard.fleet import TYPES, ZONES, ShardScale
from bigfleet.bench.shard.load import ShardHarness, running
from bigfleet.cli.measures import print_measures, prints_measures, run_load_test
from bigfleet.edge.logs import NullLog
from bigfleet.engine.inventory import Inventory
from bigfleet.model.fleet_maps import map_bytes, map_changes, map_of
from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.requirements import RACK_KEY
from bigfleet.model.watch_events import ShardEvent
from bigfleet.process import Process
from bigfleet.shard.watching.map_columns import MapInput, MapMaker
from bigfleet.web.daemon_page import DaemonPage
from bigfleet.web.live.maps import FleetMaps
from bigfleet.web.safety import WebPolicy

BUDGETED_MACHINES, BUDGETED_CLIENTS = 500_000, 50
STATED_FOR = (
    "Budgets are stated for --full on two idle cores: a map within 1.5 s with its way and its "
    "drawing, 5 % of a core for 50 open pages, and 5 % more for the cycle's p99."
)
_TOPICS = b"overview,decisions,map,needs,costs,alerts"
_HURRY_SECONDS = 0.05
#: Of the machines, in the change that is measured.
_CHANGED = 100
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WebScale:
    #: Of the map.
    machines: int
    #: Of the shard whose pages are open.
    shard_machines: int
    clients: int
    #: How long each of the two phases is watched.
    seconds: float


FULL = WebScale(BUDGETED_MACHINES, 100_000, BUDGETED_CLIENTS, 20.0)


@click.command(short_help="Measure the page: a large map, and many open pages.")
@click.option("--machines", type=click.IntRange(100), default=50_000, show_default=True,
              help="On the map.")  # fmt: skip
@click.option("--shard-machines", type=click.IntRange(200), default=5_000, show_default=True,
              help="Of the shard whose pages are open.")  # fmt: skip
@click.option("--clients", type=click.IntRange(1, 256), default=BUDGETED_CLIENTS,
              show_default=True, help="Open pages.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=10.0,
              show_default=True, help="How long each of two phases is watched.")  # fmt: skip
@click.option("--full", is_flag=True,
              help=f"The sizes of the budget: {FULL.machines:,} machines on the map, a "
                   f"shard of {FULL.shard_machines:,}, {FULL.clients} pages.")  # fmt: skip
@prints_measures
def web(machines: int, shard_machines: int, clients: int, seconds: float, full: bool) -> None:
    """Measure what the page costs: a large map, and what open pages cost a shard's cycles.

    Two phases: no page is open, then all of them, each with every topic. The exit code is 0 with
    every verdict, because a busy machine is not a defect.
    """
    scale = FULL if full else WebScale(machines, shard_machines, clients, seconds)
    measures = run_load_test(beside_the_machine(measured(scale)))
    print_measures(measures, STATED_FOR, machines=scale.machines, clients=scale.clients)


async def measured(scale: WebScale) -> list[Measure]:
    return [*map_rows(scale.machines), *await _page_rows(scale)]


# -- the map -------------------------------------------------------------------------------------


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


# -- open pages ----------------------------------------------------------------------------------


async def _page_rows(scale: WebScale) -> list[Measure]:
    sessions = max(1, scale.shard_machines // 100)
    load = ShardScale(scale.shard_machines, sessions, 5, min(50.0, sessions), scale.seconds)
    async with running(load, "bigfleet.cli.web_bench") as rig:
        told = await rig.shard.ask()
        while told["not_ready"] or not told["machines"]:
            await asyncio.sleep(_HURRY_SECONDS)
            told = await rig.shard.ask()
        await rig.operators.connect()
        while (await rig.shard.ask())["needs"] < load.sessions * load.rows:
            await asyncio.sleep(_HURRY_SECONDS)
        closed = await _phase(rig)
        readers = [asyncio.create_task(_read(int(told["web_port"]))) for _ in range(scale.clients)]
        try:
            opened = await _phase(rig)
        finally:
            for reader in readers:
                reader.cancel()
            received = await asyncio.gather(*readers)
    return _compared(closed, opened, received, scale)


@dataclass(frozen=True, slots=True)
class _Phase:
    cycles: Sequence[float]
    cores: float


async def _phase(rig: ShardHarness) -> _Phase:
    seconds = rig.scale.seconds
    await rig.shard.ask()
    spent = rig.shard.cpu_seconds()
    await rig.operators.report_for(seconds, rig.scale.rollups_per_second)
    while not (told := await rig.shard.ask())["cycles"]:
        await asyncio.sleep(_HURRY_SECONDS)
    return _Phase(told["cycles"], (rig.shard.cpu_seconds() - spent) / seconds)


def _compared(
    closed: _Phase, opened: _Phase, received: Sequence[int], scale: WebScale
) -> list[Measure]:
    rows: list[Measure] = []
    for name, phase in (("no page open", closed), (f"{scale.clients} pages open", opened)):
        rows += [
            Measure(f"cycle p50, {name}", 1e3 * percentile(phase.cycles, 0.5), "ms"),
            Measure(f"cycle p99, {name}", 1e3 * percentile(phase.cycles, 0.99), "ms"),
            Measure(f"cores the shard used, {name}", phase.cores, ""),
        ]
    ratio = percentile(opened.cycles, 0.99) / max(1e-9, percentile(closed.cycles, 0.99))
    share = 100 * (opened.cores - closed.cores)
    return [
        *rows,
        Measure("cycle p99 with pages, times that without", ratio, "", at_most=1.05),
        Measure("a core's share for all pages", share, "%", at_most=5),
        Measure("received by a page", sum(received) / len(received) / 2**10, "KB"),
    ]


async def _read(port: int) -> int:
    """Bytes of the stream until it is cancelled."""
    total = 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = b"GET /api/v1/stream?topics=%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
        writer.write(head % _TOPICS)
        while piece := await reader.read(2**16):
            total += len(piece)
    except asyncio.CancelledError:
        # The phase is over.
        return total
    finally:
        writer.close()
    return total


# -- the shard's process -------------------------------------------------------------------------


def main() -> None:
    """A watched shard that serves its page; the arguments are those of any."""
    watched_shard.main(_page)


def _page(process: Process) -> Any:
    address = "127.0.0.1:0"
    return DaemonPage(process, address, WebPolicy(), None, None, NullLog(), __version__)
