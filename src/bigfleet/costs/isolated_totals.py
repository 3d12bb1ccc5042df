"""What a comparison of one pool with isolated ones comes to: totals, differences, intervals.

Of the cost and the other sums an interval of 95 % is told, by a block bootstrap: hours are drawn
with replacement, whole, because the minutes of an hour depend on each other.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigfleet.model.durations import short_text
from bigfleet.model.instants import instant_text
from bigfleet.model.isolated import (
    IsolatedReport,
    IsolatedSlice,
    Measures,
    Split,
)
from bigfleet.model.latencies import Latencies
from bigfleet.model.options import SECOND
from bigfleet.model.quantities import is_binary

HOUR = 3600
#: With fewer an interval would say more than is known.
FEWEST_BLOCKS = 24
#: An hour is a block if it was observed for so long.
_FEWEST_SECONDS = HOUR / 2
RESAMPLES = 1_000
SEED = 20_260_101
_PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of both sides."""

    name: str
    unit: str
    pooled: float
    isolated: float
    #: Of the difference; None: there are too few blocks.
    interval: tuple[float, float] | None

    @property
    def difference(self) -> float:
        """What isolated pools take more."""
        return self.isolated - self.pooled

    def document(self) -> dict[str, Any]:
        return {
            "measure": self.name,
            "unit": self.unit,
            "pooled": self.pooled,
            "isolated": self.isolated,
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
        }


def rows_of(report: IsolatedReport) -> tuple[Row, ...]:
    """The cost first, then machines, demand that waits and preemptions."""
    pooled, isolated, blocks = report.pooled, report.isolated, blocks_of(report.slices)
    draws = _draws(len(blocks))

    def row(name: str, unit: str, value: Callable[[Measures], float]) -> Row:
        interval = _interval(blocks, value, draws, report.hours) if draws is not None else None
        return Row(name, unit, value(pooled), value(isolated), interval)

    dimensions = sorted({*pooled.unmet, *isolated.unmet})
    return (
        row("billed", "$", lambda side: side.dollars),
        row("machines", "machine hours", lambda side: side.machine_hours),
        row("bought machines", "machine hours", lambda side: side.bought_machine_hours),
        *(
            row(f"unmet {name} x priority", f"{unit_of(name)} hours x priority", weighted(name))
            for name in dimensions
        ),
        *(row(f"unmet {name}", f"{unit_of(name)} hours", plain(name)) for name in dimensions),
        row("preemptions", "", lambda side: side.preemptions),
    )


def weighted(name: str) -> Callable[[Measures], float]:
    return lambda side: side.weighted_unmet.get(name, 0.0)


def plain(name: str) -> Callable[[Measures], float]:
    return lambda side: side.unmet.get(name, 0.0)


def unit_of(dimension: str) -> str:
    if dimension == "cpu":
        return "core"
    return "GiB" if is_binary(dimension) else dimension


def blocks_of(slices: Iterable[IsolatedSlice]) -> tuple[IsolatedSlice, ...]:
    """Hours of the clock that were observed for half of them or more."""
    hours = coarser(slices, HOUR)
    return tuple(each for each in hours if each.seconds >= _FEWEST_SECONDS)


def coarser(slices: Iterable[IsolatedSlice], seconds: int) -> tuple[IsolatedSlice, ...]:
    """In pieces of so many seconds."""
    size, found = seconds * SECOND, dict[int, IsolatedSlice]()
    for each in slices:
        start = each.start // size * size
        known = found.get(start)
        found[start] = replace(each, start=start) if known is None else _both(known, each)
    return tuple(found[start] for start in sorted(found))


def _both(some: IsolatedSlice, other: IsolatedSlice) -> IsolatedSlice:
    return IsolatedSlice(
        some.start,
        some.seconds + other.seconds,
        some.pooled.plus(other.pooled),
        some.isolated.plus(other.isolated),
    )


def _draws(blocks: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]] | None":
    """Which blocks each resample has; the same for every measure."""
    if blocks < FEWEST_BLOCKS:
        return None
    return np.random.default_rng(SEED).integers(0, blocks, (RESAMPLES, blocks))


def _interval(
    blocks: Sequence[IsolatedSlice],
    value: Callable[[Measures], float],
    draws: "np.ndarray[tuple[int, int], np.dtype[np.int64]]",
    hours: float,
) -> tuple[float, float]:
    """Of the whole time: hours that are observed in part count by what was observed."""
    difference = np.array([value(each.isolated) - value(each.pooled) for each in blocks])
    observed = np.array([each.seconds / HOUR for each in blocks])
    resampled = difference[draws].sum(axis=1) / observed[draws].sum(axis=1) * hours
    low, high = np.percentile(resampled, _PERCENTILES).tolist()
    return low, high


