"""When Needs that wait are expected to be met, and how good such forecasts have been."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

from bigfleet.model.durations import short_text
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey

#: Outcomes of a path from which on it may be called poorly calibrated, and the largest difference
#: between promised and kept share that is not.
LEAST_OUTCOMES = 50
LARGEST_ERROR = 0.10
#: The kind of all forecasts together.
ALL = "all"
#: The shares that are promised, in the order of a forecast's quantiles.
PROMISED = (0.50, 0.80, 0.95)


class ForecastPath(IntEnum):
    """How a Need comes to be met; numbers are those of the wire."""

    UNSPECIFIED = 0
    #: All its machines are already being created, configured or joining.
    IN_FLIGHT = 1
    #: Machines are ordered that are not being created yet.
    CREATE = 2
    #: Machines of victims drain for it.
    DRAIN = 3
    #: What fits rests after failed Creates, and is probed again.
    PROBE = 4
    #: Nothing that fits is to be had: there is no time, only what is missing.
    CAPACITY_NEEDED = 5
    #: As one of the first four, with assumed durations: too few machines were seen.
    PRIOR = 6
    #: A person, a rail or a fault holds it back: there is no time, only what it waits for.
    HELD = 7

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class ForecastStep:
    """One thing that has to happen first."""

    #: order, create, configure, join, drain or probe.
    name: str
    #: How many machines have it before them.
    machines: int
    #: `provider/type/zone/capacityType`.
    offering: str
    #: Median of the machines seen, in seconds.
    typical_seconds: float
    #: How many were seen; 0: the duration is assumed.
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Reliability:
    """Of the last outcomes: the share that was met by what was forecast."""

    #: A path, or `all`.
    kind: str
    outcomes: int
    #: None: no outcome yet.
    by_p50: float | None = None
    by_p80: float | None = None
    by_p95: float | None = None

    @property
    def by_quantile(self) -> tuple[tuple[str, float | None], ...]:
        return (("p50", self.by_p50), ("p80", self.by_p80), ("p95", self.by_p95))

    @property
    def is_poor(self) -> bool:
        if self.outcomes < LEAST_OUTCOMES:
            return False
        kept = (self.by_p50, self.by_p80, self.by_p95)
        errors = (abs(k - p) for k, p in zip(kept, PROMISED, strict=True) if k is not None)
        return any(error > LARGEST_ERROR for error in errors)

    @property
    def in_full(self) -> str:
        """`met: 52 % by p50, 79 % by p80, 94 % by p95 (n=212)`."""
        told = [(name, share) for name, share in self.by_quantile if share is not None]
        said = [f"{share * 100:.0f} % by {name}" for name, share in told]
        if not said:
            return "no forecast has ended yet"
        poor = "; poorly calibrated" if self.is_poor else ""
        return f"met: {', '.join(said)} (n={self.outcomes}){poor}"

    @property
    def text(self) -> str:
        """`79 % by p80 (n=212)`."""
        if self.by_p80 is None:
            return "none of this kind has ended yet"
        poor = ", poorly calibrated" if self.is_poor else ""
        return f"{self.by_p80 * 100:.0f} % by p80 (n={self.outcomes}){poor}"


@dataclass(frozen=True, slots=True)
class Forecast:
    need: NeedKey
    cycle: int
    at: Instant
    path: ForecastPath
    #: What it rests on; without a time: what it waits for, or what is missing.
    basis: str
    #: Seconds from `at`; None: there is no time to tell.
    p50: float | None = None
    p80: float | None = None
    p95: float | None = None
    steps: tuple[ForecastStep, ...] = ()
    #: How good forecasts of this path have been.
    of_kind: Reliability = Reliability("", 0)

    @property
    def is_timed(self) -> bool:
        return self.p50 is not None

    @property
    def brief(self) -> "Forecast":
        """Without its steps."""
        return replace(self, steps=())

    @property
    def text(self) -> str:
        """`p50 6 min, p80 11 min`; `none` without a time."""
        if self.p50 is None or self.p80 is None:
            return "none"
        return f"p50 {time_in_words(self.p50)}, p80 {time_in_words(self.p80)}"

    @property
    def sentence(self) -> str:
        """`p50 6 min, p80 11 min (3 machines to create ...); forecasts of this kind: 79 % by p80
        (n=212)`; without a time: what it waits for."""
        if not self.is_timed:
            return f"none: {self.basis}"
        return f"{self.text} ({self.basis}); forecasts of this kind: {self.of_kind.text}"


#: Forecasts of one answer: a few hundred bytes each.
MOST_TOLD = 2_000


@dataclass(frozen=True, slots=True)
class ForecastCall:
    #: Empty: of all clusters.
    cluster: str = ""
    #: 0: MOST_TOLD, -1: none.
    limit: int = 0


@dataclass(frozen=True, slots=True)
class ForecastReport:
    """What is expected, and how good that has been."""

    cycle: int = 0
    at: Instant = 0
    #: By cluster and Need.
    forecasts: tuple[Forecast, ...] = ()
    #: Before it was cut.
    total: int = 0
    #: Of all, then of each path that has any.
    reliability: tuple[Reliability, ...] = ()
    #: Forecasts whose Needs are neither met nor gone yet.
    open: int = 0
    #: Those of them that wait for longer than their p95.
    overdue: int = 0
    #: Durations the forecasts are drawn from.
    samples: int = 0


def part_of(report: ForecastReport, call: ForecastCall) -> ForecastReport:
    """What was asked for of it."""
    found = [each for each in report.forecasts if call.cluster in ("", each.need.cluster)]
    most = 0 if call.limit < 0 else min(call.limit or MOST_TOLD, MOST_TOLD)
    total = len(found) if call.cluster else report.total
    return replace(report, forecasts=tuple(found[:most]), total=total)


def reliability_of(kinds: Iterable[Reliability], kind: str) -> Reliability:
    return next((each for each in kinds if each.kind == kind), Reliability(kind, 0))


def rough_text(seconds: float) -> str:
    """As fine as a forecast is: `8s`, `3m20s`, `2h10m`."""
    for limit, step in ((60, 1), (600, 10), (3600, 60)):
        if seconds < limit:
            return short_text(float(round(seconds / step) * step))
    return short_text(float(round(seconds / 600) * 600))


def time_in_words(seconds: float) -> str:
    """`8 s`, `3 min 20 s`, `11 min`, `2 h 10 min`; as fine as a forecast is."""
    text = rough_text(seconds)
    words = {"h": " h ", "m": " min ", "s": " s "}
    return "".join(words.get(each, each) for each in text).strip()
