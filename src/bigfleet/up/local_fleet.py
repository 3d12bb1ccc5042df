"""Everything together in one process: provider, shard and clusters, each over its real protocol.

Nothing here is a short cut: the shard lists the provider over gRPC and the clusters dial the shard.
The parts start in the order in which they need each other and stop in the opposite one; whatever
happens, what was opened is closed and a temporary folder is removed.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.options import SECOND
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.serving import ProviderServer
from bigfleet.provider.sim.backend import SimBackend
from bigfleet.provider.sim.clocks import ScaledClock
from bigfleet.provider.stores.memory import MemoryStore
from bigfleet.provider.stores.sqlite import SQLiteStore
from bigfleet.shard.driving.process import ShardProcess, World
from bigfleet.sim.driver import SimClusters
from bigfleet.sim.script import Scale, living_script
from bigfleet.sim.workloads import CLUSTERS
from bigfleet.up.folders import claim
from bigfleet.up.plans import PROVIDER, Plan
from bigfleet.up.ports import free_from, started_on
from bigfleet.up.reports import CycleReport, report_of

#: What running actions get at the end; the machines are simulated and lose nothing.
STOP_GRACE_SECONDS = 0.3
READY_POLL_SECONDS = 0.02
PROVIDER_PATIENCE_SECONDS = 15.0
_PLACE_FILE = "clusters.json"
_KEEP_SECONDS = 5.0


class ProviderSilent(Exception):
    """The provider somebody named does not answer; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the face that starts a fleet gives it."""

    clock: Clock
    #: Seconds, for measuring only.
    stopwatch: Callable[[], float]
    new_id: Callable[[], str]
    log: Log
    version: str = ""


class _LogOfTheLiving:
    def __init__(self, log: Log) -> None:
        self._log = log
        self.is_over = False

    def debug(self, event: str, **facts: Any) -> None:
        self._write("debug", event, facts)

    def info(self, event: str, **facts: Any) -> None:
        self._write("info", event, facts)

    def warning(self, event: str, **facts: Any) -> None:
        self._write("warning", event, facts)

    def error(self, event: str, **facts: Any) -> None:
        self._write("error", event, facts)

    def _write(self, level: str, event: str, facts: Mapping[str, Any]) -> None:
        if not self.is_over or level == "error":
            getattr(self._log, level)(event, **facts)


class LocalFleet:
    def __init__(
        self, plan: Plan, around: Surroundings, changed: Callable[[Scale], None] | None = None
    ) -> None:
        """`changed` hears of every step of the script."""
        self.plan = plan
        #: Simulated time: what the shard and the clusters live by.
        self.clock = ScaledClock(around.clock, plan.speed)
        self._log = _LogOfTheLiving(around.log)
        self._around = replace(around, log=self._log)
        self._changed = changed
        self._closing = AsyncExitStack()
        self.provider: ProviderServer | None = None
        self._data_dir: Path | None = None

    @property
    def addresses(self) -> dict[str, str]:
        """Of what runs here, as bound."""
        found = {"shard": f"127.0.0.1:{self.shard.port}"}
        if self.provider is not None:
            found["provider"] = f"127.0.0.1:{self.provider.port}"
        found["metrics"] = f"127.0.0.1:{self.shard.metrics_port}"
        return found

    async def start(self) -> None:
        """Returns when the first List is in and a cycle has decided on it."""
        try:
            self._data_dir = folder = self._folder()
            address = self.plan.provider_addr or await self._start_provider(folder)
            self.shard = await started_on(lambda: self._start_shard(folder, address))
            self._closing.push_async_callback(self.shard.stop, STOP_GRACE_SECONDS)
            await self._ready()
            self._start_clusters(folder)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """What the parts say of each other's end is no news."""
        self._log.is_over = True
        await self._closing.aclose()

    async def until_dead(self) -> None:
        """Raises when a part has ended that never should."""
        parts = [
            asyncio.ensure_future(self.shard.until_dead()),
            asyncio.ensure_future(self.clusters.until_dead()),
        ]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                part.result()
        finally:
            for part in parts:
                part.cancel()
            await asyncio.wait(parts)

    async def follow(self, heard: Callable[[CycleReport], None]) -> None:
        """For ever: tells of every cycle once it has ended."""
        told, deciding = 0, self.shard.state.deciding
        while True:
            if deciding.ledger.cycle != told:
                told = deciding.ledger.cycle
                lines = self.clusters.lines.values()
                known = [(line.operator.cluster, line.operator.connected) for line in lines]
                heard(report_of(self.shard.state, known))
            await self._around.clock.sleep(self.plan.shortest_gap_seconds / 2)

    # -- within ----------------------------------------------------------------------------------

    def _folder(self) -> Path:
        if self.plan.data_dir is not None:
            self.plan.data_dir.mkdir(parents=True, exist_ok=True)
            claim(self.plan.data_dir, self.plan)
            return self.plan.data_dir
        return Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="bigfleet-up-")))

    async def _start_provider(self, folder: Path) -> str:
        async def started() -> ProviderServer:
            new = self._around.new_id()
            lasting = self.plan.data_dir is not None
            store = SQLiteStore(folder / "provider.db", new) if lasting else MemoryStore(new)
            options = ProviderOptions(
                provider=PROVIDER, address=f"127.0.0.1:{free_from(self.plan.provider_port)}"
            )
            server = ProviderServer(
                SimBackend(self.plan.sim_config()),
                store,
                options,
                chance=Random(f"{self.plan.seed}/provider"),
                log=self._around.log,
            )
            await server.start()
            return server

        self.provider = server = await started_on(started)
        self._closing.push_async_callback(server.stop, 0.0)
        return f"127.0.0.1:{server.port}"

    async def _start_shard(self, folder: Path, provider: str) -> ShardProcess:
        around, plan = self._around, self.plan
        plan = replace(
            plan,
            shard_port=free_from(plan.shard_port),
            metrics_port=free_from(plan.metrics_port),
        )
        world = World(
            self.clock, around.stopwatch, around.new_id, around.log, version=around.version
        )
        process = ShardProcess(plan.shard_settings(folder / "shard", provider), world)
        try:
            await process.start()
        except BaseException:
            await process.stop(0.0)
            raise
        return process

    async def _ready(self) -> None:
        """A provider of our own is waited for as long as it takes, another's for a while."""
        state, clock = self.shard.state, self._around.clock
        began = clock.now()
        while state.why_not_ready() or state.deciding.decision is None:
            silent = (clock.now() - began) / SECOND > PROVIDER_PATIENCE_SECONDS
            if silent and not self.plan.simulated and not state.parts.reconciler.listed_once():
                raise ProviderSilent(self._why_silent())
            await clock.sleep(READY_POLL_SECONDS)

    def _why_silent(self) -> str:
        [provider] = self.shard.state.status().providers
        said = f" ({provider.last_error})" if provider.last_error else ""
        return (
            f"the provider at {self.plan.provider_addr} has not listed its machines within "
            f"{PROVIDER_PATIENCE_SECONDS:.0f} s{said}; see that it runs, or leave --provider-addr "
            "out to use the simulated one"
        )

    def _start_clusters(self, folder: Path) -> None:
        plan = self.plan
        self.clusters = SimClusters(
            CLUSTERS,
            living_script(plan.seed, plan.size, secure=plan.simulated),
            f"127.0.0.1:{self.shard.port}",
            self.clock,
            Random(f"{plan.seed}/operators"),
            self._around.log,
            began_seconds=self._kept_place(folder),
            tick_seconds=plan.tick_seconds,
            changed=self._changed,
        )
        self.clusters.start()
        self._closing.push_async_callback(self.clusters.stop)
        if plan.data_dir is not None:
            self._closing.callback(self._keep_place, folder)
            keeping = asyncio.create_task(self._keep_places(folder))
            self._closing.callback(keeping.cancel)

    # The clusters' part of a data dir is how far their script is: all else they are told.

    def _kept_place(self, folder: Path) -> float:
        try:
            return float(json.loads((folder / _PLACE_FILE).read_text())["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0.0

    def _keep_place(self, folder: Path) -> None:
        (folder / _PLACE_FILE).write_text(json.dumps({"seconds": self.clusters.seconds}))

    async def _keep_places(self, folder: Path) -> None:
        while True:
            await self._around.clock.sleep(_KEEP_SECONDS)
            self._keep_place(folder)
