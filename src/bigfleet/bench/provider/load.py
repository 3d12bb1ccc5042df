"""What a provider on the SDK costs on this machine, beside its budget.

Server and clients are processes of their own on one machine, as in the budget. Times do not travel
between machines, so the machine-speed unit and the load of the machine are printed with them.
"""

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bigfleet.bench.measures import Measure
from bigfleet.bench.provider.clients import Listing, Load, Rate
from bigfleet.bench.provider.process import RunningProvider, running_provider
from bigfleet.bench.timing import unit_ms

#: The size of fleet the budgets are stated for, and of the smaller one.
BUDGETED, SMALLER = 100_000, 20_000
CHANGES = 1000
STATED_FOR = (
    f"Budgets are stated for {BUDGETED:,} machines on two idle cores with a machine-speed unit of "
    "about 65 ms."
)


async def measured(machines: int, store: str) -> list[Measure]:
    found = [
        Measure("load of the machine before", os.getloadavg()[0], ""),
        Measure("machine-speed unit", unit_ms(), "ms"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        state = None if store == "memory" else Path(folder, "state.db")
        found += await _whole(machines, state)
        if state is not None:
            async with _loaded(machines, state) as (provider, _):
                found.append(
                    Measure("start with the stored fleet", provider.start_seconds, "s", at_most=5)
                )
    if store == "both":
        async with _loaded(machines, None) as (_, load):
            found += _mutation_rows(await load.mutations(), "memory")
    async with _loaded(SMALLER, None) as (_, load):
        small = await load.lists()
        name = f"full List of {SMALLER:,}, decoded into columns"
        found.append(Measure(name, 1e3 * small.into_columns, "ms", at_most=80))
    return found


@asynccontextmanager
async def _loaded(machines: int, state: Path | None) -> AsyncIterator[tuple[RunningProvider, Load]]:
    async with running_provider(machines, state) as provider:
        load = Load(provider, machines)
        try:
            await load.connected()
            yield provider, load
        finally:
            await load.close()


async def _whole(machines: int, state: Path | None) -> list[Measure]:
    """Every row that one provider can give."""
    async with _loaded(machines, state) as (provider, load):
        found = [Measure("first start", provider.start_seconds, "s")]
        await provider.longest_stall()
        found += _list_rows(await load.lists(), machines)
        found += [
            Measure("capped filtered List, 1 record", 1e3 * await load.capped(), "ms", at_most=3),
            Measure("Get, 16 clients, p99", 1e3 * await load.gets(), "ms", at_most=15),
            Measure(
                "Get, 16 clients, p99, beside full Lists",
                1e3 * await load.gets_beside_lists(),
                "ms",
            ),
            Measure(f"delta of {CHANGES:,}", 1e3 * await load.delta(CHANGES), "ms", at_most=15),
        ]
        found += _mutation_rows(await load.mutations(), "SQLite" if state else "memory")
        if state is not None:
            found.append(
                Measure(
                    "mutations, SQLite, one client", await load.lone_mutations(), "1/s", None, 300
                )
            )
        found += _stall_rows(await provider.longest_stall(), "so far")
        found += await _reconcile_rows(provider, load)
        each = provider.resident_bytes() / machines
        found.append(Measure("memory per machine", each, "bytes", at_most=4096))
        return found


def _list_rows(lists: Listing, machines: int) -> list[Measure]:
    name = f"full List of {machines:,} ({lists.size / 1e6:.1f} MB)"
    return [
        Measure(f"{name}, server CPU", 1e3 * lists.server_cpu, "ms", at_most=100),
        Measure(f"{name}, bytes at the client", 1e3 * lists.bytes_at_client, "ms", at_most=160),
        Measure(f"{name}, decoded into columns", 1e3 * lists.into_columns, "ms", at_most=400),
        Measure("the same, decoded into records", 1e3 * lists.into_records, "ms"),
        Measure("the same, taken over into an inventory", 1e3 * lists.into_inventory, "ms"),
        Measure("the same, when nothing has changed", 1e3 * lists.unchanged, "ms"),
    ]


def _mutation_rows(rate: Rate, store: str) -> list[Measure]:
    name, durable = f"mutations, {store}, 16 clients", store == "SQLite"
    return [
        Measure(
            f"{name}, median of rounds", rate.per_second, "1/s", None, 1000 if durable else 1500
        ),
        Measure(f"{name}, slowest round", rate.slowest, "1/s"),
        Measure(f"{name}, fastest round", rate.fastest, "1/s"),
        Measure(f"{name}, ack p99", 1e3 * rate.p99, "ms", at_most=60 if durable else 40),
    ]


async def _reconcile_rows(provider: RunningProvider, load: Load) -> list[Measure]:
    await load.settled()
    await provider.reconciled()  # takes over what the mutations left to be seen
    await provider.longest_stall()
    revision, spent = await load.revision(), provider.cpu_seconds()
    await provider.reconciled()
    cpu = provider.cpu_seconds() - spent
    stall = await provider.longest_stall()
    moved = float(await load.revision() != revision)
    return [
        Measure("reconcile of an unchanged fleet, CPU", cpu, "s", at_most=2),
        Measure("reconcile of an unchanged fleet, revisions moved", moved, "", at_most=0),
        *_stall_rows(stall, "in a reconcile"),
    ]


def _stall_rows(stall: tuple[float, float], when: str) -> list[Measure]:
    longest, worked = stall
    name = f"longest stall of the loop, {when}"
    return [
        Measure(name, 1e3 * longest, "ms", at_most=50),
        Measure("of it, work of the loop's own thread", 1e3 * worked, "ms"),
    ]
