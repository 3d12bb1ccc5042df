"""How long things take: durations, distributions written as text, and one draw from them.

Lengths of time are whole nanoseconds. Each draw is a keyed hash of what it is for: it depends on
(seed, purpose, subject, occurrence) and on nothing else, so the order in which calls arrive never
changes a result.

`0`, `fixed:30s`, `uniform:15s,40s`, `lognormal:p50,p99`, `gamma:mean,shape`, `trace:FILE`, each
with `|cap:60s` (never above) and `|tail:0.01x10` (that share of draws takes ten times as long).
The file of a trace is read by the caller: it holds one length of time per line.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from statistics import NormalDist

from bigfleet.model import durations

NANOS_PER_SECOND = 1_000_000_000
SECOND = NANOS_PER_SECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

duration_text = durations.nanos_text


class BadDuration(ValueError):
    """The text is not a length of time; the message shows how to write one."""


def nanos_of(text: str) -> int:
    """`1h30m` as nanoseconds; a bare number counts seconds."""
    nanos = durations.nanos_of(text.strip())
    if nanos is None:
        raise BadDuration(f"{text!r} is not a length of time; write it like 30s, 5ms or 1h30m")
    return nanos


def nanos_of_seconds(seconds: float) -> int:
    if not math.isfinite(seconds) or seconds < 0:
        raise BadDuration(f"{seconds} is not a length of time; it must be zero or more seconds")
    return round(seconds * NANOS_PER_SECOND)


def seconds_of(nanos: int) -> float:
    return nanos / NANOS_PER_SECOND


_NORMAL = NormalDist()
_UNIT = 2.0**-52


@dataclass(frozen=True, slots=True)
class Draws:
    seed: int = 1

    def digest(self, purpose: str, subject: str, occurrence: int = 0, size: int = 8) -> bytes:
        key = f"{self.seed}\x1f{purpose}\x1f{subject}\x1f{occurrence}"
        return blake2b(key.encode(), digest_size=size).digest()

    def uniform(self, purpose: str, subject: str, occurrence: int = 0) -> float:
        """In the open interval (0, 1): neither end, so that logarithms and quantiles exist."""
        number = int.from_bytes(self.digest(purpose, subject, occurrence), "big")
        return ((number >> 12) + 0.5) * _UNIT

    def normal(self, purpose: str, subject: str, occurrence: int = 0) -> float:
        return _NORMAL.inv_cdf(self.uniform(purpose, subject, occurrence))

    def exponential(self, purpose: str, subject: str, occurrence: int = 0) -> float:
        """With mean one."""
        return -math.log(self.uniform(purpose, subject, occurrence))

    def chance(self, probability: float, purpose: str, subject: str, occurrence: int = 0) -> bool:
        if probability <= 0.0:
            return False
        return self.uniform(purpose, subject, occurrence) < probability

    def name(self, purpose: str, subject: str, occurrence: int = 0) -> str:
        """Twelve hexadecimal digits: enough that a fleet of a million has no two alike."""
        return self.digest(purpose, subject, occurrence, size=6).hex()


_Z99 = NormalDist().inv_cdf(0.99)
_TAIL = re.compile(r"(0?\.\d+|0|1(?:\.0*)?)x(\d+(?:\.\d+)?)")
_GAMMA_TRIES = 64
ReadLines = Callable[[str], list[str]]


class BadDistribution(ValueError):
    """The text is not a distribution; the message shows how to write one."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """`shape` names the family, `terms` are its two numbers in seconds (gamma: mean, shape)."""

    text: str
    shape: str
    terms: tuple[float, ...] = ()
    cap_seconds: float = math.inf
    tail_share: float = 0.0
    tail_factor: float = 1.0

    def nanos(self, draws: Draws, purpose: str, subject: str, occurrence: int) -> int:
        seconds = self._body(draws, purpose, subject, occurrence)
        if draws.chance(self.tail_share, f"{purpose}/tail", subject, occurrence):
            seconds *= self.tail_factor
        return round(min(seconds, self.cap_seconds) * 1e9)

    def _body(self, draws: Draws, purpose: str, subject: str, occurrence: int) -> float:
        match self.shape:
            case "fixed":
                return self.terms[0]
            case "uniform":
                low, high = self.terms
                return low + (high - low) * draws.uniform(purpose, subject, occurrence)
            case "lognormal":
                median, sigma = self.terms
                return median * math.exp(sigma * draws.normal(purpose, subject, occurrence))
            case "gamma":
                mean, shape = self.terms
                return mean / shape * _gamma(shape, draws, purpose, subject, occurrence)
            case _:
                position = draws.uniform(purpose, subject, occurrence) * len(self.terms)
                return self.terms[int(position)]


def _gamma(shape: float, draws: Draws, purpose: str, subject: str, occurrence: int) -> float:
    """Marsaglia and Tsang's method; each try has its own key, so it needs no stream either."""
    boosted = shape if shape >= 1 else shape + 1
    d = boosted - 1 / 3
    c = 1 / math.sqrt(9 * d)
    value = d
    for attempt in range(_GAMMA_TRIES):
        key = f"{purpose}/gamma{attempt}"
        z = draws.normal(key, subject, occurrence)
        v = (1 + c * z) ** 3
        if v <= 0:
            continue
        u = draws.uniform(f"{key}/accept", subject, occurrence)
        if math.log(u) < 0.5 * z * z + d - d * v + d * math.log(v):
            value = d * v
            break
    if shape < 1:
        value *= draws.uniform(f"{purpose}/boost", subject, occurrence) ** (1 / shape)
    return float(value)


