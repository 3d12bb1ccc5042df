"""A breaker: whether a scope may be bought from now; and how many of its machines joined lately.

Closed: yes. Open: no, until its time. Half-open: once, to see; how that one goes decides.
"""

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from bigfleet.model.backoffs import Backoff, nanos
from bigfleet.model.machines import Instant
from bigfleet.model.offering_scopes import Scope, jitter
from bigfleet.model.options import SECOND

#: Failures in a row of any kind that open an offering, and within which time.
FAILURES_IN_A_ROW = 3
FAILURE_WINDOW = 300 * SECOND


class BreakerState(StrEnum):
    OPEN = "open"
    HALF_OPEN = "half-open"


class BreakerCause(StrEnum):
    """Why it opened."""

    STOCKOUT = "stockout"
    FAILURES = "failures"
    #: Machines that are made but never join their cluster.
    JOIN = "join"
    #: Several offerings of the row are open.
    ROW = "row"


@dataclass(slots=True)
class OfferingBreaker:
    scope: Scope
    kind: BreakerCause
    state: BreakerState
    opened_at: Instant
    until: Instant
    #: Openings in a row, probes that failed included.
    attempt: int = 1
    #: The machine bought to see whether it works.
    probe: str = ""
    text: str = ""
    #: Another shard found it out; this one has not tried yet.
    is_hearsay: bool = False
    #: Orders that were decided on and not placed.
    creates_saved: int = 0

    @property
    def lets_nothing_through(self) -> bool:
        return self.state is BreakerState.OPEN or bool(self.probe)

    def reopen(self, backoff: Backoff, at: Instant, text: str) -> None:
        """The probe failed."""
        self.attempt += 1
        self.is_hearsay = False
        self.state, self.probe, self.text = BreakerState.OPEN, "", text
        self.until = at + rest_of(self.scope, self.attempt, backoff)


def opened(
    scope: Scope, kind: BreakerCause, backoff: Backoff, at: Instant, text: str
) -> OfferingBreaker:
    until = at + rest_of(scope, 1, backoff)
    return OfferingBreaker(scope, kind, BreakerState.OPEN, at, until, text=text)


def heard(
    scope: Scope, kind: BreakerCause, attempt: int, until: Instant, at: Instant
) -> OfferingBreaker:
    """Of another shard; it ends there when it ends here."""
    text = "another shard could not buy it"
    return OfferingBreaker(
        scope, kind, BreakerState.OPEN, at, until, attempt, "", text, is_hearsay=True
    )


def rest_of(scope: Scope, attempt: int, backoff: Backoff) -> int:
    return nanos(backoff.seconds(attempt) * jitter(scope, attempt))


@dataclass(slots=True)
class FailureStreak:
    """Failures of a closed offering, in a row."""

    at: list[Instant] = field(default_factory=list)

    def add(self, at: Instant) -> bool:
        """Whether that was one too many."""
        self.at = [then for then in self.at if at - then < FAILURE_WINDOW] + [at]
        return len(self.at) >= FAILURES_IN_A_ROW


#: Machines that did not join, and their part of all attempts, from which it is the offering.
MACHINES = 3
SHARE = 0.5
#: Attempts that are remembered, and for how long.
ATTEMPTS = 64
WINDOW = 3600 * SECOND


@dataclass(slots=True)
class Joins:
    """How many of the machines of an offering became nodes of their cluster lately."""

    #: (machine, whether it joined, when), oldest first.
    attempts: deque[tuple[str, bool, Instant]] = field(
        default_factory=lambda: deque(maxlen=ATTEMPTS)
    )

    def never_joined(self, machine: str, at: Instant) -> bool:
        """Its provider took it for one that joined; whether too many did not."""
        well = [attempt for attempt in self.attempts if attempt[:2] != (machine, True)]
        self.attempts = deque(well, maxlen=ATTEMPTS)
        return self.add(machine, False, at)

    def add(self, machine: str, joined: bool, at: Instant) -> bool:
        """Whether too many did not join."""
        while self.attempts and at - self.attempts[0][2] >= WINDOW:
            self.attempts.popleft()
        self.attempts.append((machine, joined, at))
        lost = [name for name, well, _ in self.attempts if not well]
        return not joined and len(set(lost)) >= MACHINES and len(lost) >= SHARE * len(self.attempts)
