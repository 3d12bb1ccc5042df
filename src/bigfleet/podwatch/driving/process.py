"""A running pod controller: one replica, from its first list to its last word.

Every replica reads the cluster, so that the next one to lead can begin at once; only the one with
the lease writes, and only once it has read everything. On the way down the workers end first, then
the lease is given back.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from bigfleet.edge.clock import Clock
from bigfleet.edge.core_tasks import until_one_dies
from bigfleet.edge.counts import Counts, Survey
from bigfleet.edge.debug_pages import debug_routes
from bigfleet.edge.driver import real_profiler
from bigfleet.edge.http_pages import pages_of
from bigfleet.edge.logs import Log
from bigfleet.edge.loop_lag import LoopLag
from bigfleet.edge.pages import Pages
from bigfleet.kube.api import Api
from bigfleet.kube.connection import BadKubeconfig, open_api, own_namespace
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import CAPACITY_REQUESTS, PODS
from bigfleet.kube.leases import Election
from bigfleet.kube.objects import CapacityRequest, ObjectKey, Pod
from bigfleet.kube.reflector import Reflector
from bigfleet.model.errors import BadInput
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.driving.buffers import BufferKeeping, BufferOptions
from bigfleet.podwatch.driving.cluster_cache import ClusterCache
from bigfleet.podwatch.driving.defaults import DefaultsFile
from bigfleet.podwatch.driving.pods import PodKeeping, PodwatchContext
from bigfleet.podwatch.driving.request_writer import RequestWriter
from bigfleet.podwatch.metrics import (
    UNTRANSLATED_KINDS,
    ApiCounts,
    PodwatchMetrics,
)
from bigfleet.podwatch.records import (
    Bodies,
    OwnRequest,
    Policy,
    WatchedPod,
    own_request,
    watched_pod,
)
from bigfleet.podwatch.settings import PodwatchSettings
from bigfleet.podwatch.taints import taints_of
from bigfleet.podwatch.volumes import Volumes

LEASE = "bigfleet-podwatch"
COMPONENT = "bigfleet-podwatch"
#: How often it is looked whether everything has been read.
SYNC_SECONDS = 0.1
#: What tasks may take to end; giving the lease back is a call.
STOP_MARGIN_SECONDS = 5.0

Connect = Callable[[PodwatchSettings, "World", Counts], Api]


class StartRefused(Exception):
    """It must not start; the text says what happened, why, and what to do."""


class NotSynced(Exception):
    """The cluster could not be read in time."""


def _connected(settings: PodwatchSettings, world: "World", counts: Counts) -> Api:
    return open_api(
        settings.kubeconfig,
        world.clock,
        world.draw,
        qps=settings.qps,
        burst=settings.burst,
        user_agent=f"{COMPONENT}/{world.version}",
        counts=counts,
    )


@dataclass(frozen=True, slots=True)
class World:
    """What a process is given by the code that starts it."""

    clock: Clock
    #: Seconds, for measuring only.
    stopwatch: Callable[[], float]
    #: From 0 up to 1, for jitter.
    draw: Callable[[], float]
    log: Log
    #: Tells replicas apart.
    identity: str
    version: str = ""
    #: Where the lease lies; empty: in the namespace we run in.
    namespace: str = ""
    connect: Connect = _connected


class PodwatchProcess:
    """To be made where its event loop runs. Raises StartRefused."""

    def __init__(self, settings: PodwatchSettings, world: World) -> None:
        self._settings, self._world = settings, world
        self.counts = Counts()
        self._bodies = Bodies()
        self._defaults = DefaultsFile(settings.priority_class_defaults, world.clock, world.log)
        try:
            self._policy = Policy(
                frozenset(settings.exclude_namespaces),
                settings.include_daemonsets,
                taints_of(settings.taints),
            )
            self._defaults.read()
            self.api = api = world.connect(settings, world, ApiCounts(self.counts))
        except BadInput as problem:
            raise StartRefused("\n".join(str(each) for each in problem.problems)) from problem
        except BadKubeconfig as problem:
            raise StartRefused(str(problem)) from problem
        self.election = Election(
            api,
            world.clock,
            world.draw,
            world.log,
            name=LEASE,
            namespace=world.namespace or own_namespace(settings.kubeconfig),
            identity=world.identity,
        )
        # Also a write that waits between two attempts when the lease goes.
        api.may_write = lambda: self.election.holding
        self._compose(api)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._synced = asyncio.Event()
        self._stopped = asyncio.Event()

    def _compose(self, api: Api) -> None:
        settings, world = self._settings, self._world
        self._cluster_cache = around_pods = ClusterCache(api, world.clock, world.draw, world.log)
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
        self._events = Events(
            api, world.clock, world.log, component=COMPONENT, instance=world.identity
        )
        context = PodwatchContext(
            api,
            world.clock,
            world.draw,
            world.log,
            self.counts,
            self._events,
            book,
            RequestWriter(
                api, book, lambda: self.election.holding, world.clock, world.log, self._events
            ),
            self._policy,
        )
        self._book = book
        self._pods_read: Reflector[Pod, WatchedPod] = Reflector(
            api, PODS, self._narrowed_pod, world.clock, world.draw, world.log
        )
        self._requests_read: Reflector[CapacityRequest, OwnRequest] = Reflector(
            api, CAPACITY_REQUESTS, self._narrowed_request, world.clock, world.draw, world.log
        )
        self.pods = PodKeeping(context, self._pods_read.cache, around_pods, self._defaults)
        self.buffers = BufferKeeping(
            context, api, BufferOptions(settings.buffers, settings.buffer_priority)
        )
        self._requests_read.cache.subscribe(self._request_changed, self.pods.requests_listed)
        self._lag = LoopLag(world.clock, world.stopwatch)
        metrics = PodwatchMetrics(self.counts, self._refresh, world.version)
        self._pages = Pages(
            pages_of(self._lag, self.why_not_ready, metrics.page),
            debug_routes(settings.debug_endpoints, self._sizes, real_profiler()),
        )

    @property
    def metrics_port(self) -> int:
        return self._pages.port

    async def start(self) -> None:
        """OSError where the address is taken."""
        settings, log = self._settings, self._world.log
        if settings.metrics_addr not in ("", "0"):
            await self._pages.start(settings.metrics_addr)
        if settings.provisioning_requests == "auto":
            text = "ProvisioningRequests are left alone: they need a shard's what-if"
            log.info("provisioning_requests.off", msg=text)
        work: Mapping[str, Coroutine[Any, Any, None]] = {
            "pods": self.pods.working.run(),
            "buffers": self.buffers.run(),
            "leading": self._lead(),
            "reading pods": self._pods_read.run(),
            "reading capacityrequests": self._requests_read.run(),
            "reading surroundings": self._cluster_cache.run(self.pods.working.offer_everything),
            "syncing": self._sync(),
            "defaults": self._defaults.run(self.pods.working.offer_everything),
            "events": self._events.run(),
            "lag": self._lag.run(),
            "lease": self.election.run(),
        }
        self._tasks = {name: asyncio.create_task(each, name=name) for name, each in work.items()}
        text = f"the pod controller {self._world.identity} reads {self.api.server}"
        log.info("podwatch.started", msg=text, metrics_port=self.metrics_port)

    async def until_dead(self) -> None:
        """Returns at a stop; raises CoreTaskDied when a task ends that never should."""
        await until_one_dies(self._tasks.values(), self._stopped, (NotSynced,))

    async def stop(self) -> None:
        """Returns within a few seconds; again is no failure."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        lease = self._tasks.pop("lease", None)
        await _ended(self._tasks.values())
        if lease is not None:
            await _ended([lease])
        await self._pages.stop()
        await self.api.close()
        self._world.log.info("podwatch.stopped", msg="stopped in order")

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
        for owner in self._book.request_changed(before, after):
            request = after or before
            if request is not None and request.of_buffer:
                self.buffers.working.offer(owner)
            elif after is None:
                self.pods.request_gone(owner)
            else:
                self.pods.working.offer(owner)

    def _not_synced(self) -> dict[str, str]:
        """What has not been read yet, and why not, where that is known."""
        missing = {} if self._pods_read.cache.synced else {"pods": self._pods_read.trouble}
        if not self._requests_read.cache.synced:
            missing["capacityrequests"] = self._requests_read.trouble
        return missing | self._cluster_cache.missing()

    async def _sync(self) -> None:
        """Raises NotSynced when the time is over; waits for ever once everything is read."""
        clock, patience = self._world.clock, self._settings.sync_timeout
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
        self._world.log.info("podwatch.synced", msg=f"{count} pods are looked at", pods=count)
        await asyncio.Event().wait()

    async def _lead(self) -> None:
        await self._synced.wait()
        while True:
            await self.election.wait_held()
            self._world.log.info("podwatch.leads", msg="this replica writes from here on")
            self.pods.working.begin()
            self.buffers.working.begin()
            await self.election.wait_lost()
            self.pods.working.end()
            self.buffers.working.end()
            self._world.log.warning("podwatch.lost", msg="the lease is lost: nothing is written")

    def _refresh(self) -> Survey:
        counts = self.counts
        counts.set("podwatch_queue_depth", len(self.pods.working) + len(self.buffers.working))
        counts.set("podwatch_leader", float(self.election.holding))
        counts.set("podwatch_pods", len(self._book.pods))
        counts.set("podwatch_buffers", len(self.buffers))
        untranslated = self._book.counting_untranslated()

        def look_up(counts: Counts) -> None:
            found = untranslated()
            for kind in UNTRANSLATED_KINDS:
                counts.set("podwatch_untranslated", found[kind], kind=kind)

        return look_up

    def _sizes(self) -> dict[str, int]:
        return {
            "leads": self.election.holding,
            "series": self.counts.series,
            "podsQueued": len(self.pods.working),
            "buffersQueued": len(self.buffers.working),
            "buffers": len(self.buffers),
            "bodies": len(self._bodies),
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


async def _ended(tasks: Collection[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=STOP_MARGIN_SECONDS)
