"""How long the holder of a lease may act on it, by its own clock alone.

Law: never longer than etcd keeps the lease. etcd counts from when it heard a keep-alive, and that
is not before it was sent; so the holder counts from the sending of the last one that was answered.
"""

from dataclasses import dataclass

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import Instant

#: Of the TTL: three keep-alives may be lost before the lease is.
_RENEWED_AFTER = 0.3
#: Of the TTL: between a keep-alive that is due and the end there is time to ask three endpoints.
_TRY = 0.2


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    #: When the last keep-alive that was answered had been sent, or the lease asked for.
    sent_at: Instant
    ttl_seconds: float

    @property
    def ends_at(self) -> Instant:
        return self.sent_at + round(self.ttl_seconds * SECOND)

    @property
    def try_seconds(self) -> float:
        """What one endpoint gets to answer."""
        return self.ttl_seconds * _TRY

    def runs(self, now: Instant) -> bool:
        return now < self.ends_at

    def seconds_left(self, now: Instant) -> float:
        return max(0.0, (self.ends_at - now) / SECOND)

    def seconds_to_renewal(self, now: Instant) -> float:
        """0: it is due."""
        due = self.sent_at + round(self.ttl_seconds * _RENEWED_AFTER * SECOND)
        return max(0.0, (due - now) / SECOND)
