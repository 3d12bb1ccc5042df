"""Forecasts of a live shard, made in a thread between cycles and never in their way.

While a cycle runs the thread stands still between two Needs, and it rests nine times as long as it
has worked. So forecasts may be some cycles old, which they say; nothing waits for them, and no
decision reads them.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping

from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.engine.decision import Decision
from bigfleet.explain.need_states import NeedStates
from bigfleet.forecast.book import ForecastBook
from bigfleet.model.forecasts import (
    ALL,
    Forecast,
    ForecastCall,
    ForecastPath,
    ForecastReport,
    Reliability,
    part_of,
    reliability_of,
)
from bigfleet.model.options import SECOND
from bigfleet.shard.state import ShardState

#: Times as long as the last forecasts took, before the next ones are begun.
_REST = 9
#: A cycle that runs for longer is not waited for.
_LONGEST_WAIT_SECONDS = 1.0


class Forecasts:
    def __init__(self, state: ShardState, stopwatch: Callable[[], float], log: Log) -> None:
        self._state = state
        self._stopwatch = stopwatch
        self._log = log
        self._book = ForecastBook()
        #: Of the last cycle that was forecast; replaced as a whole.
        self._report = ForecastReport()
        self._between_cycles = threading.Event()
        self._between_cycles.set()
        self._making: asyncio.Task[None] | None = None
        self._begin_at = float("-inf")

    @property
    def forecasts(self) -> Mapping[int, Forecast]:
        """By key number of the Need; of any thread."""
        return self._book.forecasts

    def told(self, call: ForecastCall) -> ForecastReport:
        return part_of(self._report, call)

    def reliability(self) -> Reliability:
        """Of all forecasts that have ended."""
        return reliability_of(self._report.reliability, ALL)

    def sizes(self) -> dict[str, int]:
        return self._book.sizes()

    # -- beside cycles ---------------------------------------------------------------------------

    def hold(self) -> None:
        """A cycle begins."""
        self._between_cycles.clear()

    def go_on(self) -> None:
        """The cycle has ended."""
        self._between_cycles.set()
        self._make_soon()

    async def made(self) -> None:
        """Returns when no forecasts are being made."""
        if self._making is not None:
            await asyncio.wait({self._making})

    async def close(self) -> None:
        self._begin_at = float("inf")
        self._between_cycles.set()
        await self.made()

    def measure(self, counts: Counts) -> None:
        """Set the gauges."""
        report = self._report
        for path in ForecastPath:
            if path is not ForecastPath.UNSPECIFIED:
                found = sum(each.path is path for each in report.forecasts)
                counts.set("forecast_needs", found, path=path.label)
        counts.set("forecasts_open", report.open)
        counts.set("forecasts_overdue", report.overdue)
        kept = self.reliability()
        counts.set("forecast_outcomes", kept.outcomes)
        for quantile, share in kept.by_quantile:
            if share is not None:
                counts.set("forecast_reliability", share, quantile=quantile)
        ledger = self._state.decision_loop.ledger
        if ledger.cycle and report.cycle:
            behind = max(0, ledger.computed_at - report.at) / SECOND
            counts.set("forecast_lag_seconds", behind)

    # -- within ----------------------------------------------------------------------------------

    def _make_soon(self) -> None:
        shown, ledger = self._state.parts.need_judge.shown, self._state.decision_loop.ledger
        if shown is None or ledger.cycle == self._report.cycle:
            return
        is_making = self._making is not None and not self._making.done()
        if is_making or self._stopwatch() < self._begin_at:
            return
        states, decision = shown
        self._making = asyncio.create_task(self._make(decision, states, ledger.cycle))

    async def _make(self, decision: Decision, states: NeedStates, cycle: int) -> None:
        began = self._stopwatch()
        try:
            self._report = await asyncio.to_thread(self._made, decision, states, cycle)
        except Exception as problem:  # noqa: BLE001 - a forecast must never end a shard
            self._book = ForecastBook()
            text = f"forecasts begin anew: {problem!r}"
            self._log.error("forecasts.failed", msg=text, cycle=cycle)
        now = self._stopwatch()
        self._begin_at = max(self._begin_at, now + _REST * (now - began))

    def _made(self, decision: Decision, states: NeedStates, cycle: int) -> ForecastReport:
        """In a thread."""
        book = self._book
        self._stand_still()
        book.take(decision, states, cycle, pace=self._stand_still)
        return book.report(cycle, states.holds.at)

    def _stand_still(self) -> None:
        self._between_cycles.wait(_LONGEST_WAIT_SECONDS)
