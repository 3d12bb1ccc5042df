"""A running coordinator: one replica, from its port to its last word.

On the way up: the port is bound first, because others are told its address; the store is this
process's own, or shared by lease. On the way down: it resigns before anything else, so that
another replica leads within a second; then open calls get time to end, and the process exits.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from bigfleet.coordinator.driving.duties import Duties
from bigfleet.coordinator.driving.http_pages import pages_of, sizes_of
from bigfleet.coordinator.driving.leading_replica import LeadingReplica
from bigfleet.coordinator.driving.open_store import store_of
from bigfleet.coordinator.driving.services import AdminAnswers, CoordinatorAnswers
from bigfleet.coordinator.metrics import CoordinatorMetrics, measure
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.stores.contract import Leader, Store, StoreRefused
from bigfleet.edge.certificates import expires_at
from bigfleet.edge.clock import Clock
from bigfleet.edge.core_tasks import until_one_dies
from bigfleet.edge.debug_pages import debug_routes
from bigfleet.edge.driver import real_profiler
from bigfleet.edge.logs import Log
from bigfleet.edge.pages import Pages
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from bigfleet.wire.coordinator_server import CoordinatorEndpoint
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.real_times import WireTimes

#: How long the one process of a file waits for its disk before it gives up.
STORE_PATIENCE_SECONDS = 30.0
#: How often it is looked whether a leader is known.
WATCH_SECONDS = 0.2
#: What the tasks may take to end.
STOP_MARGIN_SECONDS = 2.0

OpenStore = Callable[[CoordinatorSettings, Leader, Clock], Store]


@dataclass(frozen=True, slots=True)
class World:
    """What a process is given by the code that starts it."""

    clock: Clock
    #: Seconds, for measuring only.
    stopwatch: Callable[[], float]
    new_id: Callable[[], str]
    log: Log
    tls: TlsFiles | None = None
    version: str = ""
    #: Which store it is; tests have their own.
    store_of: OpenStore = store_of
    #: None: it lives by the real clock, as every process does but a simulated one.
    times: WireTimes | None = None


class StartRefused(Exception):
    """The coordinator must not start; the text says what happened, why, and what to do."""


class StoreLost(Exception):
    """The file has been out of reach for too long."""


class CoordinatorProcess:
    def __init__(self, settings: CoordinatorSettings, world: World) -> None:
        self._world = world
        self._settings = settings
        log, clock = world.log, world.clock
        self.leading = LeadingReplica(settings, clock, world.stopwatch, log)
        self._duties = Duties(self.leading, settings.store, clock, log)
        self._store: Store | None = None
        self._metrics = CoordinatorMetrics(
            self.leading.counts, self._refresh, world.version, self._certificate_ends
        )
        self._endpoint = CoordinatorEndpoint(
            CoordinatorAnswers(self.leading, log, self._duties, self._most_changes),
            AdminAnswers(self.leading, log, clock, world.new_id, settings.store, world.version),
            address=settings.listen,
            tls=world.tls,
            observe=self._on_call,
            failed=self._on_internal_error,
            times=world.times,
        )
        self._pages = Pages(
            pages_of(self.leading, self._metrics),
            debug_routes(settings.debug_endpoints, lambda: sizes_of(self.leading), real_profiler()),
        )
        self._tasks: dict[str, asyncio.Task[None]] = {}
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
        if self._settings.advertise_addr:
            return self._settings.advertise_addr
        host, _, _ = self._settings.listen.rpartition(":")
        return f"{host}:{self.port}"

    async def start(self) -> int:
        """Serving; its port. OSError where an address is taken; StartRefused."""
        settings, world = self._settings, self._world
        try:
            await self._endpoint.start()
            if settings.metrics_addr not in ("", "0"):
                await self._pages.start(settings.metrics_addr)
            me = Leader(settings.id, self.address)
            self._store = store = world.store_of(settings, me, world.clock)
            await self.leading.open(store, me.address)
        except StoreRefused as problem:
            await self._close()
            raise StartRefused(str(problem)) from problem
        except OSError:
            await self._close()
            raise
        work: Mapping[str, Coroutine[Any, Any, None]] = {
            "leading": self.leading.run(),
            "watch": self._watch(),
        }
        self._tasks = {name: asyncio.create_task(each, name=name) for name, each in work.items()}
        world.log.info(
            "coordinator.started",
            msg=f"coordinator {settings.id} serves on port {self.port}",
            replica=settings.id,
            store=settings.store,
            port=self.port,
            metrics_port=self.metrics_port,
        )
        return self.port

    async def until_dead(self) -> None:
        """Returns at a stop; raises CoreTaskDied when a task ends that never should."""
        await until_one_dies(self._tasks.values(), self._stopped, (StoreLost,))

    async def stop(self, grace_seconds: float | None = None) -> None:
        """Returns within the grace and a few seconds; again is no failure."""
        if self._stopped.is_set():
            return
        grace = self._settings.shutdown_grace if grace_seconds is None else grace_seconds
        self._stopped.set()
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=STOP_MARGIN_SECONDS)
        await self.leading.close()
        await self._close(grace)
        text = "stopped in order"
        self._world.log.info("coordinator.stopped", msg=text, replica=self._settings.id)

    def apply_settings(self, settings: CoordinatorSettings) -> None:
        self._settings = settings
        self.leading.apply_settings(settings)

    # -- within ----------------------------------------------------------------------------------

    async def _close(self, grace: float = 0.0) -> None:
        await self._endpoint.stop(grace)
        await self._pages.stop()
        if self._store is not None:
            await self._store.close()

    async def _watch(self) -> None:
        """Tells health checks whether a leader is known; gives up on a file that is lost."""
        clock, told = self._world.clock, False
        lost_since: Instant | None = None
        while True:
            known = bool(self.leading.leader_address())
            if known != told:
                told = known
                await self._endpoint.set_leader_known(known)
            trouble = self.leading.trouble()
            lost_since = (lost_since or clock.now()) if trouble else None
            if self._settings.store == "sqlite" and lost_since is not None:
                self._give_up(trouble, clock.now() - lost_since)
            await clock.sleep(WATCH_SECONDS)

    def _give_up(self, trouble: str, lost_for: Instant) -> None:
        if lost_for >= STORE_PATIENCE_SECONDS * SECOND:
            raise StoreLost(
                f"the store has been out of reach for {STORE_PATIENCE_SECONDS:.0f} s, so this "
                f"process ends and lets itself be restarted: {trouble}"
            )

    def _most_changes(self) -> int | None:
        return self._store.most_changes if self._store is not None else None

    def _refresh(self) -> None:
        leading, now = self.leading, self._world.clock.now()
        counts = leading.counts
        measure(counts, leading.book_or_none(), now)
        counts.set("is_leader", float(leading.leads))
        counts.set("raft_term", leading.heard().term)
        if leading.leads and (saved_at := self._duties.saved_at) is not None:
            counts.set("snapshot_age_seconds", (now - saved_at) / SECOND)

    def _certificate_ends(self) -> float | None:
        tls = self._world.tls
        try:
            return expires_at(tls.cert.read_bytes()) if tls else None
        except OSError:
            return None

    def _on_call(self, method: str, code: Code, _seconds: float) -> None:
        if method == "ReportShard" and code is Code.PERMISSION_DENIED:
            self.leading.counts.add("reports_total", result="identity")

    def _on_internal_error(self, method: str, problem: Exception) -> None:
        self._world.log.error("rpc.internal", msg=f"{method}: {problem!r}", method=method)
