"""What was measured before: samples that the page's server keeps of its fleet."""

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Samples:
    """One value for each time; None: nothing was measured then."""

    #: Unix seconds, ascending.
    timestamps: list[int] = field(default_factory=list)
    #: Per second, by kind of action.
    action_rates: dict[str, list[float | None]] = field(default_factory=dict)
    cycle_p99_seconds: list[float | None] = field(default_factory=list)


class History(Protocol):
    def overview(self) -> dict[str, Any] | None:
        """What open pages were told last; None: nothing yet."""

    def samples(self, shard: str, seconds: int, step: int) -> Samples:
        """Of a shard, or of the whole fleet where none is named: the last `seconds`."""
