"""One pool for all clusters compared with a pool for each of them: the question and its answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.latencies import Latencies
from bigfleet.model.machines import Instant

#: A pool may keep up to ten times its demand on top of it.
LARGEST_HEADROOM = 10.0


class Split(StrEnum):
    """By what committed machines are divided between the clusters."""

    #: The largest demand of each cluster in the journal.
    PEAK = "peak"
    #: Its demand on average over the journal.
    MEAN = "mean"
    #: The committed machines it really had, on average over the journal.
    ACTUAL = "actual"


@dataclass(frozen=True, slots=True)
class IsolatedCall:
    split: Split = Split.PEAK
    #: What every isolated pool keeps on top of its demand, as a part of it.
    headroom: float = 0.0
    #: Of the journal, from a time on and until a time; 0: all that is kept.
    since: Instant = 0
    until: Instant = 0


def call_of(split: str, headroom: float, since: Instant = 0, until: Instant = 0) -> IsolatedCall:
    """Raises BadInput with every problem."""
    problems = []
    if split and split not in set(Split):
        problems.append(Problem("split", f"{split[:40]!r} is not one of {', '.join(Split)}"))
    # NaN fails every comparison.
    if not 0.0 <= headroom <= LARGEST_HEADROOM:
        text = f"{headroom:g} is not a number from 0 to {LARGEST_HEADROOM:g}; 0.1 means 10 %"
        problems.append(Problem("headroom", text))
    if until and until < since:
        problems.append(Problem("until", "it is before since; leave one of them out, or swap them"))
    if problems:
        raise BadInput(problems)
    return IsolatedCall(Split(split or Split.PEAK), headroom, since, until)


@dataclass(frozen=True, slots=True)
class Measures:
    """What one side did over some time."""

    dollars: float = 0.0
    #: Of machines that exist or are being created.
    machine_hours: float = 0.0
    #: Those of on-demand and spot machines among them.
    bought_machine_hours: float = 0.0
    preemptions: int = 0
    #: Demand without a machine that serves it, by dimension: cores, GiB or pieces, times hours.
    unmet: Mapping[str, float] = field(default_factory=dict)
    #: The same, each Need's times its priority; a priority below 1 counts as 1.
    weighted_unmet: Mapping[str, float] = field(default_factory=dict)

    def plus(self, other: "Measures") -> "Measures":
        return Measures(
            self.dollars + other.dollars,
            self.machine_hours + other.machine_hours,
            self.bought_machine_hours + other.bought_machine_hours,
            self.preemptions + other.preemptions,
            _sums(self.unmet, other.unmet),
            _sums(self.weighted_unmet, other.weighted_unmet),
        )


@dataclass(frozen=True, slots=True)
class IsolatedSlice:
    """A piece of the time that was compared."""

    start: Instant
    #: Observed; less than the piece is long where cycles are missing.
    seconds: float
    pooled: Measures
    isolated: Measures


@dataclass(frozen=True, slots=True)
class IsolatedCluster:
    """A cluster with a pool of its own."""

    cluster: str
    #: Of the committed machines.
    share: float
    committed_machines: int
    measures: Measures


@dataclass(frozen=True, slots=True)
class IsolatedReport:
    #: The first and the last cycle that were compared: `3:18231`.
    first: str
    last: str
    began: Instant
    ended: Instant
    cycles: int
    split: Split
    headroom: float
    slice_seconds: int
    #: Oldest first; one for each piece of time that was observed.
    slices: tuple[IsolatedSlice, ...]
    clusters: tuple[IsolatedCluster, ...]
    latencies: Latencies
    #: On-demand and spot machines that are listed at no price: the most at once.
    unpriced_machines: int = 0
    #: What is missing in between, a sentence each; it counts for neither side.
    gaps: tuple[str, ...] = ()
    #: Why the rest of what was asked for is missing; empty: nothing is.
    cut_short: str = ""

    @property
    def hours(self) -> float:
        """Observed."""
        return sum(each.seconds for each in self.slices) / 3600.0

    @property
    def pooled(self) -> Measures:
        return _total(each.pooled for each in self.slices)

    @property
    def isolated(self) -> Measures:
        return _total(each.isolated for each in self.slices)


def _total(parts: Iterable[Measures]) -> Measures:
    total = Measures()
    for each in parts:
        total = total.plus(each)
    return total


def _sums(some: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    return {name: some.get(name, 0.0) + others.get(name, 0.0) for name in sorted({*some, *others})}
