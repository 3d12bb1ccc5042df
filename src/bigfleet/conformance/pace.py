"""How long the suite waits and how often it looks: every limit of the suite in one record.

All limits of rows are written for a settle time of 15 seconds and grow or shrink with `--settle`;
stability windows do not, because a slower provider is not allowed to be less stable.
"""

from dataclasses import dataclass, replace
from typing import Protocol

SETTLE = 15.0


class Clock(Protocol):
    """The only source of time of the suite; the driver owns the real one."""

    def now(self) -> float:
        """Monotonic seconds."""

    def wall(self) -> int:
        """Nanoseconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Pace:
    settle: float = SETTLE
    poll: float = 0.020
    #: While a transitional state is to be caught.
    watch: float = 0.001
    hold_error: float = 0.250
    hold_lifecycle: float = 0.300
    hold_walk: float = 0.080
    quiet: float = 0.750
    quiet_poll: float = 0.050
    burst: int = 16
    call_deadline: float = 30.0
    #: Of the fault lane; the limits of B701..B708 are written for two seconds.
    transition_timeout: float = 2.0

    def limit(self, seconds: float) -> float:
        """A limit of a row, in the tempo of this run."""
        return seconds * self.settle / SETTLE

    def brisk(self) -> "Pace":
        """For the self-test: its provider takes milliseconds, so seconds of patience are wasted."""
        return replace(
            self,
            settle=1.5,
            poll=0.004,
            hold_error=0.06,
            hold_lifecycle=0.08,
            hold_walk=0.03,
            quiet=0.15,
            quiet_poll=0.02,
            transition_timeout=0.2,
        )
