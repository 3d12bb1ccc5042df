"""Back-off: how long what failed is left alone, doubling from a first to a longest rest."""

from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND


def nanos(seconds: float) -> int:
    return round(seconds * SECOND)


@dataclass(frozen=True, slots=True)
class Backoff:
    first_seconds: float
    longest_seconds: float

    def seconds(self, failures: int) -> float:
        """The rest after the n-th failure in a row, counted from 1."""
        doublings = min(max(failures - 1, 0), 62)
        return min(self.first_seconds * 2.0**doublings, self.longest_seconds)

    def half_drawn(self, failures: int, drawn: float) -> float:
        """The same, of which half is drawn (from 0 up to 1): many do not come back at once."""
        return self.seconds(failures) * (0.5 + drawn / 2)

    def after(self, failures: int, at: Instant) -> Instant:
        return at + nanos(self.seconds(failures))
