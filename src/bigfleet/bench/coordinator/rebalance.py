"""The part `rebalance`, shape M6: a shard needs machines, and two others have them idle.

Three real shards on one provider, a real coordinator, one cluster with one Need. Measured is the
time from the cluster's roll-up until the last machine is configured for it. What the settings make
of it stands beside the figures: a rest of two minutes between two transfers would be all one sees.
"""

import asyncio
import json
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path

from bigfleet.bench.coordinator.metrics_pages import page
from bigfleet.bench.coordinator.rebalance_fleet import (
    CLUSTER,
    SHARDS,
    RebalanceScale,
    first_rollup,
    rollup,
    stored_rows,
)
from bigfleet.bench.measures import Measure, Say
from bigfleet.bench.processes import Child, Processes, child, processes
from bigfleet.coordinator.stores.restore import restore_into_file
from bigfleet.model.coordination import Transfer, TransferState
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse, Hello, RollupFrame
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.session_client import Session, SessionClient

M6 = RebalanceScale()
_DEADLINE_SECONDS = 5.0
_LOOK_SECONDS = 0.02
#: Longer than any rebalance should take.
GIVE_UP_SECONDS = 120.0
#: How long nothing more may move once the Need is met.
_QUIET_SECONDS = 2.0
_MACHINES = "bigfleet_shard_inventory_machines{"
_CYCLES = "bigfleet_shard_cycles_total"
_WARM_CYCLES = 5
_MOST_SECONDS = 5
_MOVED = (TransferState.GRANTED, TransferState.DONE)


class RebalanceHarness:
    """Everything that runs."""

    def __init__(
        self, shape: RebalanceScale, running: Processes, folder: Path, provider: Child
    ) -> None:
        self._shape = shape
        self._running = running
        self._folder = folder
        self.provider = provider
        self.coordinator = ""
        #: Of each shard: its port, and that of its metrics.
        self.ports: list[tuple[int, int]] = []

    async def start(self) -> None:
        provider = f"127.0.0.1:{(await self.provider.ask())['port']}"
        data_dir = self._folder / "coordinator"
        data_dir.mkdir()
        await restore_into_file(data_dir, stored_rows(provider))
        process = await self._running.verb("coordinator", *self._coordinator_words(data_dir))
        self.coordinator = f"127.0.0.1:{(await process.event('coordinator.started'))['port']}"
        await process.event("coordinator.leads")
        shards = [
            await self._running.verb("shard", *self._shard_words(name, provider)) for name in SHARDS
        ]
        for shard in shards:
            told = await shard.event("shard.started")
            self.ports.append((int(told["port"]), int(told["metrics_port"])))

    async def until_listed(self) -> None:
        """Every shard has its own machines, and no others."""
        wanted = [0, self._shape.idle, self._shape.idle]
        while [await _machines(metrics) for _, metrics in self.ports] != wanted:
            await asyncio.sleep(_LOOK_SECONDS)

    async def until_decided(self) -> None:
        """The shard that will be short has decided on a demand before: its engine is warm."""
        metrics = self.ports[0][1]
        before = (await page(metrics)).get(_CYCLES, 0.0)
        while (await page(metrics)).get(_CYCLES, 0.0) < before + _WARM_CYCLES:
            await asyncio.sleep(_LOOK_SECONDS)

    def _coordinator_words(self, data_dir: Path) -> tuple[str, ...]:
        shape = self._shape
        return (
            *("coordinator", "--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"),
            *("--data-dir", str(data_dir), "--partition-keys", ZONE_KEY),
            *("--stale-after", f"{shape.stale_after}s"),
            *("--rebalance-interval", f"{shape.rebalance_interval}s"),
            *("--rebalance-cooldown", f"{shape.cooldown}s"),
            *("--rebalance-max-per-transfer", str(shape.max_per_transfer)),
        )

    def _shard_words(self, name: str, provider: str) -> tuple[str, ...]:
        shape = self._shape
        return (
            *("shard", "--id", name, "--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"),
            *("--data-dir", str(self._folder / name), "--provider-addr", f"bench={provider}"),
            *("--coordinator-addr", self.coordinator),
            *("--cycle-interval", f"{shape.cycle_interval}s"),
            *("--report-interval", f"{shape.report_interval}s"),
            *("--reconcile-interval", f"{shape.reconcile_interval}s"),
        )


async def _machines(metrics_port: int) -> int:
    told = await page(metrics_port)
    return round(sum(value for name, value in told.items() if name.startswith(_MACHINES)))


