"""All pods that are looked at and all requests of ours, as the caches show them.

Changes come in, names of what has to be looked at again come out. Some things a cache cannot know
are kept beside it: requests that were just made and have not shown yet, when a pod was first
missed, since garbage collection has the first turn at its request, and when it was first seen
without the scheduler's word.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.podwatch.affinity_terms import AffinityTerms, TermSupply, term_of_node, term_text
from bigfleet.podwatch.bookings import Bookings, ConsumingPod, best_share
from bigfleet.podwatch.fleet_nodes import FleetNodes, Membership
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.penalties import Defaults
from bigfleet.podwatch.pod_demand import (
    IS_DEMAND,
    NotDemand,
    NotYetKnown,
    PodWait,
    Standing,
    standing_of_hosts,
    standing_on,
    standing_without_node,
)
from bigfleet.podwatch.pod_reconciler import (
    Create,
    Decision,
    PodOutcome,
    TakeOver,
    WantedRequest,
    decide,
    requests_there,
)
from bigfleet.podwatch.records import DemandSource, OwnRequest, WatchedPod
from bigfleet.podwatch.volumes import VolumeReach, Volumes, conflict_note, reached


@dataclass(slots=True)
class PodsIndex:
    """Which pods are on a Node, and which use a claim: to be looked at when those change."""

    _on_node: dict[str, set[str]] = field(default_factory=dict)
    _with_claim: dict[ObjectKey, set[str]] = field(default_factory=dict)

    def add(self, pod: WatchedPod) -> None:
        if pod.node:
            self._on_node.setdefault(pod.node, set()).add(pod.uid)
        for claim in pod.claims:
            key = ObjectKey(pod.key.namespace, claim.name)
            self._with_claim.setdefault(key, set()).add(pod.uid)

    def remove(self, pod: WatchedPod) -> None:
        if pod.node and (there := self._on_node.get(pod.node)) is not None:
            there.discard(pod.uid)
            if not there:
                del self._on_node[pod.node]
        for claim in pod.claims:
            key = ObjectKey(pod.key.namespace, claim.name)
            if (users := self._with_claim.get(key)) is not None:
                users.discard(pod.uid)
                if not users:
                    del self._with_claim[key]

    def on(self, nodes: Iterable[str]) -> list[str]:
        return [uid for node in nodes for uid in self._on_node.get(node, ())]

    def with_claim(self, claim: ObjectKey) -> list[str]:
        return list(self._with_claim.get(claim, ()))

    def with_claims(self) -> list[str]:
        return list({uid for users in self._with_claim.values() for uid in users})

    def sizes(self) -> dict[str, int]:
        return {"nodesWithPods": len(self._on_node), "claimsOfPods": len(self._with_claim)}


#: A request that was made shows in the cache by then, or it was deleted unseen.
SHOWS_WITHIN_SECONDS = 60.0
#: What garbage collection may take before a request without its pod is deleted by us.
COLLECTION_SECONDS = 5.0
#: Between two patches of one request.
REST_SECONDS = 2.0
#: A scheduler binds what fits within a second or two.
UNJUDGED_GRACE_SECONDS = 3.0
_LOOK_AGAIN = round(1.0 * SECOND)
#: Owners whose hints were told are remembered; the oldest are forgotten, and told again.
_MOST_OWNERS = 10_000


@dataclass(slots=True)
class Book:
    nodes: FleetNodes = field(default_factory=FleetNodes)
    volumes: Volumes = field(default_factory=Volumes)
    #: AvailableCapacities by their names.
    supplies: Mapping[ObjectKey, TermSupply] = field(default_factory=dict)
    unjudged_grace_seconds: float = UNJUDGED_GRACE_SECONDS
    #: By UID: a pod that is deleted and made again under its name is another one.
    pods: dict[str, WatchedPod] = field(default_factory=dict)
    #: Which pods use which ProvisioningRequest.
    bookings: Bookings = field(default_factory=Bookings)
    #: By the UID of the owner: pod, buffer or ProvisioningRequest.
    requests: dict[str, dict[ObjectKey, OwnRequest]] = field(default_factory=dict)
    #: Until when a request made for that owner is expected to show, by its name.
    _expected: dict[str, dict[ObjectKey, Instant]] = field(default_factory=dict)
    #: Since when a pod is missing whose requests are there.
    _missed: dict[str, Instant] = field(default_factory=dict)
    #: Until when a request that was patched rests; swept as new ones come.
    _resting: dict[str, Instant] = field(default_factory=dict)
    #: What was told about each pod. All and only those of pods that are there.
    _told: dict[str, frozenset[PodNote]] = field(default_factory=dict)
    #: Owners of pods, with the hints that were told on one of them.
    _owners_told: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)
    #: Since when a pod is known that the scheduler has said nothing of.
    _unjudged_since: dict[str, Instant] = field(default_factory=dict)
    _terms: AffinityTerms = field(default_factory=AffinityTerms)
    _index: PodsIndex = field(default_factory=PodsIndex)

    def pod_changed(self, before: WatchedPod | None, after: WatchedPod | None) -> list[str]:
        """UIDs to look at; nothing if the change is not ours."""
        if before == after:
            return []
        found = []
        if before is not None and (after is None or after.uid != before.uid):
            self.pods.pop(before.uid, None)
            self._told.pop(before.uid, None)
            self._unjudged_since.pop(before.uid, None)
            self._terms.forget(before.uid)
            if before.uid not in self.requests:
                self.bookings.pod_gone(before.uid)
            found.append(before.uid)
        if before is not None:
            self._index.remove(before)
        if after is not None:
            self.pods[after.uid] = after
            self._index.add(after)
            self.bookings.pod_changed(after)
            found.append(after.uid)
        return found

    def request_changed(self, before: OwnRequest | None, after: OwnRequest | None) -> list[str]:
        """Owners to look at."""
        owners = []
        if before is not None:
            owners.append(before.owner)
            if after is None or after.owner != before.owner:
                self.bookings.shown(before.key)
            if (known := self.requests.get(before.owner)) is not None:
                known.pop(before.key, None)
                if not known:
                    del self.requests[before.owner]
        if after is not None:
            owners.append(after.owner)
            self.requests.setdefault(after.owner, {})[after.key] = after
            self.shown(after.owner, after.key)
        for owner in owners:
            if owner not in self.requests and owner not in self.pods:
                self.bookings.pod_gone(owner)
        return list(dict.fromkeys(owners))

    def pods_on(self, nodes: Iterable[str]) -> list[str]:
        return self._index.on(nodes)

    def pods_with_claim(self, claim: ObjectKey) -> list[str]:
        return self._index.with_claim(claim)

    def pods_with_claims(self) -> list[str]:
        return self._index.with_claims()

    def untranslated(self) -> Counter[str]:
        """Pods with something that is not translated, by what it is."""
        return self.counting_untranslated()()

    def counting_untranslated(self) -> Callable[[], Counter[str]]:
        """Counts the same as of now, in any thread: it looks at every pod."""
        pods, told = dict(self.pods), dict(self._told)

        def count() -> Counter[str]:
            found: Counter[str] = Counter()
            for uid, pod in pods.items():
                if notes := told.get(uid) or pod.notes:
                    found.update({note.untranslated for note in notes if note.untranslated})
            return found

        return count

    def of(self, owner: str) -> tuple[OwnRequest, ...]:
        return tuple(self.requests.get(owner, {}).values())

    def pods_to_look_at(self) -> Iterable[str]:
        """Every pod, and those of which only requests are left."""
        yield from self.pods
        yield from (owner for owner in self.owners(DemandSource.POD) if owner not in self.pods)

    def owners(self, source: DemandSource) -> Iterable[str]:
        """Those that have requests."""
        for owner, known in self.requests.items():
            if any(request.source is source for request in known.values()):
                yield owner

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow."""
        return {
            "pods": len(self.pods),
            "podsTold": len(self._told),
            "podsMissed": len(self._missed),
            "podsUnjudged": len(self._unjudged_since),
            "podsChoosingTerms": len(self._terms),
            "ownersTold": len(self._owners_told),
            "owners": len(self.requests),
            "requests": sum(len(known) for known in self.requests.values()),
            "requestsExpected": sum(len(known) for known in self._expected.values()),
            "requestsResting": len(self._resting),
            **self.bookings.sizes(),
            **self._index.sizes(),
            **self.nodes.sizes(),
        }

    # -- what was just made ----------------------------------------------------------------------

    def expect(self, owner: str, key: ObjectKey, at: Instant) -> None:
        """A request was made, or perhaps made: it is not made again before it had time to show."""
        if key not in self.requests.get(owner, {}):
            until = at + round(SHOWS_WITHIN_SECONDS * SECOND)
            self._expected.setdefault(owner, {})[key] = until

    def expected(self, owner: str, at: Instant) -> frozenset[ObjectKey]:
        """Names of what was made for it and has not shown yet."""
        known = self._expected.get(owner)
        if known is None:
            return frozenset()
        for key in [key for key, until in known.items() if until <= at]:
            self.shown(owner, key)
        return frozenset(known)

    def pods_expecting(self) -> Iterable[tuple[str, Instant]]:
        """Pods whose request was made and has not shown, and until when that is waited for."""
        for owner, known in self._expected.items():
            if owner in self.pods:
                yield owner, max(known.values())

    def shown(self, owner: str, key: ObjectKey) -> None:
        """It need not be waited for any more: it is there, or it was never made."""
        if (known := self._expected.get(owner)) is not None:
            known.pop(key, None)
            if not known:
                del self._expected[owner]

    # -- looking at one --------------------------------------------------------------------------

    def decide(self, uid: str, defaults: Defaults, at: Instant) -> Decision:
        pod, have = self.pods.get(uid), self.of(uid)
        expected = bool(self.expected(uid, at))
        if pod is None or pod.terminal:
            return decide(pod, None, have, expected=expected)
        if pod.is_unreadable:
            return Decision(PodOutcome.ERROR)
        has_request = bool(have) or expected
        reach = self.volumes.reach_of(pod.key.namespace, pod.claims)
        standing = self._standing(pod, reach, has_request, at)
        if isinstance(standing, NotYetKnown) and not has_request:
            return Decision(PodOutcome.NOT_YET_KNOWN, (), standing.until)
        specs = _specs(pod, reach)
        notes = reach.notes
        if not pod.node and (impossible := _why_impossible(pod, reach, specs)) is not None:
            standing, notes = NotDemand(impossible.text), (impossible,)
        if isinstance(standing, NotDemand):
            decision = decide(pod, None, have, expected=expected, standing=standing)
            return replace(decision, notes=notes)
        kept = next(iter(requests_there(have)), None)
        number, until = self._term(pod, specs, kept, at)
        spec = pod.with_its_penalties(specs[number] or b"", defaults)
        wanted = WantedRequest(spec, term_text(number, len(specs)))
        decision = decide(pod, wanted, have, expected=expected, standing=standing)
        if pod.consumes and decision.outcome is PodOutcome.CREATED:
            decision = self._from_booking(pod, decision, at)
            notes += decision.notes
        due = [each for each in (decision.again_at, until) if each is not None]
        return replace(decision, again_at=min(due, default=None), notes=notes)

    def _from_booking(self, pod: WatchedPod, decision: Decision, at: Instant) -> Decision:
        """The share of a booking instead of a request beside it."""
        booking = self.bookings.booking_of(pod)
        if booking is None:
            return decision
        if pod.consumes_class not in ("", booking.class_name):
            return replace(decision, notes=(_class_note(pod, booking.class_name),))
        create = decision.instructions[0]
        assert isinstance(create, Create)
        left = self.requests.get(booking.uid, {})
        if booking.is_open:
            share = best_share(create.spec, self.bookings.settled(left.values(), at))
            if share is not None:
                return replace(decision, instructions=(TakeOver(share, create),))
        unmade = booking.is_open and not booking.is_whole
        if left or unmade or self.expected(booking.uid, at):
            # A share is on its way, or the booking ends: either way one stands for the pod now.
            return Decision(PodOutcome.NOT_YET_KNOWN, (), at + _LOOK_AGAIN)
        return decision

    def consuming(self, request: ObjectKey, at: Instant) -> list[ConsumingPod]:
        """Pods that have left their share of that booking; a request outlives its pod a little."""
        found = []
        for uid, consumer in self.bookings.consumers(request):
            known = self.of(uid)
            pod = self.pods.get(uid)
            if known:
                share = next((each.share for each in known if each.share), None)
            elif pod is None or pod.terminal:
                continue
            elif self.expected(uid, at) or self._is_elsewhere(pod):
                share = self.bookings.share_taken_by(uid)
            else:
                continue
            found.append(ConsumingPod(consumer.spec, share))
        return found

    def booked(self, uid: str, at: Instant) -> tuple[OwnRequest, ...]:
        """Shares of that ProvisioningRequest that stay, as far as is known."""
        return tuple(self.bookings.settled(self.requests.get(uid, {}).values(), at))

    def _is_elsewhere(self, pod: WatchedPod) -> bool:
        """Whether it runs where no machine of the fleet is needed for it."""
        if not pod.node or not self.nodes.are_told_apart:
            return False
        return self.nodes.membership(pod.node) is Membership.FOREIGN

    def _standing(
        self, pod: WatchedPod, reach: VolumeReach, has_request: bool, at: Instant
    ) -> Standing:
        if pod.node or pod.wait is not PodWait.UNJUDGED:
            self._unjudged_since.pop(pod.uid, None)
        if pod.node:
            return standing_on(pod.node, self.nodes, has_request=has_request, at=at)
        hosts = reach.hosts()
        there = standing_of_hosts(hosts, self.nodes, has_request=has_request, at=at)
        if there is not IS_DEMAND:
            return there
        due = at
        if pod.wait is PodWait.UNJUDGED:
            since = self._unjudged_since.setdefault(pod.uid, at)
            due = since + round(self.unjudged_grace_seconds * SECOND)
        return standing_without_node(pod.wait, has_request=has_request, judged_by=due, at=at)

    def _term(
        self, pod: WatchedPod, specs: list[bytes | None], kept: OwnRequest | None, at: Instant
    ) -> tuple[int, Instant | None]:
        """Which alternative is asked for, and until when."""
        if len(specs) == 1:
            return 0, None
        if pod.node:
            self._terms.forget(pod.uid)
            return term_of_node(specs, kept, self.nodes.labels_of(pod.node)), None
        choice = self._terms.choose(pod.uid, specs, kept, self.supplies.values(), at)
        return choice.number, choice.until

    def collected_by(self, owner: str, at: Instant) -> Instant:
        """Until when garbage collection has its turn at the requests of an owner that is gone."""
        return self._missed.setdefault(owner, at) + round(COLLECTION_SECONDS * SECOND)

    def not_missed(self, owner: str) -> None:
        self._missed.pop(owner, None)

    def may_be_patched_at(self, request_uid: str, at: Instant) -> Instant:
        """When it may be patched; if that is now, it rests from here on.

        Another writer may undo what we write, and must not make us write as fast as it does.
        """
        until = self._resting.get(request_uid, at)
        if until > at:
            return until
        for uid in [uid for uid, until in self._resting.items() if until <= at]:
            del self._resting[uid]
        self._resting[request_uid] = at + round(REST_SECONDS * SECOND)
        return at

    def notes_for(
        self, uid: str, outcome: PodOutcome, more: tuple[PodNote, ...] = ()
    ) -> tuple[PodNote, ...]:
        """What is to be told about the pod now: each once in its life, over restarts too.

        Where the request was there before this process, an earlier one has told already. Of a pod
        that asks for nothing only `more` is told: it may run on what is there.
        """
        pod = self.pods.get(uid)
        if pod is None or outcome is PodOutcome.NOT_YET_KNOWN:
            return ()
        now = more if outcome is PodOutcome.NOT_DEMAND else (*pod.notes, *more)
        if outcome is PodOutcome.NOT_DEMAND and not now:
            return ()
        told = self._told.get(uid)
        self._told[uid] = (told or frozenset()) | frozenset(now)
        if told is None:
            new = () if outcome is PodOutcome.EXISTS else now
        else:
            new = tuple(note for note in now if note not in told)
        return tuple(note for note in new if not note.is_hint or self._is_first(pod.owner, note))

    def _is_first(self, owner: str, note: PodNote) -> bool:
        """Whether no other pod of that owner was told the same."""
        key = (owner, note.reason)
        if key in self._owners_told:
            return False
        while len(self._owners_told) >= _MOST_OWNERS:
            self._owners_told.popitem(last=False)
        self._owners_told[key] = None
        return True


def _class_note(pod: WatchedPod, class_name: str) -> PodNote:
    text = (
        f"it names ProvisioningRequest {pod.consumes} with the class {pod.consumes_class!r}, which "
        f"has the class {class_name!r}: the pod does not use that booking and asks for itself; "
        "write the class of the request"
    )
    return PodNote("ProvisioningClassContradicts", text)


def _specs(pod: WatchedPod, reach: VolumeReach) -> list[bytes | None]:
    """Of each alternative, with what its volumes ask for; None: the two contradict each other."""
    found = [reached(body.spec, reach) for body in pod.alternatives]
    if not pod.node:
        return found
    # It runs, so a machine can run it, even if its volumes as read here say otherwise.
    both = zip(found, pod.alternatives, strict=True)
    return [spec if spec is not None else body.spec for spec, body in both]


def _why_impossible(
    pod: WatchedPod, reach: VolumeReach, specs: Sequence[bytes | None]
) -> PodNote | None:
    if pod.impossible is not None:
        return pod.impossible
    return conflict_note(reach) if all(spec is None for spec in specs) else None
