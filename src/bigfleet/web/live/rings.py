"""What was measured before: a value a second for an hour, and one a minute for a day.

Columns of numbers, one per series. A time at which nothing was measured has no number: it stays a
gap, and never becomes a zero. Pure: time is told with every call.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.figures import CostAxis
from bigfleet.web.history import CostSamples, Samples
from bigfleet.web.live.cost_series import series_prefix

SECONDS, MINUTES = 3600, 24 * 60
MINUTE = 60
#: Series of the whole fleet's bill.
TOTAL, IDLE = "dollarsPerHour", "idleDollarsPerHour"
#: Of the regret meter: the effective cost of a cycle, and its lower bound.
COST, BOUND = "effectiveDollarsPerHour", "boundDollarsPerHour"
#: Series beyond these are not kept: shards and kinds are few.
MOST_SERIES = 4096

Floats = NDArray[np.float64]


class Ring:
    """Values at multiples of `step` seconds; older ones make room."""

    def __init__(self, step: int, slots: int) -> None:
        self.step = step
        self.slots = slots
        self._series: dict[str, Floats] = {}
        self._last = 0

    def put(self, second: int, values: Mapping[str, float | None]) -> None:
        """Of one time; a later call for the same time adds to it."""
        slot = second // self.step
        self._clear_until(slot)
        for name, value in values.items():
            column = self._series.get(name)
            if column is None:
                if len(self._series) >= MOST_SERIES:
                    continue
                column = self._series[name] = np.full(self.slots, np.nan)
            if slot > self._last - self.slots:
                column[slot % self.slots] = np.nan if value is None else value

    @property
    def newest(self) -> int:
        """Unix seconds of the last value; 0: there is none."""
        return self._last * self.step

    def names(self) -> list[str]:
        return sorted(self._series)

    def read(self, name: str, first: int, last: int) -> Floats:
        """Slots from `first` to `last`; what is not kept is a gap."""
        found = np.full(max(0, last - first + 1), np.nan)
        column = self._series.get(name)
        if column is not None:
            slots = np.arange(first, last + 1)
            kept = (slots <= self._last) & (slots > self._last - self.slots)
            found[kept] = column[slots[kept] % self.slots]
        return found

    def _clear_until(self, slot: int) -> None:
        """What lies between was not measured."""
        if slot <= self._last:
            return
        if self._last:
            fresh = np.arange(max(self._last + 1, slot - self.slots + 1), slot + 1) % self.slots
            for column in self._series.values():
                column[fresh] = np.nan
        self._last = slot


class Rings:
    """A `bigfleet.web.history.History`."""

    def __init__(self) -> None:
        self._seconds = Ring(1, SECONDS)
        self._minutes = Ring(MINUTE, MINUTES)
        self._minute = 0
        self._overview: dict[str, Any] | None = None

    def tell_overview(self, overview: dict[str, Any]) -> None:
        """The last one stands for now."""
        self._overview = overview

    def overview(self) -> dict[str, Any] | None:
        return self._overview

    def put(self, second: int, values: Mapping[str, float | None]) -> None:
        """None: not known now. A minute has the mean of its seconds."""
        minute = second // MINUTE
        if self._minute and minute > self._minute:
            means = {name: _mean(self._of_minute(name)) for name in self._seconds.names()}
            self._minutes.put(self._minute * MINUTE, means)
        self._minute = minute
        self._seconds.put(second, values)

    def _of_minute(self, name: str) -> Floats:
        first = self._minute * MINUTE
        return self._seconds.read(name, first, first + MINUTE - 1)

    def names(self) -> list[str]:
        return self._seconds.names()

    def series(
        self, names: list[str], now: int, seconds: int, step: int
    ) -> tuple[list[int], dict[str, list[float | None]]]:
        """The last `seconds`, a mean for every `step`; times in unix seconds."""
        back = max(self._seconds.newest, now) - now + seconds
        ring = self._seconds if back <= SECONDS else self._minutes
        step = max(ring.step, step // ring.step * ring.step)
        last = now // step
        times = np.arange(last - max(1, seconds // step) + 1, last + 1) * step
        per_step = step // ring.step
        first_slot = int(times[0]) // ring.step
        last_slot = first_slot + len(times) * per_step - 1
        found: dict[str, list[float | None]] = {}
        for name in names:
            values = ring.read(name, first_slot, last_slot).reshape(len(times), per_step)
            found[name] = _means(values)
        return times.tolist(), found

    def samples(self, shard: str, seconds: int, step: int) -> Samples:
        """Of a shard, or of the whole fleet where none is named: until the last that was put."""
        prefix = f"shard/{shard}/" if shard else ""
        actions = [name for name in self.names() if name.startswith(f"{prefix}actions/")]
        p99 = f"{prefix}cycleP99Seconds"
        times, found = self.series([*actions, p99], self._seconds.newest, seconds, step)
        rates = {name.removeprefix(f"{prefix}actions/"): found[name] for name in actions}
        return Samples(times, rates, found[p99])

    def costs(self, by: str, seconds: int, step: int, until: int | None) -> CostSamples:
        """As `History.costs`."""
        prefix = series_prefix(CostAxis(by))
        names = [name for name in self.names() if name.startswith(prefix)]
        now = self._seconds.newest if until is None else until
        times, found = self.series([*names, TOTAL, IDLE], now, seconds, step)
        total = found[TOTAL]
        gap = times[1] - times[0] if len(times) > 1 else step
        by_name = {name.removeprefix(prefix): _known_with(found[name], total) for name in names}
        return CostSamples(times, gap, total, found[IDLE], by_name)


def _known_with(values: list[float | None], total: list[float | None]) -> list[float | None]:
    """Before its first bill a name has no samples, and cost nothing."""
    return [
        0.0 if value is None and whole is not None else value
        for value, whole in zip(values, total, strict=True)
    ]


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _means(rows: Floats) -> list[float | None]:
    known = ~np.isnan(rows)
    count = known.sum(axis=1)
    sums = np.where(known, rows, 0.0).sum(axis=1)
    return [
        total / many if many else None
        for total, many in zip(sums.tolist(), count.tolist(), strict=True)
    ]
