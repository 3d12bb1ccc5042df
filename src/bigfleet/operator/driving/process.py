"""A running operator: caches on both replicas, and on the one that holds the lease all the rest.

On the way down the line is cut first and the lease let go last: the other replica goes on within
seconds, and never beside this one.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from bigfleet.edge.clock import SECOND
from bigfleet.edge.counts import Counts
from bigfleet.kube.api import Api
from bigfleet.kube.connection import open_api, own_namespace
from bigfleet.kube.events import Events
from bigfleet.kube.leases import Election
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.driving.cluster_cache import ClusterCache
from bigfleet.operator.driving.leading_replica import LeadingReplica
from bigfleet.operator.metrics import BlockedNamespaces, OperatorMetrics
from bigfleet.operator.settings import OperatorSettings, node_rules_of
from bigfleet.process import Process, ProcessContext

LEASE = "bigfleet-operator"


class OperatorProcess(Process):
    component = "operator"

    def __init__(self, settings: OperatorSettings, context: ProcessContext) -> None:
        """Raises BadKubeconfig and BadTemplateFile."""
        super().__init__(context)
        self._current = CurrentSettings(settings)
        self._node_rules = CurrentSettings(node_rules_of(settings))
        self._identity = identity = settings.identity or context.identity
        clock, draw, log = context.clock, context.draw, context.log
        self.counts = counts = Counts()
        self.api = api = self._open_api()
        self._events = Events(api, clock, log, component="bigfleet-operator", instance=identity)
        self.cluster_cache = ClusterCache(
            api,
            self._events,
            settings.cluster_id,
            clock,
            draw,
            log,
            counts,
            stale_after_seconds=settings.watch_stale,
            node_rules=self._node_rules,
            successor_after=round(settings.successor_wait * SECOND),
        )
        self.leading = LeadingReplica(
            self._current, context, api, self.cluster_cache, self._events, counts
        )
        self.election = Election(
            api,
            clock,
            draw,
            log,
            name=LEASE,
            namespace=settings.namespace or own_namespace(settings.kubeconfig),
            identity=identity,
            duration=settings.lease.duration,
            renew_deadline=settings.lease.renew,
            retry=settings.lease.retry,
        )
        self._blocked = BlockedNamespaces(counts, self.cluster_cache.pods_on_nodes.has_placed)
        self.metrics = OperatorMetrics(
            counts, self._refresh, context.version, context.certificate_ends
        )

    @property
    def _settings(self) -> OperatorSettings:
        return self._current.now

    @property
    def tasks_margin(self) -> float:
        return self._settings.shutdown_grace

    def apply_settings(self, settings: OperatorSettings) -> None:
        self._current.replace(settings)
        self._node_rules.replace(node_rules_of(settings))

    def may_write(self) -> bool:
        """The last word before every write, also before one that waited while the session ended."""
        return self.election.holding and self.leading.line.connected

    def why_not_ready(self) -> str:
        """Empty: ready. The shard is never asked."""
        unsynced = self.cluster_cache.why_unsynced()
        if self.election.holding and unsynced:
            return f"not all is known yet of {unsynced}"
        if not self.election.holding and not self.election.observed:
            return "the lease has not been seen yet"
        return ""

    def sizes(self) -> Mapping[str, int]:
        return {
            "leads": self.election.holding,
            "connected": self.leading.line.connected,
            "series": self.counts.series,
            **self.cluster_cache.sizes(),
            **self.leading.sizes(),
            **self._events.sizes(),
        }

    # -- its part of a start and of a stop -------------------------------------------------------

    async def _open(self) -> None:
        await self._serve_pages(self._settings.metrics_addr, debug=self._settings.debug_endpoints)

    def _work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """The skeleton ends `leading` first and `lease` last, so no other replica leads before
        this one has let go of the line."""
        return {
            "caches": self.cluster_cache.run(),
            "lease": self.election.run(),
            "events": self._events.run(),
            "leading": self._lead(),
        }

    def _started_facts(self) -> Mapping[str, Any]:
        settings = self._settings
        return {
            "msg": f"operator of cluster {settings.cluster_id} watches {self.api.server}",
            "cluster": settings.cluster_id,
            "shard": settings.shard_addr,
            "identity": self._identity,
        }

    async def _close(self) -> None:
        await self.api.close()

    # -- within ----------------------------------------------------------------------------------

    def _open_api(self) -> Api:
        settings, context = self._settings, self.context
        return open_api(
            settings.kubeconfig,
            context.clock,
            context.draw,
            qps=settings.qps,
            burst=settings.burst,
            user_agent=f"bigfleet-operator/{context.version}",
            counts=self.counts,
            writer=self,
        )

    async def _lead(self) -> None:
        """For ever: what only the holder of the lease does, ended at once when it loses it."""
        while True:
            await self.election.wait_held()
            self.context.log.info("lease.held", msg="this replica leads")
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
            self.context.log.warning("lease.lost", msg="another replica may lead; the line is cut")

    def _refresh(self) -> None:
        if self.cluster_cache.pods.cache.synced:
            self._blocked.on_scrape()
        self.counts.set("leader", self.election.holding)
        self.counts.set("crs_skipped", len(self.cluster_cache.book.skipped))
        self.counts.set("outbox_depth", self.leading.waiting())
