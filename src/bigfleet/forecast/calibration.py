"""How good forecasts have been: the first one of each Need is kept and judged when it has ended.

A Need that is met late, or goes away unmet after a quantile has passed, missed that quantile; one
that goes away before says nothing about it. A Need that asks for more than it did is another
question: its forecast is dropped and the next one is its first.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from bigfleet.model.forecasts import ALL, Forecast, Reliability
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: Outcomes that are kept, and forecasts that wait for theirs.
MOST_OUTCOMES = 500
MOST_OPEN = 5000


@dataclass(frozen=True, slots=True)
class OpenForecast:
    path: str
    at: Instant
    #: Seconds, in the order of PROMISED.
    quantiles: tuple[float, float, float]
    #: What the Need asked for, by dimension.
    wanted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    path: str
    at: Instant
    seconds: float
    #: By quantile: met by then, or not; None: it went away before.
    kept: tuple[bool | None, bool | None, bool | None]


class Calibration:
    def __init__(self, most_outcomes: int = MOST_OUTCOMES) -> None:
        #: By key number of the Need.
        self._open: dict[int, OpenForecast] = {}
        self._outcomes: deque[Outcome] = deque(maxlen=most_outcomes)
        #: Of these outcomes; None: not computed yet.
        self._reliability: tuple[Reliability, ...] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def is_open(self, need: int) -> bool:
        return need in self._open

    def open_needs(self) -> Collection[int]:
        return self._open.keys()

    @property
    def opened(self) -> Mapping[int, OpenForecast]:
        return self._open

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return tuple(self._outcomes)

    def load(self, opened: Mapping[int, OpenForecast], outcomes: Iterable[Outcome]) -> None:
        self._open = dict(list(opened.items())[-MOST_OPEN:])
        self._outcomes.clear()
        self._outcomes.extend(outcomes)
        self._reliability = None

    def begin(self, need: int, forecast: Forecast, wanted: Mapping[str, int]) -> None:
        """The first forecast of a Need; later ones are not judged."""
        if need in self._open or len(self._open) >= MOST_OPEN:
            return
        if forecast.p50 is None or forecast.p80 is None or forecast.p95 is None:
            return
        promised = forecast.p50, forecast.p80, forecast.p95
        self._open[need] = OpenForecast(forecast.path.label, forecast.at, promised, wanted)

    def changed(self, need: int, wanted: Mapping[str, int]) -> bool:
        """Whether the Need asks for more than when it was forecast; then that is dropped."""
        known = self._open.get(need)
        if known is None:
            return False
        more = any(amount > known.wanted.get(name, 0) for name, amount in wanted.items())
        if more:
            del self._open[need]
        return more

    def met(self, need: int, at: Instant) -> None:
        if (known := self._open.pop(need, None)) is None:
            return
        took = (at - known.at) / SECOND
        p50, p80, p95 = (took <= each for each in known.quantiles)
        self._end(Outcome(known.path, at, took, (p50, p80, p95)))

    def withdrawn(self, need: int, at: Instant) -> None:
        if (known := self._open.pop(need, None)) is None:
            return
        took = (at - known.at) / SECOND
        p50, p80, p95 = (False if took > each else None for each in known.quantiles)
        if p50 is not None:
            self._end(Outcome(known.path, at, took, (p50, p80, p95)))

    def overdue(self, at: Instant) -> int:
        """Open forecasts whose p95 has passed."""
        open_now = self._open.values()
        return sum((at - each.at) / SECOND > each.quantiles[2] for each in open_now)

    def reliability(self) -> tuple[Reliability, ...]:
        """Of all, then of each path."""
        if self._reliability is None:
            kinds = sorted({each.path for each in self._outcomes})
            self._reliability = tuple(self._of_kind(kind) for kind in (ALL, *kinds))
        return self._reliability

    def _end(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        self._reliability = None

    def _of_kind(self, kind: str) -> Reliability:
        of_kind = [each for each in self._outcomes if kind in (ALL, each.path)]
        shares: list[float | None] = []
        for place in range(3):
            known = [kept for each in of_kind if (kept := each.kept[place]) is not None]
            shares.append(round(sum(known) / len(known), 4) if known else None)
        return Reliability(kind, len(of_kind), *shares)
