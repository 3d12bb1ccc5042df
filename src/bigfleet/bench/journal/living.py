"""A living shard of the shape: its cycles with the journal on and off, with the ledger of costs on
and off, and beside two what-ifs; and how soon it answers why over its admin RPC.

The shard is a process of its own (`settled_shard.py`) on the loopback. Blocks of its cycles take
turns (`bench/paired.py`); the first cycle of a block belongs to none, since what came before the
switch still weighs on it.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random
from statistics import mean
from time import perf_counter
from typing import Any

from bigfleet.bench.engine.workload import EngineWorkload, Shape
from bigfleet.bench.journal.churning_fleet import SEED
from bigfleet.bench.measures import Measure, Say, percentile
from bigfleet.bench.paired import Round, measures_of, of_percentiles, turns
from bigfleet.bench.processes import Child, child
from bigfleet.model.explanations import ExplainNeedCall
from bigfleet.model.needs import NeedKey
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.what_if import WhatIfCall
from bigfleet.whatif.overlay_text import edit_of
from bigfleet.wire.shard_admin import ShardAdminClient

#: Cycles of a block that are measured.
BLOCK = 5
#: The writer is done before the next one; 1 s is what a shard is set to.
CYCLE_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
#: Of what-ifs at a time; a shard takes no more.
AT_ONCE = 2
#: Questions about the past are asked one by one: each reads the journal.
FEW = 5
#: How far back.
PAST_CYCLES = 20

Switch = Callable[[bool], Awaitable[None]]


async def lived(shape: Shape, scale: float, cycles: int, questions: int, say: Say) -> list[Measure]:
    workload = shape.build(scale)
    rounds = max(1, cycles // (2 * BLOCK))
    async with _running(shape, scale) as (shard, people):
        # First, while every cycle so far is in the journal.
        found = await _question_rows(shard, people, workload, questions, say)
        found += await _journal_rows(shard, rounds, say)
        found += await _cost_rows(shard, rounds, say)
        found += await _what_if_rows(shard, people, workload, rounds, say)
        found.append(Measure("memory of the shard", shard.resident_bytes() / 2**20, "MB"))
    return found


@asynccontextmanager
async def _running(shape: Shape, scale: float) -> AsyncIterator[tuple[Child, ShardAdminClient]]:
    with tempfile.TemporaryDirectory() as data_dir:
        words = (data_dir, shape.name, str(scale), str(CYCLE_SECONDS))
        async with child("bigfleet.bench.journal.settled_shard", "shard", *words) as shard:
            told = await shard.ask()
            while told["cycle"] < 2:
                await asyncio.sleep(CYCLE_SECONDS)
                told = await shard.ask()
            address = f"127.0.0.1:{told['port']}"
            async with ShardAdminClient(address, deadline=PATIENCE_SECONDS) as people:
                yield shard, people


async def _alternated(
    shard: Child, rounds: int, switch: Switch, say: Say, what: str
) -> list[list[list[Any]]]:
    """Costs of each round's cycles: those with it off, those with it on."""
    found: list[list[list[Any]]] = [[[], []] for _ in range(rounds)]
    for block, (number, is_on) in enumerate(turns(rounds)):
        say(f"{what}, block {block + 1} of {4 * rounds}")
        await switch(is_on)
        await shard.ask()
        costs: list[Any] = []
        while len(costs) <= BLOCK:
            await asyncio.sleep(CYCLE_SECONDS)
            costs += (await shard.ask())["costs"]
        found[number][is_on] += costs[1:]
    return found


def _rounds(costs: Sequence[Sequence[Sequence[Any]]], place: int) -> list[Round]:
    """Of seconds, CPU seconds or page faults."""
    return [Round([cost[place] for cost in off], [cost[place] for cost in on]) for off, on in costs]


async def _journal_rows(shard: Child, rounds: int, say: Say) -> list[Measure]:
    async def switch(is_on: bool) -> None:
        await shard.ask("journal on" if is_on else "journal off")

    costs = await _alternated(shard, rounds, switch, say, "journal on and off")
    await switch(True)
    faults = _rounds(costs, 2)
    return [
        *measures_of("journal", "CPU", _rounds(costs, 1), 3),
        *measures_of("journal", "by the clock", _rounds(costs, 0), 3),
        Measure("page faults of a cycle, journal off", _mean(faults, is_on=False), ""),
        Measure("page faults of a cycle, journal on", _mean(faults, is_on=True), ""),
    ]


