"""Lengths of time as people write them (`30s`, `1h30m`, `5ms`) and as whole nanoseconds."""

import math
import re

NANOS_PER_SECOND = 1_000_000_000
SECOND = NANOS_PER_SECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
    "d": 24 * HOUR,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class BadDuration(ValueError):
    """The text is no length of time; the message shows what would be one."""


def nanos_of(text: str) -> int:
    """`1h30m` as nanoseconds; a bare number counts seconds."""
    words = text.strip()
    if _NUMBER.fullmatch(words):
        return nanos_of_seconds(float(words))
    parts = _PART.findall(words)
    if not parts or "".join(number + unit for number, unit in parts) != words:
        raise BadDuration(f"{text!r} is not a length of time; write it like 30s, 5ms or 1h30m")
    return sum(round(float(number) * _UNITS[unit]) for number, unit in parts)


def nanos_of_seconds(seconds: float) -> int:
    if not math.isfinite(seconds) or seconds < 0:
        raise BadDuration(f"{seconds} is not a length of time; it must be zero or more seconds")
    return round(seconds * NANOS_PER_SECOND)


def seconds_of(nanos: int) -> float:
    return nanos / NANOS_PER_SECOND


def duration_text(nanos: int) -> str:
    """The shortest text that reads back as the same length."""
    if nanos <= 0:
        return "0s"
    words, left = "", nanos
    for unit in ("d", "h", "m", "s", "ms", "us", "ns"):
        whole, left = divmod(left, _UNITS[unit])
        words += f"{whole}{unit}" if whole else ""
    return words
