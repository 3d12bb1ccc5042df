"""Which pods use which booking, so that a pod and its share of a booking are never counted twice.

A booking is the CapacityRequests of a ProvisioningRequest. A pod that uses it takes one of them
over, in one write: before it the share stands for the pod, after it the pod's request does. What a
cache cannot know is kept here: shares that a pod is taking, and shares that are being deleted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.podwatch.records import BookedShare, OwnRequest, WatchedPod
from bigfleet.podwatch.requests import resources_in

#: A write shows in the cache by then, or it was not done.
SHOWS_WITHIN_SECONDS = 60.0
_SHOWS_WITHIN = round(SHOWS_WITHIN_SECONDS * SECOND)


@dataclass(frozen=True, slots=True)
class Booking:
    """A ProvisioningRequest, as its pods see it."""

    uid: str
    class_name: str
    #: It has shares to give, or will have; False: what is left of it is being withdrawn.
    is_open: bool = False
    #: All its shares were made: a pod that finds none left is beyond what was booked.
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class ConsumingPod:
    """A pod that has left its share of a booking behind."""

    #: What it asks for, without penalties; empty: not known any more.
    spec: bytes
    #: The share it took over; None: it made a request of its own, or needs none.
    share: BookedShare | None = None


@dataclass(frozen=True, slots=True)
class Consumer:
    """A pod that says it uses a request."""

    class_name: str
    spec: bytes


@dataclass(frozen=True, slots=True)
class _Move:
    until: Instant
    #: The UID of the pod that takes the share over; empty: it is deleted.
    taker: str = ""
    share: BookedShare | None = None


@dataclass(slots=True)
class Bookings:
    #: By the name of the ProvisioningRequest: all and only those that are there and ours.
    _bookings: dict[ObjectKey, Booking] = field(default_factory=dict)
    #: By the request they name, whether or not it is there, and by their UIDs: pods that are there,
    #: and pods that are gone and whose requests are not.
    _consumers: dict[ObjectKey, dict[str, Consumer]] = field(default_factory=dict)
    #: The request that a pod uses, by the pod's UID: all and only the pods above.
    _uses: dict[str, ObjectKey] = field(default_factory=dict)
    #: Requests that a pod takes over, or that are deleted, until the cache shows it.
    _moving: dict[ObjectKey, _Move] = field(default_factory=dict)

    def booking_changed(self, key: ObjectKey, booking: Booking | None) -> list[str]:
        """Pods to look at."""
        if booking == self._bookings.get(key):
            return []
        if booking is None:
            self._bookings.pop(key, None)
        else:
            self._bookings[key] = booking
        return list(self._consumers.get(key, ()))

    def pod_changed(self, pod: WatchedPod) -> str:
        """The UID of the ProvisioningRequest to look at; empty: none. What a pod uses stays: it is
        an annotation that its controller wrote."""
        if not pod.consumes:
            return ""
        key = ObjectKey(pod.key.namespace, pod.consumes)
        if self._uses.get(pod.uid, key) != key:
            self.pod_gone(pod.uid)
        self._uses[pod.uid] = key
        users = self._consumers.setdefault(key, {})
        known = users.get(pod.uid)
        spec = pod.alternatives[0].spec if pod.alternatives else known.spec if known else b""
        users[pod.uid] = Consumer(pod.consumes_class, spec)
        return self._booking_at(key)

    def pod_gone(self, uid: str) -> str:
        """It and its requests are gone; the UID of the ProvisioningRequest to look at."""
        key = self._uses.pop(uid, None)
        if key is None:
            return ""
        users = self._consumers[key]
        users.pop(uid, None)
        if not users:
            del self._consumers[key]
        return self._booking_at(key)

    def used_by(self, uid: str) -> str:
        """The UID of the ProvisioningRequest that a pod uses; empty: none that is there."""
        key = self._uses.get(uid)
        return self._booking_at(key) if key is not None else ""

    def consumers(self, key: ObjectKey) -> list[tuple[str, Consumer]]:
        """Those that use it as it is, in the order of their UIDs."""
        booking = self._bookings.get(key)
        classes = ("", booking.class_name) if booking is not None else ()
        users = sorted(self._consumers.get(key, {}).items())
        return [(uid, each) for uid, each in users if each.class_name in classes]

    def booking_of(self, pod: WatchedPod) -> Booking | None:
        """The ProvisioningRequest the pod names; the class it names beside it does not matter."""
        if not pod.consumes:
            return None
        return self._bookings.get(ObjectKey(pod.key.namespace, pod.consumes))

    def _booking_at(self, key: ObjectKey) -> str:
        booking = self._bookings.get(key)
        return booking.uid if booking is not None else ""

    # -- shares on the move ----------------------------------------------------------------------

    def taken(self, request: OwnRequest, taker: str, at: Instant) -> None:
        """Before a pod takes it over."""
        self._moving[request.key] = _Move(at + _SHOWS_WITHIN, taker, request.share)

    def withdrawn(self, request: OwnRequest, at: Instant) -> None:
        """Before it is deleted."""
        self._moving[request.key] = _Move(at + _SHOWS_WITHIN)

    def shown(self, key: ObjectKey) -> None:
        """The cache shows what became of it, or nothing did."""
        self._moving.pop(key, None)

    def settled(self, shares: Iterable[OwnRequest], at: Instant) -> Iterator[OwnRequest]:
        """Those that are neither taken over nor deleted just now."""
        for key in [key for key, move in self._moving.items() if move.until <= at]:
            del self._moving[key]
        return (each for each in shares if not each.deleting and each.key not in self._moving)

    def share_taken_by(self, uid: str) -> BookedShare | None:
        """What the pod is taking over just now."""
        return next((each.share for each in self._moving.values() if each.taker == uid), None)

    def sizes(self) -> dict[str, int]:
        return {
            "bookings": len(self._bookings),
            "bookingsUsed": len(self._consumers),
            "podsUsingBookings": len(self._uses),
            "sharesMoving": len(self._moving),
        }


def best_share(spec: bytes, shares: Iterable[OwnRequest]) -> OwnRequest | None:
    """The first that asks for the same, else for as much, else any: a queue may have changed a pod
    since its template was written."""
    size, found = resources_in(spec), dict[bytes, OwnRequest]()
    for share in shares:
        if share.body.spec == spec:
            return share
        found.setdefault(share.body.spec, share)
    alike = (share for asked, share in found.items() if resources_in(asked) == size)
    return next(alike, None) or next(iter(found.values()), None)
