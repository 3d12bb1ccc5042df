"""A running operator: caches on both replicas, and on the one that holds the lease all the rest.

On the way down the line is cut first and the lease let go last: the other replica goes on within
seconds, and never beside this one.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from bigfleet.edge.certificates import expires_at
from bigfleet.edge.clock import SECOND
from bigfleet.edge.core_tasks import until_one_dies
from bigfleet.edge.counts import Counts
from bigfleet.edge.debug_pages import debug_routes
from bigfleet.edge.driver import real_profiler
from bigfleet.edge.http_pages import pages_of
from bigfleet.edge.loop_lag import LoopLag
from bigfleet.edge.pages import Pages
from bigfleet.kube.api import Api
from bigfleet.kube.connection import open_api, own_namespace
from bigfleet.kube.events import Events
from bigfleet.kube.leases import Election
from bigfleet.operator.driving.cluster_cache import ClusterCache
from bigfleet.operator.driving.leading_replica import LeadingReplica
from bigfleet.operator.driving.world import World
from bigfleet.operator.metrics import BlockedNamespaces, OperatorMetrics
from bigfleet.operator.settings import OperatorSettings, node_rules_of

LEASE = "bigfleet-operator"


class OperatorProcess:
    def __init__(self, settings: OperatorSettings, world: World) -> None:
        """Raises BadKubeconfig and BadTemplateFile."""
        self._settings = settings
        self._world = world
        self.counts = counts = Counts()
        self.api = api = self._open_api()
        self._events = Events(
            api, world.clock, world.log, component="bigfleet-operator", instance=world.identity
        )
        self.cluster_cache = ClusterCache(
            api,
            self._events,
            settings.cluster_id,
            world.clock,
            world.draw,
            world.log,
            counts,
            stale_after_seconds=settings.watch_stale,
            node_rules=node_rules_of(settings),
            successor_after=round(settings.successor_wait * SECOND),
        )
        self.leading = LeadingReplica(
            settings, world, api, self.cluster_cache, self._events, counts
        )
        self.election = Election(
            api,
            world.clock,
            world.draw,
            world.log,
            name=LEASE,
            namespace=settings.namespace or own_namespace(settings.kubeconfig),
            identity=world.identity,
            duration=settings.lease.duration,
            renew_deadline=settings.lease.renew,
            retry=settings.lease.retry,
        )
        # The last word before every write, also before one that waited while the session ended.
        api.may_write = lambda: self.election.holding and self.leading.line.connected
        self._blocked = BlockedNamespaces(counts, self.cluster_cache.pods_on_nodes.has_placed)
        metrics = OperatorMetrics(counts, self._refresh, world.version, self._certificate_ends)
        self._lag = LoopLag(world.clock, world.stopwatch)
        self._pages = Pages(
            pages_of(self._lag, self.why_not_ready, metrics.page),
            debug_routes(settings.debug_endpoints, self._sizes, real_profiler()),
        )
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopped = asyncio.Event()

    @property
    def metrics_port(self) -> int:
        return self._pages.port

    async def start(self) -> None:
        settings, world = self._settings, self._world
        if settings.metrics_addr not in ("", "0"):
            try:
                await self._pages.start(settings.metrics_addr)
            except OSError:
                await self.api.close()
                raise
        work: dict[str, Coroutine[Any, Any, None]] = {
            "caches": self.cluster_cache.run(),
            "lease": self.election.run(),
            "events": self._events.run(),
            "leading": self._lead(),
            "lag": self._lag.run(),
        }
        self._tasks = {name: asyncio.create_task(each, name=name) for name, each in work.items()}
        world.log.info(
            "operator.started",
            msg=f"operator of cluster {settings.cluster_id} watches {self.api.server}",
            cluster=settings.cluster_id,
            shard=settings.shard_addr,
            identity=world.identity,
            metrics_port=self.metrics_port,
        )

    async def until_dead(self) -> None:
        """Returns at a stop; raises CoreTaskDied when a task ends that never should."""
        await until_one_dies(self._tasks.values(), self._stopped)

    async def stop(self) -> None:
        """Returns within the grace and little more; again is no failure."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        for name in ("leading", "caches", "events", "lag", "lease"):
            if (task := self._tasks.get(name)) is None:
                continue
            task.cancel()
            # The lease comes last: no other replica leads before this one has closed its line.
            await asyncio.wait({task}, timeout=self._settings.shutdown_grace)
        await self._pages.stop()
        await self.api.close()
        self._world.log.info("operator.stopped", msg="stopped in order")

    def apply_settings(self, settings: OperatorSettings) -> None:
        self._settings = settings
        self.leading.apply_settings(settings)

    def why_not_ready(self) -> str:
        """Empty: ready. The shard is never asked."""
        unsynced = self.cluster_cache.why_unsynced()
        if self.election.holding and unsynced:
            return f"not all is known yet of {unsynced}"
        if not self.election.holding and not self.election.observed:
            return "the lease has not been seen yet"
        return ""

    # -- within ----------------------------------------------------------------------------------

    def _open_api(self) -> Api:
        settings, world = self._settings, self._world
        return open_api(
            settings.kubeconfig,
            world.clock,
            world.draw,
            qps=settings.qps,
            burst=settings.burst,
            user_agent=f"bigfleet-operator/{world.version}",
            counts=self.counts,
        )

    async def _lead(self) -> None:
        """For ever: what only the holder of the lease does, ended at once when it loses it."""
        while True:
            await self.election.wait_held()
            self._world.log.info("lease.held", msg="this replica leads")
            working = asyncio.create_task(self.leading.run(), name="leading.work")
            losing = asyncio.create_task(self.election.wait_lost(), name="leading.lost")
            try:
                await asyncio.wait({working, losing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                working.cancel()
                losing.cancel()
                await asyncio.wait({working, losing})
            if not working.cancelled():
                working.result()
            self._world.log.warning("lease.lost", msg="another replica may lead; the line is cut")

    def _refresh(self) -> None:
        if self.cluster_cache.pods.cache.synced:
            self._blocked.on_scrape()
        self.counts.set("leader", self.election.holding)
        self.counts.set("crs_skipped", len(self.cluster_cache.book.skipped))
        self.counts.set("outbox_depth", self.leading.waiting())

    def _sizes(self) -> dict[str, int]:
        return {
            "leads": self.election.holding,
            "connected": self.leading.line.connected,
            "series": self.counts.series,
            **self.cluster_cache.sizes(),
            **self.leading.sizes(),
            **self._events.sizes(),
        }

    def _certificate_ends(self) -> float | None:
        tls = self._world.tls
        try:
            return expires_at(tls.cert.read_bytes()) if tls else None
        except (OSError, ValueError):
            # Unreadable just now; the line itself says more when it is dialled.
            return None
