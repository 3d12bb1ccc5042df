"""Looks at pods: one at a time, from the caches, with calls only where something is to be done."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import NotFound
from bigfleet.kube.calls import Calls
from bigfleet.kube.events import Events, EventType
from bigfleet.kube.kinds import PODS
from bigfleet.kube.objects import ObjectKey, Reference
from bigfleet.kube.reflector import Cache
from bigfleet.model.machines import Instant
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.driving.cluster_cache import ClusterCache
from bigfleet.podwatch.driving.defaults import DefaultsFile
from bigfleet.podwatch.driving.request_writer import RequestWriter
from bigfleet.podwatch.driving.workers import Workers
from bigfleet.podwatch.fleet_nodes import MachineFacts, NodeFacts
from bigfleet.podwatch.metrics import RECONCILES
from bigfleet.podwatch.pod_reconciler import (
    Create,
    Decision,
    Patch,
    PodOutcome,
    Release,
    TakeOver,
    Withdraw,
)
from bigfleet.podwatch.records import OwnRequest, Policy, WatchedPod
from bigfleet.podwatch.volumes import ClaimFacts, Topology, VolumeFacts

#: What two watches may be apart.
LOOK_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PodwatchContext:
    """What everything that looks and writes shares."""

    calls: Calls
    clock: Clock
    draw: Callable[[], float]
    log: Log
    counts: Counts
    events: Events
    book: Book
    writing: RequestWriter
    policy: Policy


class PodKeeping:
    def __init__(
        self,
        context: PodwatchContext,
        cache: Cache[WatchedPod],
        cluster_cache: ClusterCache,
        defaults: DefaultsFile,
    ) -> None:
        self._context = context
        self._cache = cache
        self._cluster_cache = cluster_cache
        self._defaults = defaults
        #: What is told that pods of a booking came or went, by its UID; empty: of none.
        self.booking_used: Callable[[str], None] = lambda _uid: None
        self.working: Workers[str] = Workers(
            "pod",
            self._look,
            context.book.pods_to_look_at,
            context.clock,
            context.draw,
            context.log,
            failed=lambda: self._count(PodOutcome.ERROR),
        )
        cache.subscribe(self._pod_changed)
        cluster_cache.nodes.cache.subscribe(self._node_changed)
        cluster_cache.upcoming.cache.subscribe(self._machine_changed)
        cluster_cache.claims.cache.subscribe(self._claim_changed)
        cluster_cache.volumes.cache.subscribe(self._volume_changed)
        cluster_cache.classes.cache.subscribe(self._class_changed)

    def request_gone(self, owner: str) -> None:
        """Most often its pod is gone too, which the other watch is about to say."""
        later = self._context.clock.now() + round(LOOK_AGAIN_SECONDS * SECOND)
        self.working.offer_at(owner, later)

    def requests_listed(self) -> None:
        """What was made and deleted between two watches shows in neither."""
        for owner, until in self._context.book.pods_expecting():
            self.working.offer_at(owner, until)

    def _pod_changed(
        self, key: ObjectKey, before: WatchedPod | None, after: WatchedPod | None
    ) -> None:
        book = self._context.book
        used = {book.bookings.used_by(each.uid) for each in (before, after) if each is not None}
        for uid in book.pod_changed(before, after):
            self.working.offer(uid)
            used.add(book.bookings.used_by(uid))
        for booking in used:
            self.booking_used(booking)

    def _node_changed(
        self, key: ObjectKey, before: NodeFacts | None, after: NodeFacts | None
    ) -> None:
        self._offer_on(self._context.book.nodes.node_changed(key.name, after, self._now()))

    def _machine_changed(
        self, key: ObjectKey, before: MachineFacts | None, after: MachineFacts | None
    ) -> None:
        self._offer_on(self._context.book.nodes.machine_changed(key.name, after, self._now()))

    def _claim_changed(
        self, key: ObjectKey, before: ClaimFacts | None, after: ClaimFacts | None
    ) -> None:
        for uid in self._context.book.pods_with_claim(key):
            self.working.offer(uid)

    def _volume_changed(
        self, key: ObjectKey, before: VolumeFacts | None, after: VolumeFacts | None
    ) -> None:
        for facts in (before, after):
            if facts is not None and facts.claim is not None:
                self._claim_changed(facts.claim, None, None)

    def _class_changed(
        self, key: ObjectKey, before: Topology | None, after: Topology | None
    ) -> None:
        for uid in self._context.book.pods_with_claims():
            self.working.offer(uid)

    def _offer_on(self, nodes: Iterable[str]) -> None:
        for uid in self._context.book.pods_on(nodes):
            self.working.offer(uid)

    def _now(self) -> Instant:
        return self._context.clock.now()

    async def _look(self, uid: str) -> None:
        context, book = self._context, self._context.book
        at = context.clock.now()
        decision = book.decide(uid, self._defaults.current, at)
        due = self._not_before(uid, decision, at)
        if due > at:
            self.working.offer_at(uid, due)
            return
        if decision.outcome is not PodOutcome.GONE or not decision.instructions:
            book.not_missed(uid)
        about = _reference(pod) if (pod := book.pods.get(uid)) is not None else None
        if not await context.writing.carry_out(about, decision.instructions, self._is_gone):
            # The pod goes with its namespace.
            self._count(PodOutcome.GONE)
            return
        self._count(decision.outcome)
        if decision.why and decision.instructions and about is not None:
            text = f"{about.namespace}/{about.name} asks for nothing any more: {decision.why}"
            context.log.info("request.withdrawn", msg=text, subject=uid)
        if decision.again_at is not None:
            self.working.offer_at(uid, decision.again_at)
        for note in book.notes_for(uid, decision.outcome, decision.notes):
            if about is not None:
                kind: EventType = "Normal" if note.is_hint else "Warning"
                context.events.tell(about, kind, note.reason, note.text)

    def _not_before(self, uid: str, decision: Decision, at: Instant) -> Instant:
        """Nothing is made or withdrawn by an old view; garbage collection has the first turn."""
        book, due = self._context.book, at
        for each in decision.instructions:
            match each:
                case Patch(request, _):
                    due = max(due, book.may_be_patched_at(request.uid, at))
                case Withdraw():
                    due = max(due, book.collected_by(uid, at), self._fresh_at(at))
                case Release():
                    due = max(due, self._all_fresh_at(at))
                case Create() | TakeOver():
                    due = max(due, self._fresh_at(at))
        return due

    def _fresh_at(self, at: Instant) -> Instant:
        """Now, or when to ask again."""
        if self._cache.synced and not self._cache.stale_seconds(at):
            return at
        return at + round(LOOK_AGAIN_SECONDS * SECOND)

    def _all_fresh_at(self, at: Instant) -> Instant:
        """Now, or when to ask again whether a pod that is there asks for nothing."""
        if self._cluster_cache.is_fresh(at):
            return self._fresh_at(at)
        self._context.book.nodes.doubted(at)
        return at + round(LOOK_AGAIN_SECONDS * SECOND)

    async def _is_gone(self, request: OwnRequest) -> bool:
        """A request that does not name its pod is judged by the cache alone."""
        if not request.owner_name:
            return True
        try:
            pod = await self._context.calls.get(PODS, request.owner_name, request.key.namespace)
        except NotFound:
            return True
        if pod.metadata.uid != request.owner or pod.is_terminal:
            return True
        return self._context.policy.why_not_watched(pod) is not None

    def _count(self, outcome: PodOutcome) -> None:
        self._context.counts.add(RECONCILES, outcome=outcome.value)


def _reference(pod: WatchedPod) -> Reference:
    return Reference(
        api_version="v1", kind="Pod", name=pod.key.name, namespace=pod.key.namespace, uid=pod.uid
    )
