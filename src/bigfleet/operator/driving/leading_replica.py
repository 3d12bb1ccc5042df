"""What the replica that holds the lease does: the line to the shard, and all that hangs on it."""

import asyncio

from bigfleet.edge.counts import Counts
from bigfleet.kube.api import Api
from bigfleet.kube.events import Events
from bigfleet.model.backoffs import Backoff
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.acknowledgements import Acknowledgements
from bigfleet.operator.bootstrap.renderer import ClusterFacts
from bigfleet.operator.drains import Drains
from bigfleet.operator.driving.acknowledge_requests import AcknowledgeRequests
from bigfleet.operator.driving.bootstrap_requests import BootstrapRequests, TemplateFile
from bigfleet.operator.driving.cluster_cache import ClusterCache
from bigfleet.operator.driving.cluster_reporter import ClusterReporter
from bigfleet.operator.driving.demand_reviser import DemandReviser
from bigfleet.operator.driving.drain_runner import DrainRunner
from bigfleet.operator.driving.frame_router import FrameRouter
from bigfleet.operator.driving.line import Dialling, ShardLine
from bigfleet.operator.driving.node_cleanup import NodeCleanup
from bigfleet.operator.driving.tokens import BootstrapTokens
from bigfleet.operator.driving.write_back import WriteBack
from bigfleet.operator.outbox import OperatorAnswers
from bigfleet.operator.reclaim_admission import ReclaimAdmission, ReclaimKinds
from bigfleet.operator.revised_demand import RevisedDemand, RevisionSettings
from bigfleet.operator.schedule import RollupSchedule
from bigfleet.operator.settings import OperatorSettings
from bigfleet.process import ProcessContext
from bigfleet.wire.cluster_report_client import ClusterReportClient
from bigfleet.wire.session_client import SessionClient


class LeadingReplica:
    def __init__(
        self,
        current: CurrentSettings[OperatorSettings],
        context: ProcessContext,
        api: Api,
        cluster_cache: ClusterCache,
        events: Events,
        counts: Counts,
    ) -> None:
        """Raises BadTemplateFile."""
        settings = current.now
        clock, draw, log = context.clock, context.draw, context.log
        self._schedule = RollupSchedule(current)
        self.demand = RevisedDemand(
            cluster_cache.book,
            cluster_cache.units,
            cluster_cache.overheads,
            cluster_cache.occupancy,
            cluster_cache.admissions,
            cluster_cache.is_trustworthy,
            RevisionSettings.of(settings),
        )
        self.line = ShardLine(
            Dialling(
                settings.cluster_id,
                SessionClient(settings.shard_addr, context.tls),
                settings.outbox,
                Backoff(settings.reconnect.least, settings.reconnect.most),
            ),
            self._schedule,
            self.demand,
            clock,
            context.stopwatch,
            draw,
            counts,
            log,
        )
        self._answers = OperatorAnswers(self.line)
        self._tokens = _tokens_of(settings, context, api)
        acknowledgements = Acknowledgements(cluster_cache.book)
        self._marking = AcknowledgeRequests(
            api, acknowledgements, clock, log, counts, concurrency=settings.ack_concurrency
        )
        self._kinds = ReclaimKinds()
        admission = ReclaimAdmission(
            cluster_cache.admissions,
            cluster_cache.occupancy,
            self._kinds,
            self.demand,
            cluster_cache.view,
            current,
        )
        self.drains = drains = Drains(cluster_cache, draw, counts, current, admission)
        self.write_back = WriteBack(
            api,
            clock,
            draw,
            log,
            counts,
            cluster_cache,
            drains,
            events,
            dispatch=settings.dispatch,
        )
        self.draining = DrainRunner(
            drains,
            api,
            clock,
            log,
            answers=self._answers,
            events=events,
            write_back=self.write_back,
            demand=self._schedule,
            concurrency=settings.dispatch,
        )
        self.cleanup = NodeCleanup(cluster_cache, api, events, clock, log, counts, current)
        self.demand_reviser = DemandReviser(
            cluster_cache, self.demand, self._schedule, events, clock, counts, log
        )
        self.reporting = ClusterReporter(
            cluster_cache,
            lambda: ClusterReportClient(settings.shard_addr, context.tls),
            self.demand,
            self.demand_reviser,
            self.write_back,
            drains,
            self._kinds,
            events,
            clock,
            counts,
            log,
        )
        facts = ClusterFacts(settings.cluster_id, settings.api_server or api.server, api.ca_bundle)
        templates = TemplateFile(settings.bootstrap_template_file, log)
        bootstrap_requests = BootstrapRequests(
            templates, facts, clock, log, counts, tokens=self._tokens
        )
        self._router = FrameRouter(
            cluster_cache,
            acknowledgements,
            self._marking,
            self.draining,
            self.write_back,
            self.cleanup,
            bootstrap_requests,
            self.reporting,
            self.demand,
            self._kinds,
            clock,
            self._answers,
        )

    async def run(self) -> None:
        """For ever. Cancelling it ends the session at once, and every write with it."""
        # Another replica may have led meanwhile: what it revised, the shard tells.
        self.demand.restart()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._marking.run(), name="acknowledging")
            tasks.create_task(self.draining.run(), name="draining")
            tasks.create_task(self.write_back.run(), name="write-back")
            tasks.create_task(self.cleanup.run(), name="node-cleanup")
            tasks.create_task(self.reporting.run(), name="reporting")
            tasks.create_task(self.demand_reviser.run(), name="revising")
            if self._tokens is not None:
                swept = self._tokens.keep_swept(self.line)
                tasks.create_task(swept, name="tokens")
            tasks.create_task(self.line.run(self._router), name="line")

    def waiting(self) -> int:
        return self.line.waiting() + len(self._answers)

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow."""
        return {
            "answersWaiting": self.waiting(),
            **self.demand.sizes(),
            **self.draining.sizes(),
            **self.write_back.writer.sizes(),
            **self.cleanup.sizes(),
        }


def _tokens_of(
    settings: OperatorSettings, context: ProcessContext, api: Api
) -> BootstrapTokens | None:
    if not settings.mint_token:
        return None
    return BootstrapTokens(
        api,
        context.clock,
        context.random_bytes,
        context.log,
        cluster_id=settings.cluster_id,
        ttl_seconds=settings.token_ttl,
        prefix=settings.token_prefix,
    )
