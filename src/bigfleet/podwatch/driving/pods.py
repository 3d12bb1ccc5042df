"""Looks at pods: one at a time, from the caches, with calls only where something is to be done."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.calls import Calls
from bigfleet.kube.events import Events, EventType
from bigfleet.kube.kinds import PODS
from bigfleet.kube.objects import ObjectKey, Reference
from bigfleet.kube.problems import NotFound
from bigfleet.kube.reflecting import Cache
from bigfleet.model.machines import Instant
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.driving.defaults import DefaultsFile
from bigfleet.podwatch.driving.surroundings import Surroundings
from bigfleet.podwatch.driving.working import Working
from bigfleet.podwatch.driving.writing import Writing
from bigfleet.podwatch.fleet_nodes import MachineFacts, NodeFacts
from bigfleet.podwatch.metrics import RECONCILES
from bigfleet.podwatch.reconciling import Create, Decision, Outcome, Patch, Release, Withdraw
from bigfleet.podwatch.records import OwnRequest, Policy, WatchedPod
from bigfleet.podwatch.volumes import ClaimFacts, Topology, VolumeFacts

#: What two watches may be apart.
LOOK_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Around:
    """What everything that looks and writes shares."""

    calls: Calls
    clock: Clock
    draw: Callable[[], float]
    log: Log
    counts: Counts
    events: Events
    book: Book
    writing: Writing
    policy: Policy


class PodKeeping:
    def __init__(
        self,
        around: Around,
        cache: Cache[WatchedPod],
        surroundings: Surroundings,
        defaults: DefaultsFile,
    ) -> None:
        self._around = around
        self._cache = cache
        self._surroundings = surroundings
        self._defaults = defaults
        self.working: Working[str] = Working(
            "pod",
            self._look,
            around.book.pods_to_look_at,
            around.clock,
            around.draw,
            around.log,
            failed=lambda: self._count(Outcome.ERROR),
        )
        cache.subscribe(self._pod_changed)
        surroundings.nodes.cache.subscribe(self._node_changed)
        surroundings.upcoming.cache.subscribe(self._machine_changed)
        surroundings.claims.cache.subscribe(self._claim_changed)
        surroundings.volumes.cache.subscribe(self._volume_changed)
        surroundings.classes.cache.subscribe(self._class_changed)

    def request_gone(self, owner: str) -> None:
        """Most often its pod is gone too, which the other watch is about to say."""
        later = self._around.clock.now() + round(LOOK_AGAIN_SECONDS * SECOND)
        self.working.offer_at(owner, later)

    def requests_listed(self) -> None:
        """What was made and deleted between two watches shows in neither."""
        for owner, until in self._around.book.pods_expecting():
            self.working.offer_at(owner, until)

    def _pod_changed(
        self, key: ObjectKey, before: WatchedPod | None, after: WatchedPod | None
    ) -> None:
        for uid in self._around.book.pod_changed(before, after):
            self.working.offer(uid)

    def _node_changed(
        self, key: ObjectKey, before: NodeFacts | None, after: NodeFacts | None
    ) -> None:
        self._offer_on(self._around.book.nodes.node_changed(key.name, after, self._now()))

    def _machine_changed(
        self, key: ObjectKey, before: MachineFacts | None, after: MachineFacts | None
    ) -> None:
        self._offer_on(self._around.book.nodes.machine_changed(key.name, after, self._now()))

    def _claim_changed(
        self, key: ObjectKey, before: ClaimFacts | None, after: ClaimFacts | None
    ) -> None:
        for uid in self._around.book.pods_with_claim(key):
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
        for uid in self._around.book.pods_with_claims():
            self.working.offer(uid)

    def _offer_on(self, nodes: Iterable[str]) -> None:
        for uid in self._around.book.pods_on(nodes):
            self.working.offer(uid)

    def _now(self) -> Instant:
        return self._around.clock.now()

    async def _look(self, uid: str) -> None:
        around, book = self._around, self._around.book
        at = around.clock.now()
        decision = book.decide(uid, self._defaults.current, at)
        due = self._not_before(uid, decision, at)
        if due > at:
            self.working.offer_at(uid, due)
            return
        if decision.outcome is not Outcome.GONE or not decision.instructions:
            book.not_missed(uid)
        about = _reference(pod) if (pod := book.pods.get(uid)) is not None else None
        if not await around.writing.carry_out(about, decision.instructions, self._is_gone):
            # The pod goes with its namespace.
            self._count(Outcome.GONE)
            return
        self._count(decision.outcome)
        if decision.why and decision.instructions and about is not None:
            text = f"{about.namespace}/{about.name} asks for nothing any more: {decision.why}"
            around.log.info("request.withdrawn", msg=text, subject=uid)
        if decision.again_at is not None:
            self.working.offer_at(uid, decision.again_at)
        for note in book.notes_for(uid, decision.outcome, decision.notes):
            if about is not None:
                kind: EventType = "Normal" if note.is_hint else "Warning"
                around.events.tell(about, kind, note.reason, note.text)

    def _not_before(self, uid: str, decision: Decision, at: Instant) -> Instant:
        """Nothing is made or withdrawn by an old view; garbage collection has the first turn."""
        book, due = self._around.book, at
        for each in decision.instructions:
            match each:
                case Patch(request, _):
                    due = max(due, book.may_be_patched_at(request.uid, at))
                case Withdraw():
                    due = max(due, book.collected_by(uid, at), self._fresh_at(at))
                case Release():
                    due = max(due, self._all_fresh_at(at))
                case Create():
                    due = max(due, self._fresh_at(at))
        return due

    def _fresh_at(self, at: Instant) -> Instant:
        """Now, or when to ask again."""
        if self._cache.synced and not self._cache.stale_seconds(at):
            return at
        return at + round(LOOK_AGAIN_SECONDS * SECOND)

    def _all_fresh_at(self, at: Instant) -> Instant:
        """Now, or when to ask again whether a pod that is there asks for nothing."""
        if self._surroundings.is_fresh(at):
            return self._fresh_at(at)
        self._around.book.nodes.doubted(at)
        return at + round(LOOK_AGAIN_SECONDS * SECOND)

    async def _is_gone(self, request: OwnRequest) -> bool:
        """A request that does not name its pod is judged by the cache alone."""
        if not request.owner_name:
            return True
        try:
            pod = await self._around.calls.get(PODS, request.owner_name, request.key.namespace)
        except NotFound:
            return True
        if pod.metadata.uid != request.owner or pod.is_terminal:
            return True
        return self._around.policy.why_not_watched(pod) is not None

    def _count(self, outcome: Outcome) -> None:
        self._around.counts.add(RECONCILES, outcome=outcome.value)


def _reference(pod: WatchedPod) -> Reference:
    return Reference(
        api_version="v1", kind="Pod", name=pod.key.name, namespace=pod.key.namespace, uid=pod.uid
    )
