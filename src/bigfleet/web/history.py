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


@dataclass(frozen=True, slots=True)
class CostSamples:
    """Dollars per hour over time; None: nothing was measured then."""

    #: Unix seconds, ascending.
    timestamps: list[int] = field(default_factory=list)
    step: int = 1
    total: list[float | None] = field(default_factory=list)
    idle: list[float | None] = field(default_factory=list)
    #: By name on the axis: 0 where the name had no bill, None only where the total is.
    by_name: dict[str, list[float | None]] = field(default_factory=dict)


class History(Protocol):
    def overview(self) -> dict[str, Any] | None:
        """What open pages were told last; None: nothing yet."""

    def samples(self, shard: str, seconds: int, step: int) -> Samples:
        """Of a shard, or of the whole fleet where none is named: the last `seconds`."""

    def costs(self, by: str, seconds: int, step: int, until: int | None) -> CostSamples:
        """By a name of CostAxis: the last `seconds` before `until`, a time in unix seconds; None:
        before the last that was put."""
