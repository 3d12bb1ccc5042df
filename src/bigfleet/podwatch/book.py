"""All pods that are looked at and all requests of ours, as the caches show them.

Changes come in, names of what has to be looked at again come out. Two things a cache cannot know
are kept beside it: requests that were just made and have not shown yet, and when a pod was first
missed, since garbage collection has the first turn at its request.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.podwatch.notes import Note
from bigfleet.podwatch.penalties import Defaults
from bigfleet.podwatch.reconciling import Decision, Outcome, decide
from bigfleet.podwatch.records import OwnRequest, WatchedPod

#: A request that was made shows in the cache by then, or it was deleted unseen.
SHOWS_WITHIN_SECONDS = 60.0
#: What garbage collection may take before a request without its pod is deleted by us.
COLLECTION_SECONDS = 5.0
#: Between two patches of one request.
REST_SECONDS = 2.0


@dataclass(slots=True)
class Book:
    #: By UID: a pod that is deleted and made again under its name is another one.
    pods: dict[str, WatchedPod] = field(default_factory=dict)
    #: By the UID of the owner, pod or buffer.
    requests: dict[str, dict[ObjectKey, OwnRequest]] = field(default_factory=dict)
    #: Until when a request made for that owner is expected to show, by its name.
    _expected: dict[str, dict[ObjectKey, Instant]] = field(default_factory=dict)
    #: Since when a pod is missing whose requests are there.
    _missed: dict[str, Instant] = field(default_factory=dict)
    #: Until when a request that was patched rests; swept as new ones come.
    _resting: dict[str, Instant] = field(default_factory=dict)
    #: What was told about each pod. All and only those of pods that are there.
    _told: dict[str, frozenset[Note]] = field(default_factory=dict)

    def pod_changed(self, before: WatchedPod | None, after: WatchedPod | None) -> list[str]:
        """UIDs to look at; nothing where the change is none of ours."""
        if before == after:
            return []
        found = []
        if before is not None and (after is None or after.uid != before.uid):
            self.pods.pop(before.uid, None)
            self._told.pop(before.uid, None)
            found.append(before.uid)
        if after is not None:
            self.pods[after.uid] = after
            found.append(after.uid)
        return found

    def request_changed(self, before: OwnRequest | None, after: OwnRequest | None) -> list[str]:
        """Owners to look at."""
        owners = []
        if before is not None:
            owners.append(before.owner)
            if (known := self.requests.get(before.owner)) is not None:
                known.pop(before.key, None)
                if not known:
                    del self.requests[before.owner]
        if after is not None:
            owners.append(after.owner)
            self.requests.setdefault(after.owner, {})[after.key] = after
            self.shown(after.owner, after.key)
        return list(dict.fromkeys(owners))

    def of(self, owner: str) -> tuple[OwnRequest, ...]:
        return tuple(self.requests.get(owner, {}).values())

    def pods_to_look_at(self) -> Iterable[str]:
        """Every pod, and those of which only requests are left."""
        yield from self.pods
        yield from (owner for owner in self._owners(False) if owner not in self.pods)

    def buffers_with_requests(self) -> Iterable[str]:
        return self._owners(True)

    def _owners(self, of_buffer: bool) -> Iterable[str]:
        for owner, known in self.requests.items():
            if any(request.of_buffer == of_buffer for request in known.values()):
                yield owner

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow."""
        return {
            "pods": len(self.pods),
            "podsTold": len(self._told),
            "podsMissed": len(self._missed),
            "owners": len(self.requests),
            "requests": sum(len(known) for known in self.requests.values()),
            "requestsExpected": sum(len(known) for known in self._expected.values()),
            "requestsResting": len(self._resting),
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
        pod = self.pods.get(uid)
        spec = pod.spec(defaults) if pod is not None and not pod.terminal else None
        return decide(pod, spec, self.of(uid), expected=bool(self.expected(uid, at)))

    def collected_by(self, owner: str, at: Instant) -> Instant:
        """Until when garbage collection has its turn at the requests of an owner that is gone."""
        return self._missed.setdefault(owner, at) + round(COLLECTION_SECONDS * SECOND)

    def not_missed(self, owner: str) -> None:
        self._missed.pop(owner, None)

    def may_be_patched_at(self, request_uid: str, at: Instant) -> Instant:
        """When it may be patched; if that is now, it rests from here on.

        Somebody may undo what we write, and must not make us write as fast as he does.
        """
        until = self._resting.get(request_uid, at)
        if until > at:
            return until
        for uid in [uid for uid, until in self._resting.items() if until <= at]:
            del self._resting[uid]
        self._resting[request_uid] = at + round(REST_SECONDS * SECOND)
        return at

    def notes_for(self, uid: str, outcome: Outcome) -> tuple[Note, ...]:
        """What is to be told about the pod now: each once in its life, over restarts too.

        Where the request was there before this process was, somebody has told already.
        """
        pod = self.pods.get(uid)
        if pod is None:
            return ()
        told = self._told.get(uid)
        self._told[uid] = (told or frozenset()) | frozenset(pod.notes)
        if told is None:
            return () if outcome is Outcome.EXISTS else pod.notes
        return tuple(note for note in pod.notes if note not in told)
