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
from bigfleet.operator.driving.knowing import Knowing
from bigfleet.operator.driving.node_watch import NodeWatch
from bigfleet.operator.driving.write_back import WriteBack
from bigfleet.operator.machine_nodes import MachineNodes
from bigfleet.operator.placing import Placing, Sight
from bigfleet.wire.cluster_reports import ClusterReportClient

REST_SECONDS = 600.0


class ClusterReporting:
    def __init__(
        self,
        knowing: Knowing,
        open_client: Callable[[], ClusterReportClient],
        machines: MachineNodes,
        write_back: WriteBack,
        events: Events,
        clock: Clock,
        counts: Counts,
        log: Log,
    ) -> None:
        self._knowing = knowing
        self._open_client = open_client
        self._write_back = write_back
        self._clock = clock
        self._counts = counts
        self._log = log
        self._watch = NodeWatch(knowing, machines, write_back, events, counts, log)
        self.placing = Placing(knowing.book.cluster, knowing.book.need_of)
        self._due = asyncio.Event()

    def on_rollup_acked(self) -> None:
        self._due.set()

    def on_disconnected(self) -> None:
        self._due.clear()
        self.placing.on_disconnected()
        self._watch.on_disconnected()
        self._counts.set("covered_not_placed", 0)

    async def run(self) -> None:
        """For ever; one report at a time, each with a deadline."""
        while True:
            await self._due.wait()
            self._due.clear()
            if await self._told() is Code.UNIMPLEMENTED:
                text = "this shard takes no cluster reports; what it covers is not told apart"
                self._log.info("report.unknown", msg=text)
                await self._clock.sleep(REST_SECONDS)

    async def _told(self) -> Code | None:
        """None: it went well. The line is opened anew, so that new certificates count."""
        try:
            client = self._open_client()
        except OSError as problem:
            self._log.debug("report.failed", msg=f"the certificates cannot be read: {problem}")
            return Code.UNAVAILABLE
        try:
            reply: ClusterReportReply = await client.report(self._look(self._clock.now()))
        except Rejected as problem:
            self._log.debug("report.failed", msg=str(problem))
            return problem.code
        finally:
            await client.close()
        self.placing.on_reply(reply, self._clock.now())
        return None

    def _look(self, at: Instant) -> ClusterReport:
        knowing = self._knowing
        sight = Sight(
            knowing.requests.cache.objects,
            knowing.pods_on_nodes.unscheduled.values(),
            [each.status.phase for each in knowing.upcoming.cache.objects.values()],
            knowing.nodes.cache.objects.values(),
            self._write_back.upcoming.nodes_missing,
            len(knowing.book.skipped),
            self._watch.look(at),
        )
        look = self.placing.look(sight, at)
        self._counts.set("covered_not_placed", len(look.covered))
        return look.report