def why_no_interval(report: IsolatedReport) -> str:
    """Empty: there is one."""
    blocks = len(blocks_of(report.slices))
    if blocks >= FEWEST_BLOCKS:
        return ""
    return (
        f"No interval: it takes {FEWEST_BLOCKS} hours that were observed for half of them or more; "
        f"there {'is' if blocks == 1 else 'are'} {blocks}."
    )


_SPLIT_TEXTS = {
    Split.PEAK: "by the largest demand each cluster had in this time",
    Split.MEAN: "by the demand each cluster had on average in this time",
    Split.ACTUAL: "by the committed machines each cluster really had on average",
}


def assumptions_of(report: IsolatedReport) -> tuple[str, ...]:
    """A sentence each; they are shown beside every number."""
    measured, assumed = report.latencies.measured_texts, Latencies(report.latencies.assumed).texts
    machines = sum(each.committed_machines for each in report.clusters)
    headroom = (
        f"Every isolated pool keeps {report.headroom:.0%} more than its demand, at the lowest "
        "priority, rounded up to whole machines for each Need."
        if report.headroom
        else "Isolated pools keep no headroom."
    )
    return (
        "Both sides are this engine on the recorded demand, with the recorded prices, back-offs "
        "and failures of machines; it decides anew, so neither side is what really happened.",
        f"{machines:,} committed machines (bare metal, reserved) are divided between "
        f"{len(report.clusters)} clusters {_SPLIT_TEXTS[report.split]}, at the start and at once. "
        "They count in machine hours, at the price they are listed with.",
        "Every on-demand and spot slot is there for each isolated cluster, as if it were alone in "
        "the cloud.",
        "No machine moves between isolated clusters, and no Need preempts one of another cluster.",
        headroom,
        "Both sides take the same time for a step, every action succeeds, and no rail or pause "
        "holds one back; "
        + "; ".join(
            f"{title} {', '.join(f'{name} {text}' for name, text in texts.items())}"
            for title, texts in (("measured:", measured), ("assumed:", assumed))
            if texts
        )
        + ".",
        "Unmet is demand that no configured machine serves; x priority multiplies each Need's by "
        "its priority, at least 1.",
        "Time that the journal does not cover counts for neither side.",
        *_unpriced_texts(report.unpriced_machines),
    )


def _unpriced_texts(machines: int) -> tuple[str, ...]:
    """What is not known is said: no price is not a price of nothing."""
    if not machines:
        return ()
    return (
        f"{machines:,} on-demand or spot machines are listed without a price; they count as $0, so "
        "both sides cost more than is told here where they are bought.",
    )


def span_text(report: IsolatedReport) -> str:
    return (
        f"Cycles {report.first} to {report.last}, {instant_text(report.began)} to "
        f"{instant_text(report.ended)}: {short_text(round(report.hours * HOUR))} observed."
    )


def verdict_text(report: IsolatedReport) -> str:
    """The headline: what one pool costs less, or more, and whose demand waited longer."""
    cost = rows_of(report)[0]
    return " ".join(each for each in (_cost_text(cost), _waiting_text(report)) if each)


def _cost_text(cost: Row) -> str:
    if cost.difference == 0.0:
        return f"One pool and isolated pools cost the same: ${cost.pooled:,.2f}."
    word = "less" if cost.difference > 0 else "more"
    part = f" ({abs(cost.difference) / cost.isolated:.0%})" if cost.isolated else ""
    told = (
        f"One pool costs ${abs(cost.difference):,.2f} {word}{part}: ${cost.pooled:,.2f} instead "
        f"of ${cost.isolated:,.2f} for a pool per cluster."
    )
    if cost.interval is None:
        return told
    low, high = (_dollars(each) for each in cost.interval)
    return f"{told} What it saves lies between {low} and {high} (95 %)."


def _dollars(amount: float) -> str:
    return f"-${-amount:,.2f}" if amount < 0 else f"${amount:,.2f}"


def _waiting_text(report: IsolatedReport) -> str:
    """A pool that costs less because it leaves more demand without machines must say so."""
    pooled, isolated = report.pooled.unmet, report.isolated.unmet
    dimensions = sorted({*pooled, *isolated}, key=lambda name: (name != "cpu", name))
    if not dimensions:
        return ""
    name = dimensions[0]
    one, several = pooled.get(name, 0.0), isolated.get(name, 0.0)
    return (
        f"Demand without a machine: {one:,.2f} {unit_of(name)} hours in one pool, "
        f"{several:,.2f} in isolated ones."
    )


def totals_document(report: IsolatedReport) -> dict[str, Any]:
    """For programs, beside the report itself: totals, their intervals and what they assume."""
    return {
        "hours": report.hours,
        "blocks": len(blocks_of(report.slices)),
        "headline": verdict_text(report),
        "rows": [row.document() for row in rows_of(report)],
        "whyNoInterval": why_no_interval(report),
        "assumptions": list(assumptions_of(report)),
    }
