"""Everything together in one process: provider, coordinator, shards and clusters, each over its
real protocol.

Nothing here is a short cut: shards list the provider and report to the coordinator over gRPC, the
clusters dial their shards, and zones are given to shards by the calls that people use. The parts
start in the order in which they need each other and stop in the opposite one; after a failure too,
what was opened is closed and a temporary folder is removed.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from bigfleet.coordinator.driving.process import CoordinatorProcess
from bigfleet.edge.logs import Log
from bigfleet.model.coordination import Transfer
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.process import ProcessContext
from bigfleet.provider.server import ProviderServer
from bigfleet.provider.sim.clocks import ScaledClock
from bigfleet.shard.driving.process import ShardProcess
from bigfleet.sim.driver import SimClusters
from bigfleet.sim.script import Change, living_script
from bigfleet.sim.workloads import CLASSES, DAEMON_SETS
from bigfleet.up.folders import claim
from bigfleet.up.overdue_pods import OverduePods
from bigfleet.up.owner_watch import TransferLog
from bigfleet.up.plans import FleetPlan
from bigfleet.up.reports import CycleReport, report_of
from bigfleet.up.simulated_time import (
    KEEP_SECONDS,
    SimulatedTimes,
    keep,
    keep_often,
    kept_instant,
    kept_seconds,
)
from bigfleet.up.starter import Starter
from bigfleet.up.zone_assignment import assign_zones, dealt
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.real_times import WireTimes

#: What running actions get at the end; the machines are simulated and lose nothing.
STOP_GRACE_SECONDS = 0.3
READY_POLL_SECONDS = 0.02
PROVIDER_PATIENCE_SECONDS = 15.0
COORDINATOR = "coordinator"


class ProviderSilent(Exception):
    """The named provider does not answer; the text says what to do."""


class PartDied(Exception):
    """Something has ended that never should."""


class LocalFleet:
    def __init__(
        self,
        plan: FleetPlan,
        context: ProcessContext,
        changed: Callable[[Change], None] | None = None,
    ) -> None:
        """`changed` hears of every step of the script."""
        self.plan = plan
        #: Simulated time: what shards, coordinator and clusters live by.
        self.times = _times_of(plan, context.clock.now())
        self.clock = ScaledClock(context.clock, plan.speed, self.times.began)
        self._wire_times = WireTimes(self.times)
        self._log = ClosableLog(context.log)
        self._context = replace(context, log=self._log)
        self._changed = changed
        self._closing = AsyncExitStack()
        self.provider: ProviderServer | None = None
        self.coordinator: CoordinatorProcess
        self.clusters: SimClusters
        #: By name.
        self.shards: dict[str, ShardProcess] = {}
        #: Cluster -> shard, and zone -> shard; without zones, the only shard has all of them.
        self.shard_of_cluster = dealt(plan.clusters, plan.shard_names)
        self.shard_of_zone: Mapping[str, str] = {}
        #: By cluster.
        self._overdue: dict[str, OverduePods] = {}
        self._starter: Starter
        #: Shards, and the coordinator, that were stopped on purpose; set once they run again.
        self._stopped: dict[str, asyncio.Event] = {}

    @property
    def addresses(self) -> dict[str, str]:
        """Of what runs here, as bound; of the others' provider, as named."""
        found = {name: f"127.0.0.1:{shard.port}" for name, shard in self.shards.items()}
        found["coordinator"] = self.coordinator.address
        found["provider"] = self.plan.provider_addr
        if self.provider is not None:
            found["provider"] = f"127.0.0.1:{self.provider.port}"
        return found

    @property
    def metrics(self) -> dict[str, str]:
        """Pages, by the name of the shard or `coordinator`."""
        found = {name: f"127.0.0.1:{shard.metrics_port}" for name, shard in self.shards.items()}
        return {**found, "coordinator": f"127.0.0.1:{self.coordinator.metrics_port}"}

    @property
    def machines(self) -> int:
        return sum(len(shard.state.parts.machines) for shard in self.shards.values())

    def journal_of(self, shard: str) -> Path:
        return Path(self.shards[shard].state.settings.data_dir) / "journal"

    def owned(self) -> dict[str, frozenset[str]]:
        """Machines by shard, all of this moment."""
        return {
            name: frozenset(shard.state.parts.machines.ids()) for name, shard in self.shards.items()
        }

    async def start(self) -> None:
        """Returns when every shard has its machines and has decided on them."""
        try:
            folder = self._folder()
            simulated = replace(self._context, clock=self.clock, times=self._wire_times)
            self._starter = starter = Starter(self.plan, self._context, simulated, folder)
            address = self.plan.provider_addr or await self._start_provider(starter)
            await self._start_coordinator(starter)
            await self._start_shards(starter, address)
            await self._deal_zones()
            await self._ready()
            self._start_clusters(folder)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Hides what the parts log about each other's end."""
        self._log.is_over = True
        await self._closing.aclose()

    async def until_dead(self) -> None:
        """Raises PartDied when a part has ended that never should."""
        work: dict[str, Awaitable[None]] = {
            **{name: self._until_dead(name) for name in self.shards},
            "the coordinator": self._until_dead(COORDINATOR),
            "a cluster": self.clusters.until_dead(),
        }
        parts = {asyncio.ensure_future(each): name for name, each in work.items()}
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                problem = part.exception()
                raise PartDied(f"{parts[part]} has died: {problem}") from problem
        finally:
            for part in parts:
                part.cancel()
            await asyncio.wait(parts)

    def set_speed(self, speed: float) -> None:
        """Simulated time goes on from where it is, at another pace, for all parts at once."""
        self.plan = plan = replace(self.plan, speed=speed)
        self.times.on_speed(*self.clock.set_speed(speed), speed)
        if self.provider is not None and isinstance(self.provider.clock, ScaledClock):
            self.provider.clock.set_speed(speed)
        for shard in self.shards.values():
            shard.apply_settings(plan.paced(shard.state.settings))
        self.coordinator.apply_settings(plan.coordinator_paced(self.coordinator.settings))
        self.clusters.tick_seconds = plan.tick_seconds

    # -- parts that go and come back -------------------------------------------------------------

    @property
    def down(self) -> frozenset[str]:
        """Names of shards, or `coordinator`, that were stopped and not started again."""
        return frozenset(self._stopped)

    async def stop_part(self, name: str) -> None:
        """Without grace: what it was doing is left as it is. A shard by its name."""
        if name not in self._stopped:
            self._stopped[name] = asyncio.Event()
            await self._part(name).stop(0.0)

    async def start_part(self, name: str) -> None:
        """Where it was, with what it left on disk. Raises OSError, StartRefused."""
        if name not in self._stopped:
            return
        if name == COORDINATOR:
            self.coordinator = await self._starter.coordinator(self.coordinator)
        else:
            self.shards[name] = await self._starter.shard_again(self.shards[name])
            self._watch_pods(name)
        self._stopped.pop(name).set()

    def _part(self, name: str) -> ShardProcess | CoordinatorProcess:
        return self.coordinator if name == COORDINATOR else self.shards[name]

    async def _until_dead(self, name: str) -> None:
        """Returns or raises when a task of the part has ended, unless it was stopped on purpose."""
        while True:
            part = self._part(name)
            living = asyncio.ensure_future(part.until_dead())
            try:
                done, _ = await asyncio.wait(
                    {living, *part.side_tasks.values()}, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                living.cancel()
            if name not in self._stopped:
                return next(iter(done)).result()
            await self._stopped[name].wait()

    # -- what is told ----------------------------------------------------------------------------

    async def follow(self, heard: Callable[[CycleReport], None]) -> None:
        """For ever: tells of every cycle of every shard once it has ended."""
        told = {name: (shard.state.epoch, 0) for name, shard in self.shards.items()}
        while True:
            for name, shard in list(self.shards.items()):
                if name not in self._stopped and _is_news(shard, told[name]):
                    told[name] = _cycle_of(shard)
                    heard(self._report_of(name))
            await self._context.clock.sleep(self.plan.shortest_gap_seconds / 2)

    async def follow_moves(self, heard: Callable[[Transfer], None]) -> None:
        """For ever: tells of machines on their way between shards."""
        await TransferLog(self.admin, self._context.clock, self._log).follow(heard)

    # -- within ----------------------------------------------------------------------------------

    def _report_of(self, name: str) -> CycleReport:
        at = self.clock.now()
        known = [
            (line.operator, self._overdue[cluster].at(at))
            for cluster, line in self.clusters.lines.items()
            if self.shard_of_cluster[cluster] == name
        ]
        return report_of(self.shards[name].state, known)

    def _folder(self) -> Path:
        if self.plan.data_dir is not None:
            self.plan.data_dir.mkdir(parents=True, exist_ok=True)
            claim(self.plan.data_dir, self.plan)
            return self.plan.data_dir
        return Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="bigfleet-up-")))

    async def _start_provider(self, starter: Starter) -> str:
        self.provider = server = await starter.provider()
        self._closing.push_async_callback(server.stop, 0.0)
        return f"127.0.0.1:{server.port}"

    async def _start_coordinator(self, starter: Starter) -> None:
        self.coordinator = process = await starter.coordinator()
        self._closing.push_async_callback(self._stop_coordinator)
        #: As a person who administers the fleet.
        self.admin = CoordinatorAdminClient([process.address])
        self._closing.push_async_callback(self.admin.close)

    async def _start_shards(self, starter: Starter, provider: str) -> None:
        self._closing.push_async_callback(self._stop_shards)
        for number, name in enumerate(self.plan.shard_names):
            self.shards[name] = await starter.shard(number, provider, self.coordinator.address)

    async def _stop_coordinator(self) -> None:
        await self.coordinator.stop(0.0)

    async def _stop_shards(self) -> None:
        await asyncio.gather(*(each.stop(STOP_GRACE_SECONDS) for each in self.shards.values()))

    async def _deal_zones(self) -> None:
        """A single shard needs none: it is the default owner of all that its provider has."""
        plan = self.plan
        if plan.shards > 1:
            wanted = dealt(plan.zones, plan.shard_names)
            self.shard_of_zone = await assign_zones(self.admin, wanted, self._context.clock)

    async def _ready(self) -> None:
        """A provider of our own is waited for as long as it takes, another's for a while."""
        clock = self._context.clock
        began = clock.now()
        while not all(map(self._is_ready, self.shards)):
            silent = (clock.now() - began) / SECOND > PROVIDER_PATIENCE_SECONDS
            if silent and not self.plan.simulated and not self._has_listed():
                raise ProviderSilent(self._why_silent())
            await clock.sleep(READY_POLL_SECONDS)
        for shard in self.shards.values():
            shard.apply_settings(self.plan.paced(shard.state.settings))

    def _is_ready(self, name: str) -> bool:
        state = self.shards[name].state
        if state.why_not_ready() or state.decision_loop.decision is None:
            return False
        # Machines come with a List after the view that gives them to the shard; one of an earlier
        # life says nothing about a provider that was somewhere else.
        reconciler = state.parts.reconciler
        view, covered = reconciler.ownership.view, reconciler.ownership.covered
        if view is None or self.addresses["provider"] not in covered:
            return False
        zones = [(ZONE_KEY, zone) for zone, shard in self.shard_of_zone.items() if shard == name]
        has_all = all(view.held_by(zone) == name for zone in zones)
        return has_all and reconciler.listed_since(reconciler.generation)

    def _has_listed(self) -> bool:
        return all(shard.state.parts.reconciler.listed_once() for shard in self.shards.values())

    def _why_silent(self) -> str:
        [shard] = self.shards.values()
        [provider] = shard.state.status().providers
        said = f" ({provider.last_error})" if provider.last_error else ""
        return (
            f"the provider at {self.plan.provider_addr} has not listed its machines within "
            f"{PROVIDER_PATIENCE_SECONDS:.0f} s{said}; see that it runs, or leave --provider-addr "
            "out to use the simulated one"
        )

    def _start_clusters(self, folder: Path) -> None:
        plan, addresses, file = self.plan, self.addresses, self.plan.file
        script = (
            file.script()
            if file is not None
            else living_script(
                plan.seed,
                plan.size,
                own=plan.simulated,
                surge_size=plan.size if plan.shards == 1 else 1.0,
            )
        )
        self.clusters = SimClusters(
            {cluster: addresses[shard] for cluster, shard in self.shard_of_cluster.items()},
            script,
            self.clock,
            Random(f"{plan.seed}/operators"),
            self._log,
            began_seconds=kept_seconds(folder),
            tick_seconds=plan.tick_seconds,
            changed=self._changed,
            times=self._wire_times,
            # A unit of a file may fill a machine: nothing else is to take a part of it.
            daemon_sets=DAEMON_SETS if file is None else (),
            classes=CLASSES if file is None else file.classes,
        )
        for shard in self.shards:
            self._watch_pods(shard)
        self.clusters.start()
        self._closing.push_async_callback(self.clusters.stop)
        if plan.data_dir is not None:
            self._closing.callback(lambda: keep(folder, self.clusters.seconds, self.clock.now()))
            often = keep_often(
                folder,
                lambda: self.clusters.seconds,
                lambda: self.clock.now() + round(KEEP_SECONDS * self.plan.speed * SECOND),
                self._context.clock,
            )
            keeping = asyncio.create_task(often)
            self._closing.callback(keeping.cancel)

    def _watch_pods(self, shard: str) -> None:
        """Of the clusters of a shard, beside the machines that this life of it knows."""
        machines = self.shards[shard].state.parts.machines
        for name, line in self.clusters.lines.items():
            if self.shard_of_cluster[name] == shard:
                operator = line.operator
                self._overdue[name] = OverduePods(operator.cluster, operator.overheads, machines)


def _cycle_of(shard: ShardProcess) -> tuple[int, int]:
    """With its epoch: a shard that comes back counts anew."""
    return shard.state.epoch, shard.state.decision_loop.ledger.cycle


def _is_news(shard: ShardProcess, told: tuple[int, int]) -> bool:
    return shard.state.decision_loop.ledger.cycle > 0 and _cycle_of(shard) != told


def _times_of(plan: FleetPlan, now: Instant) -> SimulatedTimes:
    """Simulated time never runs backwards, not from one life of a data dir to the next either."""
    kept = kept_instant(plan.data_dir) if plan.data_dir is not None else 0
    return SimulatedTimes(now, max(now, kept), plan.speed)


#: What faces show anyhow: Needs that are short.
_SHOWN = ("shortfalls",)


class ClosableLog:
    """Hides what parts log about each other's end once everything ends."""

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
        if event not in _SHOWN and (not self.is_over or level == "error"):
            getattr(self._log, level)(event, **facts)