class RebalanceWatch:
    """What happened since the roll-up, in seconds from it."""

    def __init__(self) -> None:
        self.began = 0
        self.first_offer: float | None = None
        #: Machines granted so far, and when that was seen.
        self.granted: list[tuple[float, int]] = []
        #: When the provider was told to configure each machine.
        self.configured: dict[str, float] = {}
        self.transfers: tuple[Transfer, ...] = ()

    def since(self, at: int) -> float:
        return (at - self.began) / 1e9

    def seconds_until(self, machines: int) -> float:
        """All of them granted."""
        return next((at for at, count in self.granted if count >= machines), 0.0)

    @property
    def moved(self) -> list[str]:
        """Once for each time a machine was moved."""
        moved = (each for each in self.transfers if each.state in _MOVED)
        return [machine for each in moved for machine in each.machine_ids]

    async def look(self, rig: RebalanceHarness, admin: CoordinatorAdminClient) -> None:
        self.transfers = await admin.transfers(include_finished=True)
        now = self.since(time.monotonic_ns())
        if self.transfers and self.first_offer is None:
            self.first_offer = now
        count = len(self.moved)
        if count > (self.granted[-1][1] if self.granted else 0):
            self.granted.append((now, count))
        for machine, at in (await rig.provider.ask())["machines"]:
            self.configured.setdefault(machine, self.since(at))


async def measured(shape: RebalanceScale, say: Say) -> list[Measure]:
    """As set, and once more with all machines in one transfer: without a rest in between."""
    found = _rows(await _watched(shape, say), shape)
    at_once = replace(shape, max_per_transfer=shape.machines)
    return [*found, *_rows(await _watched(at_once, say), at_once)]


async def _watched(shape: RebalanceScale, say: Say) -> RebalanceWatch:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        running = await stack.enter_async_context(processes())
        given = json.dumps(asdict(shape))
        provider = await stack.enter_async_context(
            child("bigfleet.bench.coordinator.rebalance_fleet", "provider", given)
        )
        rig = RebalanceHarness(shape, running, folder, provider)
        say("starting a coordinator and three shards")
        await rig.start()
        say("waiting until every shard has its machines")
        await rig.until_listed()
        admin = await stack.enter_async_context(
            CoordinatorAdminClient([rig.coordinator], deadline=_DEADLINE_SECONDS)
        )
        return await _moved(rig, shape, admin, say)


async def _moved(
    rig: RebalanceHarness, shape: RebalanceScale, admin: CoordinatorAdminClient, say: Say
) -> RebalanceWatch:
    watch, client = RebalanceWatch(), SessionClient(f"127.0.0.1:{rig.ports[0][0]}")
    async with client.open(Hello(CLUSTER)) as session, asyncio.TaskGroup() as group:
        operating = group.create_task(_operate(session))
        await session.send(RollupFrame(first_rollup(time.time_ns())))
        await rig.until_decided()
        watch.began = time.monotonic_ns()
        await session.send(RollupFrame(rollup(shape, time.time_ns())))
        with suppress(TimeoutError):
            async with asyncio.timeout(GIVE_UP_SECONDS):
                while len(watch.configured) < shape.machines:
                    await watch.look(rig, admin)
                    say(f"{len(watch.configured)} of {shape.machines} machines are configured")
                    await asyncio.sleep(_LOOK_SECONDS)
        await asyncio.sleep(_QUIET_SECONDS)
        await watch.look(rig, admin)
        operating.cancel()
    await client.close()
    return watch


async def _operate(session: Session) -> None:
    async for frame in session:
        if isinstance(frame, BootstrapRequest):
            await session.send(BootstrapResponse(frame.request_id, b"#!/bin/sh"))


def _rows(watch: RebalanceWatch, shape: RebalanceScale) -> list[Measure]:
    arrived = sorted(watch.configured.values())
    # Where they never came, as long as they were waited for: no program reads an infinite number.
    last = arrived[shape.machines - 1] if len(arrived) >= shape.machines else GIVE_UP_SECONDS
    moved = Counter(watch.moved)
    twice = sum(1 for count in moved.values() if count > 1)
    how = f"{shape.max_per_transfer} a transfer"
    granted = watch.seconds_until(shape.machines)
    return [
        Measure(f"{how}: roll-up to the first offer", watch.first_offer or 0.0, "s"),
        Measure(f"{how}: roll-up to the first grant", watch.seconds_until(1), "s"),
        Measure(f"{how}: roll-up to the first Configure", arrived[0] if arrived else 0.0, "s"),
        Measure(f"{how}: roll-up to {shape.machines} granted", granted, "s"),
        Measure(f"{how}: roll-up to {shape.machines} Configured", last, "s", at_most=_MOST_SECONDS),
        Measure(f"{how}: machines configured", len(arrived), ""),
        Measure(f"{how}: transfers", len(watch.transfers), ""),
        Measure(f"{how}: machines moved", len(moved), ""),
        Measure(f"{how}: machines moved twice", twice, "", at_most=0),
    ]
