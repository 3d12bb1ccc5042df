"""`bigfleet provider bench`: what a provider on the SDK costs on this machine.

Server and clients are processes of their own on the same machine, as in the budget this is compared
with (docs name it). Times also come in the machine-speed unit, because absolute ones do not travel.
"""

import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bigfleet.cli.terminal import write_out

if TYPE_CHECKING:
    from bigfleet.wire.provider_client import ProviderClient

CLIENTS = 16
GETS, MUTATIONS, LONE_MUTATIONS = 200, 2000, 300
PAGE = 4096
Call = Callable[["ProviderClient"], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    value: float
    unit: str
    #: At 100,000 machines on the reference box; empty where there is none.
    budget: str = ""


@click.command()
@click.option("--machines", type=click.IntRange(MUTATIONS + LONE_MUTATIONS), default=100_000)
@click.option("--store", type=click.Choice(["memory", "sqlite"]), default="sqlite")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def bench(machines: int, store: str, output: str) -> None:
    """Measure Lists, Gets, mutations, start and memory of a provider on a fake substrate."""
    measures = asyncio.run(_measured(machines, store))
    if output == "json":
        rows = {m.name: {"value": m.value, "unit": m.unit, "budget": m.budget} for m in measures}
        write_out(json.dumps({"machines": machines, "store": store, "measures": rows}).encode())
        return
    for m in measures:
        click.echo(f"{m.name:44} {m.value:10.1f} {m.unit:8} {m.budget}")


async def _measured(machines: int, store: str) -> list[Measure]:
    from bigfleet.bench.speed_unit import unit_ms

    with tempfile.TemporaryDirectory() as folder:
        state = [] if store == "memory" else [f"--state={folder}/state.db"]
        found = []
        async with _provider(machines, state) as (port, pid, seconds):
            found.append(Measure("first start", seconds, "s"))
            found += await _clients(port, machines, store)
            found.append(Measure("memory per machine", _rss(pid) / machines, "bytes", "<= 4096"))
        if state:
            async with _provider(machines, state) as (_, _, seconds):
                found.append(Measure("start with the stored fleet", seconds, "s", "<= 5"))
        found.append(Measure("machine-speed unit", unit_ms(), "ms"))
        return found


@asynccontextmanager
async def _provider(machines: int, state: list[str]) -> AsyncIterator[tuple[int, int, float]]:
    """Port, process id, and how long it took to come up."""
    words = (
        "provider run bigfleet.provider.testing:FakeSubstrate --addr=127.0.0.1:0 --metrics-addr= "
        f"--seed-count={machines} --reconcile-interval=1h"
    )
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from bigfleet.cli.main import main; main()",
        *words.split(),
        *state,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    port = 0
    while not port and (line := await process.stderr.readline()):
        if b'"provider.started"' in line:
            port = int(json.loads(line)["port"])
    seconds = time.perf_counter() - began
    draining = asyncio.create_task(_drained(process.stderr))
    try:
        if not port:
            raise click.ClickException("the provider did not start")
        yield port, process.pid, seconds
    finally:
        process.kill()
        await process.wait()
        await draining


async def _drained(stream: asyncio.StreamReader) -> None:
    while await stream.read(65536):
        pass


def _rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


async def _clients(port: int, machines: int, store: str) -> list[Measure]:
    from bigfleet.wire.provider_client import ProviderClient

    clients = [ProviderClient(f"127.0.0.1:{port}") for _ in range(CLIENTS)]
    for client in clients:
        await client.connected()
    reads, revision = await _reads(clients[0])
    writes = await _under_load(clients, machines, revision, fast=store == "memory")
    for client in clients:
        await client.close()
    return [*reads, *writes]


async def _reads(client: "ProviderClient") -> tuple[list[Measure], bytes]:
    """Lists of a quiet fleet, and the revision they end at."""
    from bigfleet.model.machines import MachineState
    from bigfleet.model.provider_calls import ListCall
    from bigfleet.wire.machines import list_of

    whole = 1e3 * min([await _timed(client.list_bytes()) for _ in range(4)])
    content = await client.list_bytes()
    began = time.perf_counter()
    _, revision = list_of(content)
    decoding = 1e3 * (time.perf_counter() - began)
    one = ListCall((MachineState.SPECULATIVE,), 1)
    capped = 1e3 * statistics.median([await _timed(client.list_bytes(one)) for _ in range(100)])
    return [
        Measure("full List, bytes at the client", whole, "ms", "<= 160"),
        Measure("full List, decoded into records", whole + decoding, "ms"),
        Measure("capped filtered List, 1 record", capped, "ms", "<= 3"),
    ], revision


async def _under_load(
    clients: "list[ProviderClient]", machines: int, revision: bytes, *, fast: bool
) -> list[Measure]:
    from bigfleet.model.provider_calls import CreateCall, ListCall, Token

    chance = random.Random(1)
    names = [_name(chance.randrange(machines), machines) for _ in range(CLIENTS * GETS)]
    gets, _ = await _load(clients, [lambda c, n=n: c.get(n) for n in names])  # type: ignore[misc]

    def create(number: int) -> Call:
        call = CreateCall(_name(number, machines), Token("bench", 1, number + 1))
        return lambda client: client.create(call)

    acks, rate = await _load(clients, [create(n) for n in range(MUTATIONS)])
    delta = await _timed(clients[0].list_bytes(ListCall(since_revision=revision)))
    lone = [create(n) for n in range(MUTATIONS, MUTATIONS + LONE_MUTATIONS)]
    _, lone_rate = await _load(clients[:1], lone)
    return [
        Measure("Get, 16 clients, p99", 1e3 * _p99(gets), "ms", "<= 15"),
        Measure("mutations, 16 clients", rate, "1/s", ">= 1,500" if fast else ">= 1,000"),
        Measure("mutations, 16 clients, p99", 1e3 * _p99(acks), "ms", "<= 40" if fast else "<= 60"),
        Measure("mutations, one client", lone_rate, "1/s", "" if fast else ">= 300"),
        Measure(f"delta of {MUTATIONS} machines", 1e3 * delta, "ms", "<= 15 (1,000)"),
    ]


def _name(number: int, machines: int) -> str:
    """As the fake substrate names its on-demand slots."""
    return f"m-{number % (machines - machines // 3)}"


async def _timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def _load(clients: "list[ProviderClient]", calls: "list[Call]") -> tuple[list[float], float]:
    """The time of each call, and how many a second all clients together made."""
    waiting, times = iter(calls), []

    async def work(client: "ProviderClient") -> None:
        for call in waiting:
            times.append(await _timed(call(client)))

    seconds = await _timed(asyncio.gather(*(work(client) for client in clients)))
    return times, len(times) / seconds


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]