def distribution_of(text: str, read_lines: ReadLines | None = None) -> Distribution:
    """The distribution `text` writes down; `read_lines` reads the file of a trace."""
    head, *options = text.strip().split("|")
    try:
        found = _head(text, head.strip(), read_lines)
        for option in options:
            found = _with_option(found, option.strip())
    except BadDuration as bad:
        raise BadDistribution(f"{text!r}: {bad}") from bad
    return found


def _head(text: str, head: str, read_lines: ReadLines | None) -> Distribution:
    name, _, rest = head.partition(":")
    numbers = [part.strip() for part in rest.split(",")] if rest else []
    match name, len(numbers):
        case "0", 0:
            return Distribution(text, "fixed", (0.0,))
        case "fixed", 1:
            return Distribution(text, "fixed", (_seconds(numbers[0]),))
        case "uniform", 2:
            low, high = _seconds(numbers[0]), _seconds(numbers[1])
            if high < low:
                raise BadDistribution(f"{text!r}: the second bound is below the first")
            return Distribution(text, "uniform", (low, high))
        case "lognormal", 2:
            median, p99 = _seconds(numbers[0]), _seconds(numbers[1])
            if not 0 < median <= p99:
                raise BadDistribution(f"{text!r}: wanted a median above zero and a p99 above it")
            return Distribution(text, "lognormal", (median, math.log(p99 / median) / _Z99))
        case "gamma", 2:
            mean, shape = _seconds(numbers[0]), _positive(text, numbers[1])
            return Distribution(text, "gamma", (mean, shape))
        case "trace", _ if rest and read_lines is not None:
            lines = [line.strip() for line in read_lines(rest)]
            lengths = tuple(_seconds(line) for line in lines if line and not line.startswith("#"))
            if not lengths:
                raise BadDistribution(f"{text!r}: the trace has no line with a length of time")
            return Distribution(text, "trace", lengths)
        case _:
            raise BadDistribution(
                f"{text!r} is not a distribution; write 0, fixed:30s, uniform:15s,40s, "
                "lognormal:30s,90s (median, p99), gamma:30s,2 (mean, shape) or trace:FILE"
            )


def _with_option(found: Distribution, option: str) -> Distribution:
    name, _, value = option.partition(":")
    if name == "cap" and value:
        return replace(found, cap_seconds=_seconds(value))
    match = _TAIL.fullmatch(value)
    if name == "tail" and match:
        return replace(found, tail_share=float(match[1]), tail_factor=float(match[2]))
    raise BadDistribution(
        f"{found.text!r}: {option!r} is not an option; write |cap:60s or |tail:0.01x10"
    )


def _seconds(text: str) -> float:
    return seconds_of(nanos_of(text))


def _positive(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise BadDistribution(f"{text!r}: {number!r} is not a shape above zero")
    return value
