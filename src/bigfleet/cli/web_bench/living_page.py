"""The page of a living shard: its answers, and what open pages cost the shard's cycles.

The shard is a process of its own, as `bigfleet shard --web-addr` runs it; roll-ups come all the
time. Pages are connections of this process that read the stream with every topic. Blocks with all
of them open and with none take turns, so that a busy machine weighs on both (`bench/paired.py`).
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from math import ceil
from statistics import median

from bigfleet.bench.measures import Measure, percentile
from bigfleet.bench.paired import Round, measures_of, of_percentiles, of_shares, turns
from bigfleet.bench.processes import LoadTestFailed
from bigfleet.bench.shard.fleet import ShardScale
from bigfleet.bench.shard.load import CYCLE_SECONDS, ShardHarness, running

#: One Need in so many asks for machines that there are none of: such rows differ in every cycle.
_ONE_SHORT_IN = 10
_TOPICS = b"overview,decisions,map,needs,costs,alerts"
_HURRY_SECONDS = 0.05
#: Between two requests of a kind: longer than a cycle, so that no answer is the one before.
_PACE_SECONDS = 0.3
#: After pages were opened or closed, before a block begins.
_SETTLE_SECONDS = 1.5
ROUNDS = 6
#: Blocks in the time of a phase.
_BLOCKS_A_PHASE = 5
P95, P99 = 0.95, 0.99


@dataclass(frozen=True, slots=True)
class WebScale:
    #: Of the map.
    machines: int
    #: Of the shard whose pages are open.
    shard_machines: int
    needs: int
    #: Open pages.
    clients: int
    #: How long each answer is asked for.
    seconds: float

    @property
    def shard(self) -> ShardScale:
        sessions = max(1, self.shard_machines // 100)
        rows = ceil(self.needs / sessions)
        short = rows // _ONE_SHORT_IN
        return ShardScale(
            self.shard_machines, sessions, rows - short, min(50.0, sessions), self.seconds, short
        )


FULL = WebScale(500_000, 100_000, 20_000, 50, 20.0)


async def living_rows(scale: WebScale, parts: Collection[str]) -> list[Measure]:
    shard = scale.shard
    async with running(shard, "bigfleet.cli.web_bench.watched_page") as rig:
        told = await rig.shard.ask()
        while told["not_ready"] or not told["machines"]:
            await asyncio.sleep(_HURRY_SECONDS)
            told = await rig.shard.ask()
        await rig.operators.connect()
        while (await rig.shard.ask())["needs"] < shard.sessions * (shard.rows + shard.short):
            await asyncio.sleep(_HURRY_SECONDS)
        port, rows = int(told["web_port"]), []
        if "rest" in parts:
            rows += await _answer_rows(rig, port, scale)
        if "pages" in parts:
            rows += await _page_rows(rig, port, scale)
    return rows


# -- answers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Answer:
    name: str
    path: str
    at_most: float


def _answers(scale: WebScale, shard: str) -> list[_Answer]:
    needs = scale.shard.sessions * (scale.shard.rows + scale.shard.short)
    asked = [2_000, 20_000] if needs > 2_000 else [2_000]
    return [
        _Answer("GET /fleet/overview", "/fleet/overview", 10),
        *(
            _Answer(
                f"GET /needs, {min(limit, needs):,} rows",
                f"/needs?shard={shard}&limit={limit}",
                {2_000: 20, 20_000: 120}[limit],
            )
            for limit in asked
        ),
        _Answer("GET /machines, 200 rows", "/machines?limit=200", 30),
    ]


async def _answer_rows(rig: ShardHarness, port: int, scale: WebScale) -> list[Measure]:
    rows: list[Measure] = []
    shard = scale.shard
    for each in _answers(scale, "shard-0"):
        await rig.shard.ask()
        _, size = await asyncio.gather(
            rig.operators.report_for(scale.seconds, shard.rollups_per_second),
            _ask_for(port, each.path, scale.seconds),
        )
        answers = (await rig.shard.ask())["answers"]
        first, *others = [(took, cpu) for _, took, cpu in answers] or [(0.0, 0.0)]
        took = [1e3 * seconds for seconds, _ in others or [first]]
        cpu = [1e3 * seconds for _, seconds in others or [first]]
        rows += [
            Measure(f"{each.name}, first", 1e3 * first[0], "ms"),
            Measure(f"{each.name}, p50", median(took), "ms"),
            Measure(f"{each.name}, p95", percentile(took, P95), "ms", each.at_most),
            Measure(f"{each.name}, CPU p50", median(cpu), "ms"),
            Measure(f"{each.name}, size", size / 2**10, "KB"),
        ]
    return rows


async def _ask_for(port: int, path: str, seconds: float) -> int:
    """Once a cycle at most; bytes of the last answer."""
    loop, size = asyncio.get_running_loop(), 0
    until = loop.time() + seconds
    while not size or loop.time() < until:
        size = len(await _answer(port, path))
        await asyncio.sleep(max(_PACE_SECONDS, CYCLE_SECONDS))
    return size


async def _answer(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = "GET /api/v1%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try:
        writer.write((head % path).encode())
        content = await reader.read(-1)
    finally:
        writer.close()
    if not content.startswith(b"HTTP/1.1 200 "):
        raise LoadTestFailed(f"the page answered {path} with {content[:200]!r}")
    return content


# -- open pages ----------------------------------------------------------------------------------


class _Pages:
    """Open connections that read."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._readers: list[asyncio.Task[None]] = []
        self.received: list[int] = []

    async def open(self, clients: int) -> None:
        """Returns once each of them was told something."""
        self.received = [0] * clients
        self._readers = [asyncio.create_task(self._read(place)) for place in range(clients)]
        while not all(self.received):
            await asyncio.sleep(_HURRY_SECONDS)

    async def close(self) -> None:
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self._readers = []

    async def _read(self, place: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            head = b"GET /api/v1/stream?topics=%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
            writer.write(head % _TOPICS)
            while piece := await reader.read(2**16):
                self.received[place] += len(piece)
        finally:
            writer.close()


async def _page_rows(rig: ShardHarness, port: int, scale: WebScale) -> list[Measure]:
    pages, seconds = _Pages(port), scale.seconds / _BLOCKS_A_PHASE
    clock, cpu, cores = ([Round() for _ in range(ROUNDS)] for _ in range(3))
    received = 0.0
    for number, is_on in turns(ROUNDS):
        await pages.close()
        await rig.shard.ask("pages forget")
        if is_on:
            await pages.open(scale.clients)
        await rig.operators.report_for(_SETTLE_SECONDS, scale.shard.rollups_per_second)
        await rig.shard.ask()
        spent, before = rig.shard.cpu_seconds(), sum(pages.received)
        await rig.operators.report_for(seconds, scale.shard.rollups_per_second)
        cores[number].of(is_on=is_on).append((rig.shard.cpu_seconds() - spent) / seconds)
        if is_on:
            received = (sum(pages.received) - before) / scale.clients / seconds
        for cost in await _costs(rig):
            clock[number].of(is_on=is_on).append(cost[0])
            cpu[number].of(is_on=is_on).append(cost[1])
    await pages.close()
    what, share = f"{scale.clients} pages", of_shares(cores)
    rows = [*measures_of(what, "CPU", cpu), *measures_of(what, "by the clock", clock)]
    for unit_of, rounds, at_most in (("CPU", cpu, None), ("by the clock", clock, 5)):
        for word, is_on in (("off", False), ("on", True)):
            values = [value for each in rounds for value in each.of(is_on=is_on)]
            name = f"cycle {unit_of} p99, {what} {word}"
            rows.append(Measure(name, 1e3 * percentile(values, P99), "ms"))
        found = of_percentiles(rounds, P99)
        name = f"{what} on beside off, {unit_of} p99"
        rows.append(Measure(name, found.value, "%", at_most, None, found.interval))
    return [
        *rows,
        Measure(f"a core's share for {what}", share.value, "%", 5, None, share.interval),
        Measure("received by a page a second", received / 2**10, "KB"),
    ]


async def _costs(rig: ShardHarness) -> list[list[float]]:
    """Of the cycles of a block, one at least."""
    while not (costs := list((await rig.shard.ask())["costs"])):
        await asyncio.sleep(_HURRY_SECONDS)
    return costs
