"""A running pod controller: one replica, from its first list to its last word.

Every replica reads the cluster, so that the next one to lead can begin at once; only the one with
the lease writes, and only once it has read everything. On the way down the workers end first, then
the lease is given back.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any

from bigfleet.edge.counts import Counts, Survey
from bigfleet.kube.api import Api, Writer
from bigfleet.kube.connection import open_api, own_namespace
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import CAPACITY_REQUESTS, PODS
from bigfleet.kube.leases import Election
from bigfleet.kube.names import PODWATCH_LEASE
from bigfleet.kube.objects import CapacityRequest, ObjectKey, Pod
from bigfleet.kube.reflector import Reflector
from bigfleet.model.errors import BadInput, StartRefused
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.capacity_questions import CapacityQuestions
from bigfleet.podwatch.driving.buffers import BufferKeeping, BufferOptions
from bigfleet.podwatch.driving.cluster_cache import ClusterCache
from bigfleet.podwatch.driving.defaults import DefaultsFile
from bigfleet.podwatch.driving.pods import PodKeeping, PodwatchContext
from bigfleet.podwatch.driving.provisioning import ProvisioningKeeping, ProvisioningOptions
from bigfleet.podwatch.driving.request_writer import RequestWriter
from bigfleet.podwatch.driving.shard_questions import ShardQuestions
from bigfleet.podwatch.metrics import (
    UNTRANSLATED_KINDS,
    ApiCounts,
    PodwatchMetrics,
)
from bigfleet.podwatch.records import (
    Bodies,
    DemandSource,
    OwnRequest,
    Policy,
    WatchedPod,
    own_request,
    watched_pod,
)
from bigfleet.podwatch.settings import PodwatchSettings, needed_for_provisioning
from bigfleet.podwatch.taints import taints_of
from bigfleet.podwatch.volumes import Volumes
from bigfleet.process import Process, ProcessContext

LEASE = PODWATCH_LEASE
COMPONENT = "bigfleet-podwatch"
#: How often it is looked whether everything has been read.
SYNC_SECONDS = 0.1

Connect = Callable[[PodwatchSettings, ProcessContext, Counts, Writer], Api]


class NotSynced(Exception):
    """The cluster could not be read in time."""


def _connected(
    settings: PodwatchSettings, context: ProcessContext, counts: Counts, writer: Writer
) -> Api:
    return open_api(
        settings.kubeconfig,
        context.clock,
        context.draw,
        qps=settings.qps,
        burst=settings.burst,
        user_agent=f"{COMPONENT}/{context.version}",
        counts=counts,
        writer=writer,
    )


class PodwatchProcess(Process):
    component = "podwatch"
    self_explaining = (NotSynced,)

    def __init__(
        self,
        settings: PodwatchSettings,
        context: ProcessContext,
        namespace: str = "",
        connect: Connect = _connected,
        questions: CapacityQuestions | None = None,
    ) -> None:
        """Raises StartRefused. `namespace` is the lease's; empty: the one we run in. `questions`:
        where ProvisioningRequests are answered; None: by the shard of the settings."""
        super().__init__(context)
        self._settings = settings
        self._questions = questions
        self.counts = Counts()
        self._bodies = Bodies()
        self._defaults = DefaultsFile(settings.priority_class_defaults, context.clock, context.log)
        try:
            self._policy = Policy(
                frozenset(settings.exclude_namespaces),
                settings.include_daemonsets,
                taints_of(settings.taints),
            )
            self._defaults.read()
            self.api = api = connect(settings, context, ApiCounts(self.counts), self)
        except BadInput as problem:
            raise StartRefused("\n".join(str(each) for each in problem.problems)) from problem
        self.election = Election(
            api,
            context.clock,
            context.draw,
            context.log,
            name=LEASE,
            namespace=namespace or own_namespace(settings.kubeconfig),
            identity=context.identity,
        )
        self._compose(api)
        self._synced = asyncio.Event()

    def _compose(self, api: Api) -> None:
        settings, context = self._settings, self.context
        clock, draw, log = context.clock, context.draw, context.log
        self._cluster_cache = around_pods = ClusterCache(api, clock, draw, log)
        volumes = Volumes(
            around_pods.claims.cache.objects,
            around_pods.volumes.cache.objects,
            around_pods.classes.cache.objects,
        )
        book = Book(
            around_pods.fleet,
            volumes,
            around_pods.capacities.cache.objects,
            settings.unjudged_grace,
        )
        self._events = Events(api, clock, log, component=COMPONENT, instance=context.identity)
        keeping = PodwatchContext(
            api,
            clock,
            draw,
            log,
            self.counts,
            self._events,
            book,
            RequestWriter(api, book, self.election, clock, log, self._events),
            self._policy,
        )
        self._book = book
        self._pods_read: Reflector[Pod, WatchedPod] = Reflector(
            api, PODS, self._narrowed_pod, clock, draw, log
        )
        self._requests_read: Reflector[CapacityRequest, OwnRequest] = Reflector(
            api, CAPACITY_REQUESTS, self._narrowed_request, clock, draw, log
        )
        self.pods = PodKeeping(keeping, self._pods_read.cache, around_pods, self._defaults)
        self.buffers = BufferKeeping(
            keeping, api, BufferOptions(settings.buffers, settings.buffer_priority)
        )
        self.provisioning = ProvisioningKeeping(
            keeping,
            api,
            ProvisioningOptions(self._provisioning_mode(), settings.cluster_id),
            self._defaults,
            self.pods,
            self._questions or self._shard_questions(),
        )
        self.pods.booking_used = self._booking_used
        self._requests_read.cache.subscribe(self._request_changed, self.pods.requests_listed)
        self.metrics = PodwatchMetrics(self.counts, self._refresh, context.version)

    # -- its part of a start and of a stop -------------------------------------------------------

    async def _open(self) -> None:
        settings = self._settings
        await self._serve_pages(settings.metrics_addr, debug=settings.debug_endpoints)
        if self._provisioning_mode() == "false":
            missing = needed_for_provisioning(settings)
            why = f"{' and '.join(missing)} not set" if missing else "turned off"
            text = f"ProvisioningRequests are left alone: {why}"
            self.context.log.info("provisioning_requests.off", msg=text)

    def _work(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        return {
            "pods": self.pods.working.run(),
            "buffers": self.buffers.run(),
            "provisioning requests": self.provisioning.run(),
            "leading": self._lead(),
            "reading pods": self._pods_read.run(),
            "reading capacityrequests": self._requests_read.run(),
            "reading surroundings": self._cluster_cache.run(self.pods.working.offer_everything),
            "syncing": self._sync(),
            "defaults": self._defaults.run(self.pods.working.offer_everything),
            "events": self._events.run(),
            "lease": self.election.run(),
        }

    def _started_facts(self) -> Mapping[str, Any]:
        return {"msg": f"the pod controller {self.context.identity} reads {self.api.server}"}

    async def _close(self) -> None:
        await self.api.close()

    def may_write(self) -> bool:
        """Also asked for a write that waits between two attempts when the lease goes."""
        return self.election.holding

    def why_not_ready(self) -> str:
        """Empty: it is. A standby is, once it knows that there is a lease to wait for."""
        if not self.election.holding:
            return "" if self.election.observed else "no lease was seen yet"
        missing = self._not_synced()
        why = "; ".join(dict.fromkeys(each for each in missing.values() if each))
        names = ", ".join(missing)
        return f"not read yet: {names}{f' ({why})' if why else ''}" if missing else ""

    # -- within ----------------------------------------------------------------------------------

    def _narrowed_pod(self, pod: Pod) -> WatchedPod | None:
        return watched_pod(pod, self._policy, self._bodies)

    def _narrowed_request(self, request: CapacityRequest) -> OwnRequest | None:
        return own_request(request, self._bodies)

    def _request_changed(
        self, key: ObjectKey, before: OwnRequest | None, after: OwnRequest | None
    ) -> None:
        request = after or before
        owners = [each.owner for each in (before, after) if each is not None]
        used = {self._book.bookings.used_by(owner) for owner in owners}
        for owner in self._book.request_changed(before, after):
            source = before.source if before is not None and before.owner == owner else None
            if source is None and request is not None:
                source = request.source
            if source is DemandSource.BUFFER:
                self.buffers.working.offer(owner)
            elif source is DemandSource.PROVISIONING_REQUEST:
                self.provisioning.working.offer(owner)
            elif after is None:
                self.pods.request_gone(owner)
            else:
                self.pods.working.offer(owner)
        for booking in used:
            self._booking_used(booking)

    def _booking_used(self, booking: str) -> None:
        """A pod of that booking, or its request, came, changed or went; empty: of none."""
        if booking:
            self.provisioning.working.offer(booking)

    def _provisioning_mode(self) -> str:
        """`auto` is off where no shard could be asked."""
        mode = self._settings.provisioning_requests
        can_ask = self._questions is not None or not needed_for_provisioning(self._settings)
        return mode if can_ask or mode != "auto" else "false"

    def _shard_questions(self) -> CapacityQuestions:
        settings = self._settings
        return ShardQuestions(settings.shard_addr, settings.cluster_id, self.context.tls)

    def _not_synced(self) -> dict[str, str]:
        """What has not been read yet, and why not, where that is known."""
        missing = {} if self._pods_read.cache.synced else {"pods": self._pods_read.trouble}
        if not self._requests_read.cache.synced:
            missing["capacityrequests"] = self._requests_read.trouble
        return missing | self._cluster_cache.missing()

    async def _sync(self) -> None:
        """Raises NotSynced when the time is over; waits for ever once everything is read."""
        clock, patience = self.context.clock, self._settings.sync_timeout
        late = asyncio.Event()
        timer = clock.call_later(patience, late.set)
        try:
            while missing := self._not_synced():
                if late.is_set():
                    raise NotSynced(_not_synced_text(missing, patience, self.api.server))
                await clock.sleep(SYNC_SECONDS)
        finally:
            timer.cancel()
        self._synced.set()
        count = len(self._book.pods)
        self.context.log.info("podwatch.synced", msg=f"{count} pods are looked at", pods=count)
        await asyncio.Event().wait()

    async def _lead(self) -> None:
        await self._synced.wait()
        while True:
            await self.election.wait_held()
            self.context.log.info("podwatch.leads", msg="this replica writes from here on")
            self.pods.working.begin()
            self.buffers.working.begin()
            self.provisioning.working.begin()
            await self.election.wait_lost()
            self.pods.working.end()
            self.buffers.working.end()
            self.provisioning.working.end()
            self.context.log.warning("podwatch.lost", msg="the lease is lost: nothing is written")

    def _refresh(self) -> Survey:
        counts = self.counts
        works = (self.pods.working, self.buffers.working, self.provisioning.working)
        counts.set("podwatch_queue_depth", sum(map(len, works)))
        counts.set("podwatch_leader", float(self.election.holding))
        counts.set("podwatch_pods", len(self._book.pods))
        counts.set("podwatch_buffers", len(self.buffers))
        counts.set("podwatch_provisioning_requests", len(self.provisioning))
        untranslated = self._book.counting_untranslated()

        def look_up(counts: Counts) -> None:
            found = untranslated()
            for kind in UNTRANSLATED_KINDS:
                counts.set("podwatch_untranslated", found[kind], kind=kind)

        return look_up

    def sizes(self) -> dict[str, int]:
        return {
            "leads": self.election.holding,
            "series": self.counts.series,
            "podsQueued": len(self.pods.working),
            "buffersQueued": len(self.buffers.working),
            "buffers": len(self.buffers),
            "bodies": len(self._bodies),
            **self.provisioning.sizes(),
            **self._book.sizes(),
            **self._cluster_cache.sizes(),
            **self._events.sizes(),
        }


def _not_synced_text(missing: Collection[str], patience: float, server: str) -> str:
    return (
        f"{' and '.join(missing)} could not be read from {server} within {patience:.0f} s, so this "
        "process ends and lets itself be restarted; the lines above say why. The rights to get, "
        "list and watch them must be granted, and the CRDs installed: "
        "bigfleet operator crds | kubectl apply -f -"
    )
