"""The market of a pool: its spot price, the risk of its hosts, and its stock.

Price: a mean-reverting walk in the logarithm of its share of the catalog, x' = x + 0.1 (mu - x) +
0.03 z per tick of 60 s, kept within 0.10 and 1.00 of the catalog. A price is published with four
decimals and only when it moved by at least one per cent.

Risk: one clock of accumulated hazard per pool instead of a die roll per tick. Each host draws, once
in its life, how much hazard it survives (exponential, mean one). The pool accumulates hazard at its
current rate; a host ends when the pool has accumulated its amount since the host began. So a change
of the rate needs no new draw, and the next death is known exactly.

Stock: how many hosts the pool can carry at once, apart from how many slots it offers: `inf`; a
number; `markov:up=6h,down=20m` (full or empty, seeded); windows of time with their own number,
unlimited outside them.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from bigfleet.model.machines import Instant
from bigfleet.provider.sim.world.distributions import (
    HOUR,
    SECOND,
    BadDuration,
    Draws,
    duration_text,
    nanos_of,
)

TICK = 60 * SECOND
MEAN_SHARE = 0.30
LOWEST_SHARE, HIGHEST_SHARE = 0.10, 1.00
_PULL, _NOISE = 0.1, 0.03
_WORTH_PUBLISHING = 0.01
_HIGHEST_COUPLED = 0.9


@dataclass(slots=True)
class Market:
    catalog: float
    mean_share: float
    #: log(price / catalog), unrounded: what the walk remembers.
    x: float
    published: float
    walking: bool = True

    @classmethod
    def at_mean(cls, catalog: float, mean_price: float, walking: bool) -> "Market":
        share = mean_price / catalog if catalog > 0 else 0.0
        # A price pinned outside the band of the walk stays where the offering put it.
        walks = walking and LOWEST_SHARE <= share <= HIGHEST_SHARE
        x = math.log(share) if share > 0 else 0.0
        return cls(catalog, share, x, round(mean_price, 4), walks)

    @property
    def mean_price(self) -> float:
        return self.catalog * self.mean_share

    def tick(self, z: float) -> bool:
        """One step of the walk; whether the published price moved."""
        if not self.walking:
            return False
        moved = self.x + _PULL * (math.log(self.mean_share) - self.x) + _NOISE * z
        self.x = min(max(moved, math.log(LOWEST_SHARE)), math.log(HIGHEST_SHARE))
        price = round(self.catalog * math.exp(self.x), 4)
        if abs(price - self.published) < _WORTH_PUBLISHING * self.published:
            return False
        self.published = price
        return True

    def set_price(self, price: float) -> None:
        """What an operator says holds at once; a walk that is on leaves from there."""
        self.published = round(price, 4)
        if price > 0 and self.catalog > 0:
            self.x = math.log(price / self.catalog)

    def coupled(self, probability: float) -> float:
        """The risk of a dear pool: quadratic in the price over its mean."""
        if self.mean_price <= 0:
            return probability
        dearness = self.published / self.mean_price
        return min(max(round(probability * dearness**2, 4), 0.0001), _HIGHEST_COUPLED)


def rate_of(probability: float) -> float:
    """Hazard per hour that makes a loss within one hour as likely as `probability`."""
    return -math.log1p(-min(probability, 0.999999)) if probability > 0 else 0.0


@dataclass(slots=True)
class Hazard:
    #: Per hour; zero: no host dies and nothing accumulates.
    rate: float = 0.0
    #: Hazard accumulated up to `since`.
    spent: float = 0.0
    since: Instant = 0
    #: Grows with every change, so that a moment computed before it can be told stale.
    version: int = 0
    #: (hazard at which it ends, machine, generation of its host); ended hosts are skipped on top.
    doomed: list[tuple[float, str, int]] = field(default_factory=list)

    def spent_at(self, now: Instant) -> float:
        return self.spent + self.rate * (now - self.since) / HOUR

    def set_rate(self, rate: float, now: Instant) -> None:
        self.spent, self.since, self.rate = self.spent_at(now), now, rate
        self.version += 1

    def enrol(self, machine: str, generation: int, survives: float, now: Instant) -> None:
        heappush(self.doomed, (self.spent_at(now) + survives, machine, generation))
        self.version += 1

    def next_at(self) -> Instant | None:
        """When the next host ends if the rate stays; None: never."""
        if not self.doomed or self.rate <= 0:
            return None
        hours = max(0.0, self.doomed[0][0] - self.spent) / self.rate
        return self.since + math.ceil(hours * HOUR)

    def taken(self, now: Instant) -> list[tuple[str, int]]:
        """The hosts whose time has come, removed from the list of the doomed."""
        ended: list[tuple[str, int]] = []
        while (due := self.next_at()) is not None and due <= now:
            _, machine, generation = heappop(self.doomed)
            ended.append((machine, generation))
        if ended:
            self.version += 1
        return ended

    def forget(self, alive: set[tuple[str, int]]) -> None:
        """Drop hosts that ended otherwise; called when they outnumber the living."""
        self.doomed = sorted(entry for entry in self.doomed if entry[1:] in alive)
        self.version += 1


_MARKOV = re.compile(r"markov:up=([^,]+),down=([^,]+)")
UNLIMITED = math.inf


class BadStock(ValueError):
    """The text is not a stock rule; the message shows how to write one."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """As many hosts as `limit` says; `inf` sets no limit."""

    limit: float = UNLIMITED

    def __str__(self) -> str:
        return "inf" if math.isinf(self.limit) else str(int(self.limit))


@dataclass(frozen=True, slots=True)
class Markov:
    """Unlimited for about `up`, then empty for about `down`; both exponential."""

    up_nanos: int
    down_nanos: int

    def __str__(self) -> str:
        return f"markov:up={duration_text(self.up_nanos)},down={duration_text(self.down_nanos)}"

    def phase_nanos(self, draws: Draws, pool: str, phase: int) -> int:
        """How long phase number `phase` lasts; even phases are up."""
        mean = self.down_nanos if phase % 2 else self.up_nanos
        return max(1, round(mean * draws.exponential("stock", pool, phase)))


@dataclass(frozen=True, slots=True)
class Windows:
    """(from, to, limit) since the start of the substrate; the first window that holds counts."""

    windows: tuple[tuple[int, int, float], ...]

    def __str__(self) -> str:
        return ",".join(
            f"{duration_text(start)}-{duration_text(end)}:{Fixed(limit)}"
            for start, end, limit in self.windows
        )


Stock = Fixed | Markov | Windows


def limit_at(stock: Stock, age_nanos: int, markov_phase: int) -> float:
    """How many hosts may exist when the substrate is `age_nanos` old."""
    match stock:
        case Fixed(limit):
            return limit
        case Markov():
            return 0 if markov_phase % 2 else UNLIMITED
        case Windows(windows):
            held = (limit for start, end, limit in windows if start <= age_nanos < end)
            return next(held, UNLIMITED)


def stock_of(value: object) -> Stock:
    """From a text, a number, or the list of windows of an offering file."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Windows(tuple(_window(entry) for entry in value))
    text = str(value).strip()
    if match := _MARKOV.fullmatch(text):
        try:
            up, down = nanos_of(match[1]), nanos_of(match[2])
        except BadDuration as bad:
            raise BadStock(f"{text!r}: {bad}") from bad
        if not (up and down):
            raise BadStock(f"{text!r}: both phases must last longer than nothing")
        return Markov(up, down)
    return Fixed(limit_of(text))


def limit_of(value: object) -> float:
    text = str(value).strip()
    if text in ("inf", "none"):
        return UNLIMITED
    if text.isdigit():
        return int(text)
    raise BadStock(
        f"{text!r} is not a stock; write inf, a number, markov:up=6h,down=20m or a list of "
        "{from, to, stock}"
    )


def _window(entry: object) -> tuple[int, int, float]:
    if not isinstance(entry, Mapping) or {"from", "to", "stock"} - set(entry):
        raise BadStock(f"{entry!r} is not a window; it needs from, to and stock")
    try:
        start, end = nanos_of(str(entry["from"])), nanos_of(str(entry["to"]))
    except BadDuration as bad:
        raise BadStock(f"{entry!r}: {bad}") from bad
    if end <= start:
        raise BadStock(f"{entry!r}: a window ends after it begins")
    return start, end, limit_of(entry["stock"])
