"""The load test of one shard: cycles, stalls, memory and the way from a roll-up to its Configure.

Shard, provider and operators are three processes on the loopback. The provider does everything at
once, so time between a roll-up and its Configure is the shard's and the line's. Before they start,
this process measures how many Need rows a second one core reads and takes over: rows that are all
new to the reader, then roll-ups with one row changed, which is what clusters send.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from bigfleet.bench.measures import Measure, percentile
from bigfleet.bench.processes import Child, child
from bigfleet.bench.scraping import metrics_page
from bigfleet.bench.shard.fleet import ShardScale, cluster_name, rollup
from bigfleet.bench.shard.operators import Operators
from bigfleet.bench.shard.rails import rail_rows
from bigfleet.bench.timing import unit_ms
from bigfleet.model.ownership import Ownership
from bigfleet.shard.effects import KeptRows
from bigfleet.shard.parts import Parts, ShardStart
from bigfleet.shard.settings import ShardSettings
from bigfleet.wire.rollups import RollupReader


def rows_per_second(scale: ShardScale) -> tuple[float, float]:
    """Of CPU time of this thread: for first roll-ups, and for roll-ups with one row changed."""
    reader = RollupReader()
    settings = ShardSettings()
    start = ShardStart(settings, 1, {}, str, 0, KeptRows(), Ownership(settings.id))
    ingest = Parts(start).ingest
    limit = scale.sessions * scale.rows
    rates = []
    for variant in (0, 1):
        contents = [
            (cluster_name(cluster), rollup(scale, cluster, variant, variant, cluster + 1))
            for cluster in range(scale.sessions)
        ]
        began = time.thread_time()
        for name, content in contents:
            ingest.on_rollup(name, reader.read(content, name, limit), 1)
        rates.append(limit / (time.thread_time() - began))
    return rates[0], rates[1]


def large_rollups(scale: ShardScale) -> ShardScale:
    """As many rows in all, in fewer and larger roll-ups."""
    clusters = max(1, scale.sessions * scale.rows // 1000)
    return replace(scale, sessions=clusters, rows=min(1000, scale.sessions * scale.rows))


FULL = ShardScale(machines=100_000, sessions=5_000, rows=10, rollups_per_second=500, seconds=20)
#: At rest, so that both phases see a comparable number of cycles; 1 s is what a shard is set to.
CYCLE_SECONDS = 0.2
#: What may be lost of a rate while it still counts as offered.
_PACE = 0.9
_HURRY_SECONDS = 0.05
_SCRAPE_SECONDS = 1.0
STATED_FOR = (
    "Budgets are stated for --full on two idle cores with a machine-speed unit of about 65 ms. "
    "Work of the loop is CPU time; what the clock measures holds waits for a processor too."
)
Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ShardHarness:
    """Everything that runs."""

    scale: ShardScale
    shard: Child
    provider: Child
    operators: Operators


async def measured(scale: ShardScale) -> list[Measure]:
    found = [
        Measure("load of the machine before", os.getloadavg()[0], ""),
        Measure("machine-speed unit", unit_ms(), "ms"),
        *_ingest_rows(scale),
    ]
    async with running(scale) as rig:
        found += await _start_rows(rig)
        scraping = asyncio.create_task(_scrape((await rig.shard.ask())["metrics_port"]))
        found += await _cycle_rows(rig)
        found += await _probe_rows(rig)
        found += await rail_rows(rig.shard, rig.operators, scale)
        scraping.cancel()
        found.append(Measure("memory of the shard", rig.shard.resident_bytes() / 2**20, "MB"))
    found.append(Measure("load of the machine after", os.getloadavg()[0], ""))
    return found


@asynccontextmanager
async def running(scale: ShardScale, shard_module: str = "") -> AsyncIterator[ShardHarness]:
    """`shard_module`: of another watched shard than the usual one."""
    modules = "bigfleet.bench.shard"
    given = json.dumps(asdict(scale))
    with tempfile.TemporaryDirectory() as data_dir:
        async with child(f"{modules}.instant_provider", "provider", given) as provider:
            address = f"127.0.0.1:{(await provider.ask())['port']}"
            words = (data_dir, address, json.dumps(CYCLE_SECONDS))
            module = shard_module or f"{modules}.watched_shard"
            async with child(module, "shard", *words) as shard:
                operators = Operators(f"127.0.0.1:{(await shard.ask())['port']}", scale)
                try:
                    yield ShardHarness(scale, shard, provider, operators)
                finally:
                    await operators.close()


async def _scrape(port: int) -> None:
    """Reads the metrics every second, as a scraper does."""
    while True:
        await metrics_page(port)
        await asyncio.sleep(_SCRAPE_SECONDS)


def _ingest_rows(scale: ShardScale) -> list[Measure]:
    first, changed = rows_per_second(scale)
    large, _ = rows_per_second(large_rollups(scale))
    name = "roll-up rows read and taken over, one core"
    return [
        Measure(f"{name}, first ones", first, "1/s", at_least=50_000),
        Measure(f"{name}, large ones", large, "1/s", at_least=50_000),
        Measure(f"{name}, one changed", changed, "1/s", at_least=50_000),
    ]


async def _start_rows(rig: ShardHarness) -> list[Measure]:
    """The first List, and all operators dialling in at once."""
    worst = told = await rig.shard.ask()
    while told["not_ready"] or not told["machines"]:
        await asyncio.sleep(_HURRY_SECONDS)
        told = await rig.shard.ask()
        worst = max(worst, told, key=lambda each: each["work"])
    found = _stall_rows(worst, "first List")
    memory = rig.shard.resident_bytes() / 2**20
    found.append(Measure("memory of the shard, listed, no session", memory, "MB"))
    spent = rig.shard.cpu_seconds()
    await rig.operators.connect()
    worst = told = await rig.shard.ask()
    needs = rig.scale.sessions * rig.scale.rows
    while told["needs"] < needs or told["under_way"]:
        await asyncio.sleep(_HURRY_SECONDS)
        told = await rig.shard.ask()
        worst = max(worst, told, key=lambda each: each["work"])
    cpu = rig.shard.cpu_seconds() - spent
    found += _stall_rows(worst, "all operators dial in")
    return [*found, Measure("all sessions up and reported, CPU", cpu, "s")]


async def _with_a_cycle(shard: Child) -> Told:
    """What the shard tells once it has decided a cycle: on a busy machine that takes longer."""
    while not (told := await shard.ask())["cycles"]:
        await asyncio.sleep(_HURRY_SECONDS)
    return told


async def _cycle_rows(rig: ShardHarness) -> list[Measure]:
    scale, shard, operators = rig.scale, rig.shard, rig.operators
    before = (await shard.ask())["rollups"]
    spent = shard.cpu_seconds()
    await asyncio.sleep(scale.seconds)
    quiet = await _with_a_cycle(shard)
    found = _phase_rows(quiet, "at rest", (shard.cpu_seconds() - spent) / scale.seconds)
    spent = shard.cpu_seconds()
    operators.acknowledged.clear()
    await operators.report_for(scale.seconds, scale.rollups_per_second)
    busy = await _with_a_cycle(shard)
    found += _phase_rows(busy, "with roll-ups", (shard.cpu_seconds() - spent) / scale.seconds)
    taken = (busy["rollups"] - before) / scale.seconds
    least = _PACE * scale.rollups_per_second
    answered = operators.acknowledged
    ratio = percentile(busy["cycles"], 0.99) / max(1e-9, percentile(quiet["cycles"], 0.99))
    return [
        *found,
        Measure("cycle p99 with roll-ups, times that at rest", ratio, ""),
        Measure("roll-ups taken", taken, "1/s", at_least=least),
        Measure("roll-up sent to acknowledged, p50", 1e3 * percentile(answered, 0.5), "ms"),
        Measure("roll-up sent to acknowledged, p99", 1e3 * percentile(answered, 0.99), "ms"),
        Measure("machines asked back", operators.reclaims, "", at_most=0),
    ]


async def _probe_rows(rig: ShardHarness) -> list[Measure]:
    scale, operators = rig.scale, rig.operators
    found: list[Measure] = []
    for when, busy in (("at rest", False), ("with roll-ups", True)):
        await rig.provider.ask()
        sessions = range(scale.sessions)
        asking = sessions[-scale.probes :] if busy else sessions[: scale.probes]
        pace = scale.rollups_per_second if busy else 0.0
        _, sent = await asyncio.gather(
            operators.report_for(scale.seconds, pace), operators.probe(scale.seconds, asking)
        )
        arrived: dict[str, int] = {}
        while len(arrived) < len(sent):
            await asyncio.sleep(_HURRY_SECONDS)
            arrived |= dict((await rig.provider.ask())["configured"])
        took = [(arrived[name] - at) / 1e6 for name, at in sent.items()]
        name = f"roll-up to Configure, {when}"
        found += [
            Measure(f"{name}, p50", percentile(took, 0.5), "ms", at_most=100),
            Measure(f"{name}, p99", percentile(took, 0.99), "ms"),
            *_stall_rows(await rig.shard.ask(), f"{when}, machines moving"),
        ]
    return found


def _phase_rows(told: Told, when: str, cores: float) -> list[Measure]:
    cycles, engine = told["cycles"], told["engine"]
    return [
        Measure(f"cycle p50, {when}", 1e3 * percentile(cycles, 0.5), "ms"),
        Measure(f"cycle p90, {when}", 1e3 * percentile(cycles, 0.9), "ms"),
        Measure(f"cycle p99, {when}", 1e3 * percentile(cycles, 0.99), "ms"),
        Measure(f"engine's CPU per cycle p50, {when}", 1e3 * percentile(engine, 0.5), "ms"),
        Measure(f"engine's CPU per cycle p99, {when}", 1e3 * percentile(engine, 0.99), "ms"),
        Measure(f"cycles, {when}", len(cycles), ""),
        Measure(f"cores the shard used, {when}", cores, ""),
        *_stall_rows(told, when),
    ]


def _stall_rows(told: Told, when: str) -> list[Measure]:
    """What blocked the loop, and on standard error whose work it was."""
    late, work = 1e3 * told["late"], 1e3 * told["work"]
    sys.stderr.write(f"{when}: {work:.0f} ms of work in {told['worker']}\n")
    if told["where"]:
        sys.stderr.write(f"  {late:.0f} ms late in {told['where']}\n")
    for name, seconds, runs in told["pieces"]:
        sys.stderr.write(f"  {seconds:7.2f} s in {runs:8,} x {name}\n")
    return [
        Measure(f"longest work of the loop at a time, {when}", work, "ms", at_most=50),
        Measure("  the loop was late at worst, by the clock", late, "ms"),
        Measure("  longest garbage collection", 1e3 * told["collecting"], "ms"),
    ]
