"""The forecasts of one shard: told every cycle, they watch, forecast and are judged.

Live it is told in a thread beside the cycle, from a journal cycle by cycle; it changes nothing that
an engine reads. A cycle forecasts the Needs that are new and then those whose forecast is oldest,
so many at most, and what it keeps is bounded.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.snapshot import Snapshot
from bigfleet.explain.need_states import NeedStates
from bigfleet.forecast.calibration import MOST_OUTCOMES, Calibration
from bigfleet.forecast.durations import Durations
from bigfleet.forecast.eta import EtaMaker
from bigfleet.forecast.watch import StepWatch
from bigfleet.model.forecasts import Forecast, ForecastReport, reliability_of
from bigfleet.model.machines import Instant
from bigfleet.model.need_states import NeedState
from bigfleet.model.options import SECOND

#: Needs that are forecast in one cycle, and kept.
MOST_PER_CYCLE = 50
MOST_KEPT = 5_000
#: A forecast is made anew after so long: what it says is a time, which does not age by itself.
REFRESH = 15 * SECOND


class ForecastBook:
    def __init__(self, refresh: int = REFRESH, most_outcomes: int = MOST_OUTCOMES) -> None:
        """`refresh`: nanoseconds after which a forecast is made anew."""
        self._refresh = refresh
        self.durations = Durations()
        self.calibration = Calibration(most_outcomes)
        self.watch = StepWatch(self.durations)
        #: By key number of the Need; replaced as a whole, so that any thread may read it.
        self.forecasts: Mapping[int, Forecast] = {}
        #: By key number: what their Needs waited for when they were made.
        self._causes: dict[int, int] = {}

    def sizes(self) -> dict[str, int]:
        return {
            "forecasts": len(self.forecasts),
            "forecastsOpen": len(self.calibration),
            "forecastDurations": len(self.durations),
            "forecastFollowed": len(self.watch),
        }

    def see(self, snapshot: Snapshot, at: Instant) -> None:
        """A cycle that was not decided again: only its machines are looked at."""
        self.watch.take(snapshot, None, (), at)

    def take(
        self,
        decision: Decision,
        states: NeedStates,
        cycle: int,
        most: int = MOST_PER_CYCLE,
        pace: Callable[[], None] = lambda: None,
    ) -> None:
        """`pace`: called before each Need; it may wait."""
        snapshot = decision.outcome.scene.snapshot
        unusable = states.holds.nodes.unusable.tolist()
        self.watch.take(snapshot, states.progress, unusable, states.holds.at)
        self._judge(decision, states)
        self._forecast(decision, states, cycle, most, pace)

    def forecast(
        self, decision: Decision, states: NeedStates, cycle: int, row: int
    ) -> Forecast | None:
        """Of one Need, by its row of the normalised demand; None: it is met. It is not judged."""
        if states.state[row] == NeedState.MET:
            return None
        maker = EtaMaker(decision, states, cycle, self.durations, self.watch)
        return self._with_past(maker.of(row))

    def forget_forecasts(self) -> None:
        """The next ones are all of one cycle; what became of earlier ones stays."""
        self.forecasts, self._causes = {}, {}

    def report(self, cycle: int, at: Instant, limit: int = 0) -> ForecastReport:
        """`limit` 0: all."""
        shown = sorted(self.forecasts.values(), key=_name)
        return ForecastReport(
            cycle,
            at,
            tuple(shown[:limit] if limit else shown),
            len(shown),
            self.calibration.reliability(),
            len(self.calibration),
            self.calibration.overdue(at),
            len(self.durations),
        )

    # -- within ----------------------------------------------------------------------------------

    def _judge(self, decision: Decision, states: NeedStates) -> None:
        """Forecasts whose Needs are met, gone or ask for more."""
        at, calibration = states.holds.at, self.calibration
        waiting = np.array(list(calibration.open_needs()), np.int64)
        if not len(waiting):
            return
        place = _places(states, waiting)
        for need, row in zip(waiting.tolist(), place.tolist(), strict=True):
            if row < 0:
                calibration.withdrawn(need, at)
            elif states.state[row] == NeedState.MET:
                calibration.met(need, at)
            else:
                calibration.changed(need, _wanted(decision, row))

    def _forecast(
        self,
        decision: Decision,
        states: NeedStates,
        cycle: int,
        most: int,
        pace: Callable[[], None],
    ) -> None:
        unmet = np.flatnonzero(states.state != NeedState.MET)[:MOST_KEPT]
        keys = states.progress.key[unmet].tolist()
        known = self.forecasts
        kept = {key: known[key] for key in keys if key in known}
        rows = dict(zip(keys, unmet.tolist(), strict=True))
        causes = dict(zip(keys, states.cause[unmet].tolist(), strict=True))
        # One that was made of another state of its Need is not told any more.
        before = self._causes
        kept = {key: each for key, each in kept.items() if before.get(key) == causes[key]}
        self._causes = {key: causes[key] for key in kept}
        stale = states.holds.at - self._refresh
        due = [key for key in rows if key not in kept or kept[key].at < stale]
        order = sorted(due, key=lambda key: kept[key].at if key in kept else -1)
        maker = EtaMaker(decision, states, cycle, self.durations, self.watch)
        for key in order[:most]:
            pace()
            kept[key] = made = self._with_past(maker.of(rows[key]))
            self._causes[key] = causes[key]
            if made.is_timed and not self.calibration.is_open(key):
                self.calibration.begin(key, made, _wanted(decision, rows[key]))
        self.forecasts = kept

    def _with_past(self, forecast: Forecast) -> Forecast:
        """With how good earlier ones of its path were."""
        if not forecast.is_timed:
            return forecast
        of_kind = reliability_of(self.calibration.reliability(), forecast.path.label)
        return replace(forecast, of_kind=of_kind)


def _places(states: NeedStates, wanted: np.ndarray) -> np.ndarray:
    """Rows of these keys, -1 of those that are gone."""
    keys = states.progress.key
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys)
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    return np.where(keys[order[at]] == wanted, order[at], -1)


def _wanted(decision: Decision, row: int) -> dict[str, int]:
    outcome = decision.outcome
    pairs = zip(outcome.scene.dimensions, outcome.needs.wanted[row].tolist(), strict=True)
    return {name: amount for name, amount in pairs if amount}


def _name(forecast: Forecast) -> tuple[str, str, str]:
    need = forecast.need
    return need.cluster, need.fingerprint, need.group
