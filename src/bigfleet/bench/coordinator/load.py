"""The part `load`: one coordinator on SQLite, all its shards, and domains that change hands.

Three phases: all shards report for the first time and are sent the view; the fleet at rest; one
domain a second goes to another shard. What is measured is a real process over the loopback.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bigfleet.bench.coordinator.load_fleet import (
    DOMAIN_KEY,
    CoordinatorScale,
    domain_value,
    shard_name,
    stored_rows,
)
from bigfleet.bench.coordinator.metrics_pages import Distribution, page
from bigfleet.bench.measures import Measure, Say, percentile
from bigfleet.bench.processes import Child, RunningProcess, child, processes
from bigfleet.coordinator.stores.restore import restore_into_file
from bigfleet.model.shard_admin import Audit
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

QUICK, FULL = CoordinatorScale(), CoordinatorScale(seconds=120.0)
_AUDIT = Audit("bench", "a domain changes hands")
#: Between two changes of hands.
_CHANGE_SECONDS = 1.0
#: Until the disk has it; reports that come meanwhile wait for it too.
_COMMITS = "bigfleet_coordinator_store_write_seconds"
_MOST_MS, _MOST_MB = 50, 300


async def measured(scale: CoordinatorScale, say: Say) -> list[Measure]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        say(f"writing {scale.domains:,} domains of {scale.shards} shards")
        await restore_into_file(folder, await asyncio.to_thread(stored_rows, scale))
        running = await stack.enter_async_context(processes())
        began = time.perf_counter()
        coordinator = await running.verb("coordinator", *_words(folder))
        started = await coordinator.event("coordinator.started")
        await coordinator.event("coordinator.leads")
        found = [Measure("start until it leads", time.perf_counter() - began, "s")]
        address = f"127.0.0.1:{started['port']}"
        driver = await stack.enter_async_context(
            child(
                "bigfleet.bench.coordinator.simulated_shards",
                "simulated shards",
                address,
                json.dumps(asdict(scale)),
            )
        )
        say("all shards report for the first time")
        found += await _phase(coordinator, driver, "first contact", scale.interval * 2.4)
        say("the fleet at rest")
        found += await _phase(coordinator, driver, "at rest", scale.seconds)
        say("a domain a second changes hands")
        admin = await stack.enter_async_context(CoordinatorAdminClient([address]))
        before = await page(started["metrics_port"])
        found += await _changes(coordinator, driver, admin, scale)
        commits = Distribution.between(before, await page(started["metrics_port"]), _COMMITS)
        return [
            *found,
            Measure("commits, changing hands", commits.count, ""),
            Measure("commit, changing hands, mean", 1e3 * commits.mean, "ms"),
            Measure("commit, changing hands, p99", 1e3 * commits.percentile(0.99), "ms"),
        ]


def _words(folder: Path) -> tuple[str, ...]:
    return (
        *("coordinator", "--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"),
        *("--data-dir", str(folder), "--partition-keys", DOMAIN_KEY),
    )


async def _phase(
    coordinator: RunningProcess, driver: Child, when: str, seconds: float
) -> list[Measure]:
    spent, began = coordinator.cpu_seconds(), time.perf_counter()
    await driver.ask()
    await asyncio.sleep(seconds)
    told = await driver.ask()
    cores = (coordinator.cpu_seconds() - spent) / (time.perf_counter() - began)
    return _rows(told, when, cores, coordinator.resident_megabytes())


def _rows(told: dict[str, Any], when: str, cores: float, megabytes: float) -> list[Measure]:
    budget = _MOST_MS if when != "first contact" else None
    late = percentile(told["late"], 0.99)
    found = [
        *_latency_rows(f"ReportShard, {when}", told["reports"], budget),
        *_latency_rows(f"SyncShard, {when}", told["syncs"]),
    ]
    if told["views"]:
        name = f"SyncShard with {told['view_bytes'] / 1e6:.1f} MB of view, {when}"
        found += _latency_rows(name, told["views"])
    for text in sorted(set(told["failures"]))[:3]:
        sys.stderr.write(f"{when}: {text}\n")
    return [
        *found,
        Measure(f"calls that failed, {when}", len(told["failures"]), "", at_most=0),
        Measure(f"the driver itself was late, p99, {when}", 1e3 * late, "ms"),
        Measure(f"cores the coordinator used, {when}", cores, ""),
        Measure(f"memory of the coordinator, {when}", megabytes, "MB", at_most=_MOST_MB),
    ]


def _latency_rows(name: str, seconds: list[float], budget: float | None = None) -> list[Measure]:
    return [
        Measure(f"{name}, calls", len(seconds), ""),
        Measure(f"{name}, p50", 1e3 * percentile(seconds, 0.5), "ms"),
        Measure(f"{name}, p99", 1e3 * percentile(seconds, 0.99), "ms", at_most=budget),
        Measure(f"{name}, max", 1e3 * max(seconds, default=0.0), "ms"),
    ]


async def _changes(
    coordinator: RunningProcess,
    driver: Child,
    admin: CoordinatorAdminClient,
    scale: CoordinatorScale,
) -> list[Measure]:
    changing = DomainMover(admin, scale)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(changing.run()), group.create_task(changing.follow())]
        found = await _phase(coordinator, driver, "changing hands", scale.seconds)
        for task in tasks:
            task.cancel()
    return [
        *found,
        *_latency_rows("AssignDomain and UnassignDomain", changing.calls),
        Measure("domains that changed hands", len(changing.took), ""),
        Measure("call until the next shard owns it, p50", percentile(changing.took, 0.5), "s"),
        Measure("call until the next shard owns it, p99", percentile(changing.took, 0.99), "s"),
    ]


class DomainMover:
    """Takes a domain from its shard and gives it to the next one, a second after another."""

    def __init__(self, admin: CoordinatorAdminClient, scale: CoordinatorScale) -> None:
        self._admin = admin
        self._scale = scale
        #: When each domain was asked to go, by what events call it.
        self._asked: dict[str, float] = {}
        #: Seconds of each call, and until the domain was another's.
        self.calls: list[float] = []
        self.took: list[float] = []

    async def run(self) -> None:
        for number in range(self._scale.domains):
            to = shard_name((number + 1) % self._scale.shards)
            value, began = domain_value(number), time.perf_counter()
            self._asked[f"{DOMAIN_KEY}={value}"] = began
            await self._timed(
                self._admin.unassign_domain(_AUDIT, topology_key=DOMAIN_KEY, topology_value=value)
            )
            await self._timed(
                self._admin.assign_domain(
                    _AUDIT, topology_key=DOMAIN_KEY, topology_value=value, shard_id=to
                )
            )
            await asyncio.sleep(_CHANGE_SECONDS - (time.perf_counter() - began))

    async def follow(self) -> None:
        async for event in self._admin.events(follow=True):
            if event.kind == "assigned" and event.subject in self._asked:
                self.took.append(time.perf_counter() - self._asked.pop(event.subject))

    async def _timed(self, call: Awaitable[None]) -> None:
        began = time.perf_counter()
        await call
        self.calls.append(time.perf_counter() - began)
