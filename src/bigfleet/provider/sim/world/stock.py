"""How many hosts a pool can carry at once, apart from how many slots it offers.

Modes: `inf`; a number; `markov:up=6h,down=20m` (full or empty, seeded); windows of time with their
own number, unlimited outside them.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bigfleet.provider.sim.world.draws import Draws
from bigfleet.provider.sim.world.durations import BadDuration, duration_text, nanos_of

_MARKOV = re.compile(r"markov:up=([^,]+),down=([^,]+)")
UNLIMITED = math.inf


class BadStock(ValueError):
    """The text is no stock rule; the message shows what would be one."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """As many hosts as `limit` says; `inf` is no limit."""

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
