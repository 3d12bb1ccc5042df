"""How long steps took, per offering, and draws of how long they will take.

The newest observations of each offering are kept and count the less the older they are. An offering
with too few of them borrows from its capacity type, and where these are too few as well a duration
is assumed, which every answer says.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from bigfleet.engine.kernels.compiled import Floats
from bigfleet.model.latencies import ASSUMED
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.model.options import SECOND

#: Kept of one step of one offering, and offerings with a step that are kept at all.
MOST_KEPT = 200
MOST_SERIES = 4000
HALF_LIFE_SECONDS = 7 * 86_400.0
#: Fewer say too little.
LEAST_SEEN = 20
#: Of rests, which are rare.
LEAST_RESTS = 6

#: Of what is assumed: 95 % take no longer than 2.3 times the median.
_ASSUMED_SPREAD = 0.5
#: A Node is usable as long after its machine is Configured; see model/latencies.py.
_ASSUMED_JOIN = 27.5
_ASSUMED_ORDER = 1.0
#: Added before logarithms are taken: steps that took no time at all are seen.
_SHIFT = 0.5
#: Width of the smoothing of a resampled value, in standard deviations of a large sample: between
#: 0.1 and 0.3 p80 of the largest of 16 log-normal draws stays within two points of 80 %.
_WIDTH = 0.25


class Step(StrEnum):
    #: Claimed, and not begun: the time between a decision and its execution.
    ORDER = "order"
    CREATE = "create"
    CONFIGURE = "configure"
    #: From Configured to a usable Node.
    JOIN = "join"
    DRAIN = "drain"
    #: From the first failed Create until an offering can be had again.
    PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Observed:
    at: Instant
    seconds: float


class Distribution:
    """Of the durations of one step, to draw from."""

    def __init__(self, seconds: Floats, weights: Floats, *, is_assumed: bool = False) -> None:
        order = np.argsort(seconds)
        self._seconds, self._weights = seconds[order], weights[order] / weights.sum()
        self.samples = 0 if is_assumed else len(seconds)
        logs = np.log(self._seconds + _SHIFT)
        self._mean = float(self._weights @ logs)
        self._spread = math.sqrt(max(0.0, float(self._weights @ (logs - self._mean) ** 2)))
        self._logs = logs
        places = np.searchsorted(np.cumsum(self._weights), 0.5)
        self.median = float(self._seconds[min(int(places), len(seconds) - 1)])

    def remaining(self, chance: np.random.Generator, count: int, elapsed: float = 0.0) -> Floats:
        """Seconds that are left of a step that has taken so long already."""
        first = int(np.searchsorted(self._seconds, elapsed, side="right")) if elapsed > 0 else 0
        if first == len(self._seconds):
            # Longer than all that were seen: perhaps as long again.
            return elapsed * chance.random(count)
        weights = self._weights[first:]
        drawn = first + chance.choice(len(weights), count, p=weights / weights.sum())
        smooth = self._logs[drawn] + _WIDTH * self._spread * chance.standard_normal(count)
        if not first:
            # As wide as what was seen, and as much wider as few were.
            few = 1 + 1 / max(1, len(self._seconds))
            smooth = self._mean + (smooth - self._mean) * math.sqrt(few / (1 + _WIDTH**2))
        return np.maximum(np.exp(smooth) - _SHIFT - elapsed, 0.0)


class Durations:
    def __init__(self) -> None:
        self._kept: dict[tuple[str, Step], deque[Observed]] = {}
        self._made: dict[tuple[str, Step], Distribution] = {}
        #: Per offering: orders that were begun, at most one a cycle, and those that found no stock.
        self._orders: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return sum(len(each) for each in self._kept.values())

    @property
    def series(self) -> int:
        return len(self._kept)

    def add(self, offering: str, step: Step, seconds: float, at: Instant) -> None:
        key = offering, step
        # Read last, dropped last.
        kept = self._kept.pop(key, None)
        kept = deque(maxlen=MOST_KEPT) if kept is None else kept
        kept.append(Observed(at, max(0.0, seconds)))
        self._kept[key] = kept
        if len(self._kept) > MOST_SERIES:
            del self._kept[next(iter(self._kept))]
        self._made.clear()

    def count_order(self, offering: str, *, refused: bool) -> None:
        begun, failed = self._orders.pop(offering, (0.0, 0.0))
        if begun + failed >= MOST_KEPT:
            begun, failed = begun / 2, failed / 2
        self._orders[offering] = (begun + (not refused), failed + refused)
        if len(self._orders) > MOST_SERIES:
            del self._orders[next(iter(self._orders))]

    def refused_share(self, offering: str) -> float:
        """Of the orders of an offering; 0 where too few were seen."""
        begun, failed = self._orders.get(offering, (0.0, 0.0))
        return failed / (begun + failed) if begun + failed >= LEAST_SEEN else 0.0

    def items(self) -> Iterator[tuple[str, Step, Iterable[Observed]]]:
        """The one that was added to last comes last."""
        for (offering, step), kept in self._kept.items():
            yield offering, step, kept

    def of(self, offering: str, step: Step, now: Instant) -> Distribution:
        key = offering, step
        if key not in self._made:
            self._made[key] = self._make(offering, step, now)
        return self._made[key]

    def _make(self, offering: str, step: Step, now: Instant) -> Distribution:
        own: list[Observed] = list(self._kept.get((offering, step), ()))
        least = LEAST_RESTS if step is Step.PROBE else LEAST_SEEN
        if len(own) >= least:
            return _distribution(own, now)
        kind = offering.rpartition("/")[2]
        alike = [
            each
            for (other, of_step), kept in self._kept.items()
            if of_step is step and other.rpartition("/")[2] == kind
            for each in kept
        ]
        if len(alike) >= least:
            return _distribution(alike, now)
        return assumed(step, kind)


def _distribution(seen: list[Observed], now: Instant) -> Distribution:
    age = np.array([max(0, now - each.at) / SECOND for each in seen])
    # The newest counts as 1: after a long rest all of them are still there.
    weights = 0.5 ** ((age - age.min()) / HALF_LIFE_SECONDS)
    return Distribution(np.array([each.seconds for each in seen]), weights)


def assumed(step: Step, kind: str) -> Distribution:
    """Where too little was seen: log-normal around what steps usually take."""
    medians = {Step.ORDER: _ASSUMED_ORDER, Step.JOIN: _ASSUMED_JOIN, Step.PROBE: 300.0}
    median = medians.get(step)
    if median is None:
        known = {each.label for each in CapacityType}
        narrow = f"{step}.{kind}" if kind in known else str(step)
        median = ASSUMED.get(narrow, ASSUMED[str(step)])
    places = (np.arange(99) + 1) / 100
    seconds = median * np.exp(_ASSUMED_SPREAD * _standard_normal(places))
    return Distribution(seconds, np.ones(len(seconds)), is_assumed=True)


def _standard_normal(places: Floats) -> Floats:
    """Quantiles of the standard normal distribution."""
    from statistics import NormalDist

    normal = NormalDist()
    return np.array([normal.inv_cdf(each) for each in places.tolist()])
