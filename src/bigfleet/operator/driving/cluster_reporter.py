"""Tells the shard how the cluster does after each roll-up it took, and learns how its Needs stand.

Nothing depends on it: a shard that does not know such reports is asked again ten minutes later.
"""

import asyncio
from collections.abc import Callable

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.events import Events
from bigfleet.model.cluster_reports import ClusterReport, ClusterReportReply
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.operator.drains import Drains
from bigfleet.operator.driving.cluster_cache import ClusterCache
from bigfleet.operator.driving.demand_reviser import DemandReviser
from bigfleet.operator.driving.forecast_events import ForecastEvents
from bigfleet.operator.driving.node_watch import NodeWatch
from bigfleet.operator.driving.refused_rollups import RefusedRollups
from bigfleet.operator.driving.write_back import WriteBack
from bigfleet.operator.reclaim_admission import ReclaimKinds
from bigfleet.operator.revised_demand import RevisedDemand
from bigfleet.operator.unplaced_pods import CacheContents, UnplacedPods
from bigfleet.wire.cluster_report_client import ClusterReportClient

REST_SECONDS = 600.0
#: How often it is looked whether a first reply is wanted.
FIRST_LOOK_SECONDS = 0.25


class ClusterReporter:
    def __init__(
        self,
        cluster_cache: ClusterCache,
        open_client: Callable[[], ClusterReportClient],
        demand: RevisedDemand,
        demand_reviser: DemandReviser,
        write_back: WriteBack,
        drains: Drains,
        kinds: ReclaimKinds,
        events: Events,
        clock: Clock,
        counts: Counts,
        log: Log,
    ) -> None:
        self._cluster_cache = cluster_cache
        self._open_client = open_client
        self._demand = demand
        self._demand_reviser = demand_reviser
        self._write_back = write_back
        self._drains = drains
        self._kinds = kinds
        self._clock = clock
        self._counts = counts
        self._log = log
        self._watch = NodeWatch(cluster_cache, write_back, events, counts, log)
        self._refusals = RefusedRollups(cluster_cache, events, counts, log)
        self._forecast_events = ForecastEvents(cluster_cache, events)
        self.unplaced_pods = UnplacedPods(cluster_cache.book.cluster, cluster_cache.book.need_of)
        #: It was said that the shard takes no reports; said again only if it did meanwhile.
        self._told_unknown = False
        self._due = asyncio.Event()
        #: It is due, or to be looked whether it is.
        self._stirred = asyncio.Event()

    def on_rollup_acked(self) -> None:
        self.report_soon()

    def on_rollup_unanswered(self) -> None:
        """The one before has no acknowledgement: the reply to a report says whether it was
        refused, and why."""
        self.report_soon()

    def report_soon(self) -> None:
        """Sends a report soon, even if no roll-up is due."""
        self._due.set()
        self._stirred.set()

    def on_disconnected(self) -> None:
        self._due.clear()
        self.unplaced_pods.on_disconnected()
        self._watch.on_disconnected()
        self._refusals.on_disconnected()
        self._counts.set("covered_not_placed", 0)

    async def run(self) -> None:
        """For ever; one report at a time, each with a deadline."""
        while True:
            await self._until_due()
            self._due.clear()
            if await self._told() is Code.UNIMPLEMENTED:
                text = (
                    "this shard takes no cluster reports: what it covers is not told apart, and "
                    "demand is not revised for pods that find no place"
                )
                if not self._told_unknown:
                    self._told_unknown = True
                    self._log.info("report.unknown", msg=text)
                self._demand.on_no_reply()
                self._kinds.on_unknown()
                await self._clock.sleep(REST_SECONDS)

    async def _until_due(self) -> None:
        """After a roll-up; and before the first one, as often as it takes to be answered."""
        while not self._due.is_set():
            timer = self._clock.call_later(FIRST_LOOK_SECONDS, self._stirred.set)
            try:
                await self._stirred.wait()
            finally:
                timer.cancel()
            self._stirred.clear()
            if self._demand.wants_first_reply(self._clock.now()):
                return

    async def _told(self) -> Code | None:
        """None: it went well. The line is opened anew, so that new certificates count."""
        try:
            client = self._open_client()
        except OSError as problem:
            self._log.debug("report.failed", msg=f"the certificates cannot be read: {problem}")
            return Code.UNAVAILABLE
        asked_at = self._clock.now()
        try:
            reply: ClusterReportReply = await client.report(self._look(asked_at))
        except Rejected as problem:
            self._log.debug("report.failed", msg=str(problem))
            return problem.code
        finally:
            await client.close()
        at = self._clock.now()
        self._told_unknown = False
        self.unplaced_pods.on_reply(reply, at)
        self._kinds.on_reply(reply.preemptions, asked_at, at)
        self._refusals.on_reply(reply.refused_rollup)
        self._forecast_events.on_reply(reply, at)
        self._demand_reviser.tell(self._demand.on_reply(reply, at))
        return None

    def _look(self, at: Instant) -> ClusterReport:
        cluster_cache = self._cluster_cache
        sight = CacheContents(
            cluster_cache.requests.cache.objects,
            cluster_cache.pods_on_nodes.unscheduled.values(),
            [each.status.phase for each in cluster_cache.upcoming.cache.objects.values()],
            cluster_cache.nodes.cache.objects.values(),
            self._write_back.upcoming.nodes_missing,
            len(cluster_cache.book.skipped),
            self._watch.look(at),
            self._demand.stuck(),
            self._demand.asks(),
            self._drains.refused(),
            cluster_cache.pods_on_nodes.counts if cluster_cache.pods_are_fresh(at) else None,
        )
        look = self.unplaced_pods.look(sight, at)
        self._counts.set("covered_not_placed", len(look.covered))
        return look.report