async def _cost_rows(shard: Child, rounds: int, say: Say) -> list[Measure]:
    """On, what each cycle costs is looked at: a shard does it every ten seconds."""

    async def switch(is_on: bool) -> None:
        await shard.ask("costs on" if is_on else "costs off")

    costs = await _alternated(shard, rounds, switch, say, "ledger of costs on and off")
    await shard.ask("costs as usual")
    return [
        *measures_of("ledger of costs", "CPU", _rounds(costs, 1), 3),
        *measures_of("ledger of costs", "by the clock", _rounds(costs, 0), 3),
    ]


def _mean(rounds: Sequence[Round], *, is_on: bool) -> float:
    return mean(value for each in rounds for value in each.of(is_on=is_on))


async def _question_rows(
    shard: Child, people: ShardAdminClient, workload: EngineWorkload, questions: int, say: Say
) -> list[Measure]:
    """Cycles go on meanwhile, so most questions are the first about their cycle."""
    keys = _some_needs(workload, questions)
    latest = []
    for number, key in enumerate(keys):
        say(f"question {number + 1} of {len(keys)} asked over RPC")
        latest.append(await _seconds(people.explain_need(ExplainNeedCall(key))))
    while (cycle := (await shard.ask())["cycle"]) <= PAST_CYCLES + FEW:
        await asyncio.sleep(CYCLE_SECONDS)
    past = []
    for number, key in enumerate(keys[:FEW]):
        say(f"question {number + 1} of {FEW} about a past cycle asked over RPC")
        call = ExplainNeedCall(key, cycle - PAST_CYCLES - number)
        past.append(await _seconds(people.explain_need(call)))
    return [
        Measure("why a Need over RPC, latest cycle, p50", 1e3 * percentile(latest, 0.5), "ms"),
        Measure(
            "why a Need over RPC, latest cycle, p95", 1e3 * percentile(latest, 0.95), "ms", 300
        ),
        Measure("why a Need over RPC, past cycle, p95", percentile(past, 0.95), "s", 3),
    ]


async def _what_if_rows(
    shard: Child, people: ShardAdminClient, workload: EngineWorkload, rounds: int, say: Say
) -> list[Measure]:
    zone = min(offering.zone for batch in workload.batches for offering in batch.offerings)
    asking = _Asking(people, WhatIfCall(edits=(edit_of("zone-loss", zone),)))
    # Its processes are started once, by the first question of each.
    await asking.switch(True)
    await asking.switch(False)
    asking.seconds.clear()
    costs = await _alternated(shard, rounds, asking.switch, say, "what-ifs on and off")
    await asking.switch(False)
    cpu, clock = _rounds(costs, 1), _rounds(costs, 0)
    beside = f"{AT_ONCE} what-ifs"
    p99, p99_cpu = of_percentiles(clock, 0.99), of_percentiles(cpu, 0.99)
    return [
        *measures_of(beside, "CPU", cpu),
        *measures_of(beside, "by the clock", clock),
        Measure(f"cycle p99 beside {beside}, CPU", p99_cpu.value, "%", 5, None, p99_cpu.interval),
        Measure(f"cycle p99 beside {beside}, by the clock", p99.value, "%", 5, None, p99.interval),
        Measure("what-ifs that were answered meanwhile", len(asking.seconds), ""),
        Measure("what-ifs that took too long", asking.refused, ""),
        Measure("a what-if over RPC, p95", percentile(asking.seconds, 0.95), "s"),
    ]


class _Asking:
    """As many what-ifs as a shard takes, one after the other, while it is on."""

    def __init__(self, people: ShardAdminClient, call: WhatIfCall) -> None:
        self._people = people
        self._call = call
        self._is_on = False
        self._tasks: list[asyncio.Task[None]] = []
        #: How long each took that was answered, and how many were refused: on a busy machine a
        #: process of low priority may not end in time.
        self.seconds: list[float] = []
        self.refused = 0

    async def switch(self, is_on: bool) -> None:
        """Off: returns when the last ones are answered."""
        self._is_on = is_on
        if not is_on:
            tasks, self._tasks = self._tasks, []
            await asyncio.gather(*tasks)
        elif not self._tasks:
            self._tasks = [asyncio.create_task(self._ask()) for _ in range(AT_ONCE)]
            # Until a question is with its process.
            await asyncio.sleep(CYCLE_SECONDS)

    async def _ask(self) -> None:
        while self._is_on:
            try:
                self.seconds.append(await _seconds(self._people.what_if(self._call)))
            except Rejected:
                self.refused += 1


def _some_needs(workload: EngineWorkload, count: int) -> list[NeedKey]:
    chance, clusters = Random(SEED), sorted(workload.needs)
    found = []
    for _ in range(count):
        need = chance.choice(workload.needs[chance.choice(clusters)])
        found.append(NeedKey(need.cluster, need.profile.fingerprint, need.group))
    return found


async def _seconds(asked: Awaitable[object]) -> float:
    began = perf_counter()
    await asked
    return perf_counter() - began
