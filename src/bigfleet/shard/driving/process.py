"""A running shard: its tasks, from the first List to the last goodbye.

On the way up: the data dir is this process's own and its epoch is on disk before anything is sent.
On the way down: no new cycles and sessions, running calls get their time, sessions end with
UNAVAILABLE, what is to be kept is on disk; then it is over, however stuck a stream may be.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigfleet.edge.certificates import expires_at
from bigfleet.edge.clock import Clock
from bigfleet.edge.core_tasks import until_one_dies
from bigfleet.edge.counts import Survey
from bigfleet.edge.debug_pages import debug_routes
from bigfleet.edge.driver import cpu_seconds, real_profiler
from bigfleet.edge.logs import Log
from bigfleet.edge.loop_lag import LoopLag
from bigfleet.edge.pages import Pages
from bigfleet.edge.process_usage import ProcessUsage
from bigfleet.engine.acquisition import RunWorkers
from bigfleet.model.ownership import Ownership
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard.audit import AuditFile
from bigfleet.shard.coordination.owned_machines import KEY as OWNERSHIP
from bigfleet.shard.coordination.owned_machines import ownership_of
from bigfleet.shard.coordination.registry import kept_providers, providers_to_attach
from bigfleet.shard.driving.coordinator_side import CoordinatorSide
from bigfleet.shard.driving.cycles import Cycles
from bigfleet.shard.driving.http_pages import pages_of
from bigfleet.shard.driving.kernel_warmup import KernelWarmup
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.driving.providers import ProviderLines
from bigfleet.shard.driving.services import AdminAnswers, ReadAnswers
from bigfleet.shard.driving.sessions import SessionLines
from bigfleet.shard.driving.timers import every_second, settle_ownership
from bigfleet.shard.effects import COORDINATION
from bigfleet.shard.epoch import DirLock, next_epoch
from bigfleet.shard.metrics import ShardMetrics
from bigfleet.shard.parts import ShardStart
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.state import ShardState
from bigfleet.shard.store import StateStore
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.real_times import WireTimes
from bigfleet.wire.session_server import ShardEndpoint
from bigfleet.wire.shard_admin import ShardAdminService
from bigfleet.wire.shard_read import ShardReadService

#: What streams and threads may take beyond the grace of a stop.
STOP_MARGIN_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class World:
    """What a process is given by whoever starts it."""

    clock: Clock
    #: Seconds, for measuring only.
    stopwatch: Callable[[], float]
    new_id: Callable[[], str]
    log: Log
    tls: TlsFiles | None = None
    version: str = ""
    #: None: it lives by the real clock, as every process does but a simulated one.
    times: WireTimes | None = None


class ShardProcess:
    def __init__(self, settings: ShardSettings, world: World) -> None:
        """Takes the data dir and reads it; raises StartRefused."""
        self._world = world
        self._data_dir = Path(settings.data_dir)
        self._lock = DirLock(self._data_dir)
        epoch = next_epoch(self._data_dir)
        self._store = StateStore(self._data_dir, self._on_store_trouble)
        addresses = provider_addresses(settings.provider_addr)
        if settings.providers_from_registry:
            kept = kept_providers(self._store.rows.get(COORDINATION, {}))
            addresses |= providers_to_attach(kept, addresses)
        workers = settings.workers or os.cpu_count() or 1
        start = ShardStart(
            settings,
            epoch,
            addresses,
            world.new_id,
            world.clock.now(),
            self._store.rows,
            _ownership(settings, self._store.rows.get(COORDINATION, {})),
            lambda: self._store.trouble,
        )
        self.state = state = ShardState(start, version=world.version, workers=workers)
        self._outlet = outlet = Outlet(world.clock, world.log)
        self._threads = ThreadPoolExecutor(workers, "worker") if workers > 1 else None
        run_workers: RunWorkers = self._threads.map if self._threads else map
        self._cycles = Cycles(state, outlet, run_workers, world.stopwatch)
        clients = {name: ProviderClient(address, world.tls) for name, address in addresses.items()}
        self._providers = ProviderLines(state, outlet, clients, world.stopwatch)
        self._sessions = SessionLines(state, outlet)
        #: For whoever talks to the coordinator.
        self.coordinating = CoordinatorSide(state, outlet, self._store)
        self._audit = self._audit_file(settings)
        self._usage = ProcessUsage(world.stopwatch, cpu_seconds)
        self._lag = LoopLag(world.clock, world.stopwatch, self._observe_lag)
        self._metrics = ShardMetrics(
            state.effects.counts, self._refresh, world.version, self._certificate_ends
        )
        self._endpoint = self._make_endpoint(settings)
        self._warmup = KernelWarmup(world.log)
        self._pages = Pages(
            pages_of(state, self._metrics, self._lag, self._warmup, world.clock.now),
            debug_routes(settings.debug_endpoints, state.dump, real_profiler()),
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = asyncio.Event()

    @property
    def port(self) -> int:
        return self._endpoint.port

    @property
    def metrics_port(self) -> int:
        return self._pages.port

    @property
    def address(self) -> str:
        """What others are told."""
        settings = self.state.settings
        host, _, _ = settings.listen.rpartition(":")
        return settings.advertise_addr or f"{host}:{self.port}"

    async def start(self) -> int:
        """Serving; the port of the gRPC services. OSError where an address is taken.

        The pages come first, so that a probe can read how far compiling is.
        """
        settings = self.state.settings
        if settings.metrics_addr not in ("", "0"):
            await self._pages.start(settings.metrics_addr)
        await self._warmup.run()
        self._connect()
        try:
            await self._endpoint.start()
        except OSError:
            await self._pages.stop()
            raise
        self.coordinating.address = self.address
        pause_file = self._data_dir / settings.rails.pause_file
        work: Mapping[str, Coroutine[Any, Any, None]] = {
            "cycle": self._cycles.run(),
            "ingest": self._sessions.ingest(),
            "second": every_second(self.state, self._outlet, pause_file),
            "lag": self._lag.run(),
            "ownership": settle_ownership(self.state, self._outlet),
            "calls": self._providers.until_broken(),
            **{f"reconcile {name}": self._providers.follow(name) for name in self._providers.names},
        }
        self._tasks = [asyncio.create_task(each, name=name) for name, each in work.items()]
        await self._endpoint.set_serving(True)
        self._world.log.info(
            "shard.started",
            msg=f"shard {settings.id} serves on port {self.port}",
            shard=settings.id,
            epoch=self.state.epoch,
            port=self.port,
            metrics_port=self.metrics_port,
            providers=dict(provider_addresses(settings.provider_addr)),
        )
        return self.port

    async def until_dead(self) -> None:
        """Returns at a stop; raises CoreTaskDied when a task ends that never should."""
        await until_one_dies(self._tasks, self._stopped)

    async def stop(self, grace_seconds: float | None = None) -> None:
        """Once; returns within the grace and a few seconds."""
        settings, outlet = self.state.settings, self._outlet
        grace = settings.shutdown_grace if grace_seconds is None else grace_seconds
        self._stopped.set()
        self._sessions.close_to_new()
        outlet.obey(self.state.stop(outlet.now()))
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_MARGIN_SECONDS)
        await self._providers.settled(grace)
        outlet.obey(self.state.abandon(outlet.now()))
        await self._endpoint.stop()
        await self._pages.stop()
        await self._providers.close()
        self._cycles.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        if self._audit is not None:
            await asyncio.to_thread(self._audit.close)
        await asyncio.to_thread(self._store.close)
        self._lock.release()
        self._world.log.info("shard.stopped", msg="stopped in order", shard=settings.id)

    def apply_settings(self, settings: ShardSettings) -> None:
        self._outlet.obey(self.state.apply_settings(settings))

    # -- within ----------------------------------------------------------------------------------

    def _connect(self) -> None:
        outlet = self._outlet
        outlet.call = self._providers.call
        outlet.flush = self._sessions.flush
        outlet.end = self._end_session
        outlet.wake = self._cycles.wake
        outlet.attach = self._attach
        outlet.listed = self._sessions.open_to_all
        outlet.keeper = self._store
        outlet.audit = self._audit
        outlet.obey(self.state.taken())

    def _make_endpoint(self, settings: ShardSettings) -> ShardEndpoint:
        read = ShardReadService(ReadAnswers(self.state))
        times = self._world.times
        answers = AdminAnswers(self.state, self._outlet, self._usage)
        if times is not None:
            answers = AdminAnswers(self.state, self._outlet, self._usage, times.times.real_of)
        admin = ShardAdminService(answers)
        return ShardEndpoint(
            self._sessions,
            address=settings.listen,
            tls=self._world.tls,
            extra_services=[read, admin],
            failed=self._on_internal_error,
            times=self._world.times,
        )

    def _attach(self, name: str, address: str) -> None:
        """A provider that came to the coordinator's list while this shard runs."""
        self.state.attach_provider(name, address)
        self._providers.attach(name, ProviderClient(address, self._world.tls))

    def _end_session(self, session: int, code: Code, text: str) -> None:
        self._endpoint.end(session, Rejected(code, text))

    def _refresh(self) -> Survey:
        counts = self.state.effects.counts
        counts.set("state_degraded", float(self._store.degraded))
        audit = self._audit
        counts.set("journal_degraded", float(audit is not None and audit.degraded))
        if audit is not None:
            counts.set("audit_lines_lost", audit.lost)
        return self.state.survey()

    def _observe_lag(self, seconds: float) -> None:
        self.state.effects.counts.observe("loop_lag_seconds", seconds)
        self._usage.sample()

    def _certificate_ends(self) -> float | None:
        tls = self._world.tls
        try:
            return expires_at(tls.cert.read_bytes()) if tls else None
        except OSError:
            return None

    def _on_internal_error(self, method: str, problem: Exception) -> None:
        self._world.log.error("rpc.internal", msg=f"{method}: {problem!r}", method=method)

    def _on_store_trouble(self, trouble: str) -> None:
        """In the store's thread."""
        if trouble:
            text = f"{trouble}; no new drain is begun until it can be written"
            self._world.log.error("state.degraded", msg=text)
        else:
            self._world.log.info("state.recovered", msg="state.db is written again")

    def _audit_file(self, settings: ShardSettings) -> AuditFile | None:
        journal, times = settings.journal, self._world.times
        if not journal.audit_log:
            return None
        return AuditFile(
            self._data_dir / journal.audit_log,
            journal.audit_rotate,
            journal.audit_files,
            self._on_audit_trouble,
            in_real_time=times.text_told if times is not None else None,
        )

    def _on_audit_trouble(self, trouble: str) -> None:
        """In the writer's thread."""
        if trouble:
            self._world.log.error("audit.degraded", msg=f"audit lines are lost: {trouble}")
        else:
            self._world.log.info("audit.recovered", msg="the audit log is written again")


def provider_addresses(given: tuple[str, ...]) -> dict[str, str]:
    """`name=host:port` each; without a name, the address is the name."""
    addresses: dict[str, str] = {}
    for each in given:
        name, equals, address = each.rpartition("=")
        addresses[name if equals else address] = address
    return addresses


def _ownership(settings: ShardSettings, stored: Mapping[str, bytes]) -> Ownership:
    """What an earlier life was given; one that owned everything it saw was given nothing."""
    assigned = settings.ownership == "assigned" or (
        settings.ownership == "auto" and bool(settings.coordinator_addr)
    )
    if not assigned:
        return Ownership(settings.id)
    known, _ = ownership_of(settings.id, stored.get(OWNERSHIP))
    return known
