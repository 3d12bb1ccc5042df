"""A running coordinator: one replica, from its port to its last word.

On the way up: the port is bound first, because others are told its address; the store is this
process's own, or shared by lease. On the way down: it resigns before anything else, so that
another replica leads within a second; then open calls get time to end, and the process exits.
"""

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from bigfleet.coordinator.driving.duties import Duties
from bigfleet.coordinator.driving.leading_replica import LeadingReplica
from bigfleet.coordinator.driving.services import AdminAnswers, CoordinatorAnswers
from bigfleet.coordinator.metrics import CoordinatorMetrics, measure
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.stores.contract import Leader, Store, StoreRefused
from bigfleet.coordinator.stores.sqlite import SqliteStore
from bigfleet.edge.clock import Clock
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from bigfleet.process import Process, ProcessContext
from bigfleet.wire.coordinator_server import CoordinatorEndpoint
from bigfleet.wire.lines import TlsFiles

#: How long the one process of a file waits for its disk before it gives up.
STORE_PATIENCE_SECONDS = 30.0
#: How often it is looked whether a leader is known.
WATCH_SECONDS = 0.2


def store_of(settings: CoordinatorSettings, me: Leader, clock: Clock) -> Store:
    """Not yet opened; raises StoreRefused.

    A process with a file of its own does not load the client of etcd: most have no etcd at all.
    """
    if settings.store == "sqlite":
        return SqliteStore(Path(settings.data_dir), me, clock)
    from bigfleet.coordinator.stores.etcd import EtcdStore
    from bigfleet.wire.etcd.client import EtcdClient

    # As etcd's own tools write them: one flag, commas between.
    endpoints = [e.strip() for given in settings.etcd_endpoints for e in given.split(",")]
    client = EtcdClient([each for each in endpoints if each], etcd_tls(settings))
    return EtcdStore(client, settings.etcd_prefix, me, clock, settings.lease_ttl)


def etcd_tls(settings: CoordinatorSettings) -> TlsFiles | None:
    """Raises StoreRefused where they cannot be used."""
    if not settings.etcd_tls_cert:
        return None
    files = TlsFiles(
        Path(settings.etcd_tls_cert), Path(settings.etcd_tls_key), Path(settings.etcd_tls_ca)
    )
    if why := files.why_unusable():
        raise StoreRefused(f"the certificates for etcd cannot be used: {why}")
    return files


OpenStore = Callable[[CoordinatorSettings, Leader, Clock], Store]


class StoreLost(Exception):
    """The file has been out of reach for too long."""


class CoordinatorProcess(Process):
    component = "coordinator"
    self_explaining = (StoreLost,)

    def __init__(
        self,
        settings: CoordinatorSettings,
        context: ProcessContext,
        open_store: OpenStore = store_of,
    ) -> None:
        super().__init__(context)
        self.settings = settings
        self._open_store = open_store
        log, clock = context.log, context.clock
        self.leading = LeadingReplica(settings, clock, context.stopwatch, log)
        self._duties = Duties(self.leading, settings.store, clock, log)
        self._store: Store | None = None
        self.metrics = CoordinatorMetrics(
            self.leading.counts, self._refresh, context.version, context.certificate_ends
        )
        self._endpoint = CoordinatorEndpoint(
            CoordinatorAnswers(self.leading, log, self._duties, self._most_changes),
            AdminAnswers(self.leading, log, clock, context.new_id, settings.store, context.version),
            address=settings.listen,
            tls=context.tls,
            observe=self._on_call,
            failed=self._on_internal_error,
            times=context.times,
        )

    @property
    def port(self) -> int:
        return self._endpoint.port

    @property
    def name(self) -> str:
        return self.settings.id

    @property
    def shutdown_grace(self) -> float:
        return self.settings.shutdown_grace

    @property
    def address(self) -> str:
        """What others are told."""
        if self.settings.advertise_addr:
            return self.settings.advertise_addr
        host, _, _ = self.settings.listen.rpartition(":")
        return f"{host}:{self.port}"

    def apply_settings(self, settings: CoordinatorSettings) -> None:
        self.settings = settings
        self.leading.apply_settings(settings)

    def why_not_ready(self) -> str:
        return self.leading.why_not_ready()

    def sizes(self) -> Mapping[str, Any]:
        """Of the fleet only what a leader knows."""
        leading = self.leading
        book = leading.book_or_none()
        return {
            "leads": leading.leads,
            "term": leading.heard().term,
            "revision": leading.revision,
            "series": leading.counts.series,
            **(book.sizes() if book is not None else {}),
        }

    # -- its part of a start and of a stop -------------------------------------------------------

    async def _open(self) -> None:
        settings = self.settings
        await self._endpoint.start()
        await self._serve_pages(settings.metrics_addr, debug=settings.debug_endpoints)
        me = Leader(settings.id, self.address)
        self._store = store = self._open_store(settings, me, self.context.clock)
        await self.leading.open(store, me.address)

    def _work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        return {"leading": self.leading.run(self._duties), "watch": self._watch()}

    def _facts(self) -> Mapping[str, Any]:
        return {"replica": self.settings.id}

    def _started_facts(self) -> Mapping[str, Any]:
        return {
            "msg": f"coordinator {self.settings.id} serves on port {self.port}",
            "store": self.settings.store,
            "port": self.port,
        }

    async def _finish(self, grace_seconds: float) -> None:
        await self.leading.close()
        await self._endpoint.stop(grace_seconds)

    async def _close(self) -> None:
        if self._store is not None:
            await self._store.close()

    # -- within ----------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Tells health checks whether a leader is known; gives up on a file that is lost."""
        clock, told = self.context.clock, False
        lost_since: Instant | None = None
        while True:
            known = bool(self.leading.leader_address())
            if known != told:
                told = known
                await self._endpoint.set_leader_known(known)
            trouble = self.leading.trouble()
            lost_since = (lost_since or clock.now()) if trouble else None
            if self.settings.store == "sqlite" and lost_since is not None:
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
        leading, now = self.leading, self.context.clock.now()
        counts = leading.counts
        measure(counts, leading.book_or_none(), now)
        counts.set("is_leader", float(leading.leads))
        counts.set("raft_term", leading.heard().term)
        if leading.leads and (saved_at := self._duties.saved_at) is not None:
            counts.set("snapshot_age_seconds", (now - saved_at) / SECOND)

    def _on_call(self, method: str, code: Code, _seconds: float) -> None:
        if method == "ReportShard" and code is Code.PERMISSION_DENIED:
            self.leading.counts.add("reports_total", result="identity")
