"""What is remembered of a machine that failed: why, now, and how often before.

One row each, kept across restarts: why and since when, how many looks it had, and when it failed
lately, so that a machine that fails over and over is left alone for a while.
"""

from dataclasses import dataclass, field

import msgspec

from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.shard_views import FailedView

# -- why a machine is Failed ---------------------------------------------------------------------

#: The provider itself calls the machine Failed.
PROVIDER_FAILED = "provider_failed"
#: Another process with this shard's id has acted on the machine.
FENCED = "fenced"
#: Of machines that are not Failed, but lost to their cluster: never joined or without a Node, and
#: with a Node that stays unhealthy.
JOIN, UNHEALTHY = "join", "unhealthy"


def timeout_cause(state: MachineState) -> str:
    return f"timeout_{state.name.lower()}"


def is_automatic(cause: str) -> bool:
    """Whether the machine comes back by itself once its provider shows it healthy."""
    return cause != FENCED


@dataclass(slots=True)
class Failure:
    cause: str
    text: str
    since: Instant
    #: Of the process that saw it fail.
    epoch: int = 0
    attempts: int = 0
    #: When it is looked at next; None: not by the clock.
    next_look_at: Instant | None = None
    last_look_at: Instant | None = None
    #: A List showed it healthy: the next look is not counted.
    is_prompted: bool = False
    #: An administrator asked for a look, and believes what it shows.
    is_rechecked: bool = False
    is_stuck: bool = False


@dataclass(slots=True)
class FailureRow:
    """The row of a machine: a failure that stands, and those that were."""

    failure: Failure | None = None
    #: Of the last hour or so, oldest first, and not more than count for a rest.
    failed_at: list[Instant] = field(default_factory=list)
    #: Not used again before.
    rests_until: Instant | None = None
    #: Cleared by hand: not shown again while its provider calls it Failed.
    is_forgotten: bool = False
    #: When it was last known to be there, give or take an eighth of how long it is remembered;
    #: None: it is in the inventory, or was when this was written.
    seen_at: Instant | None = None

    def row(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def says_nothing(self) -> bool:
        past = self.failed_at or self.rests_until is not None
        return self.failure is None and not past and not self.is_forgotten

    def sight_of(
        self, *, is_held: bool, is_listed: bool, at: Instant, memory: int
    ) -> Instant | None:
        """What `seen_at` is to say now; it changes seldom, since every change is written.

        `is_held`: it is in the inventory; `is_listed`: kept out of it, but its provider named it.
        """
        if is_held:
            return None
        # A clock that was ahead when it was written must not keep the row for ever.
        if self.seen_at is None or self.seen_at > at:
            return at
        return at if is_listed and at - self.seen_at >= memory // 8 else self.seen_at


@dataclass(frozen=True, slots=True)
class HealthySighting:
    """A read of the provider in which a Failed machine looked healthy."""

    machine: Machine
    at: Instant


def kept_of(row: bytes) -> FailureRow:
    """Raises msgspec.ValidationError or DecodeError for a malformed row."""
    return msgspec.json.decode(row, type=FailureRow)


def view_of(failure: Failure) -> FailedView:
    return FailedView(
        failure.cause,
        failure.since,
        failure.attempts,
        failure.next_look_at,
        is_automatic(failure.cause) and not failure.is_stuck,
    )
