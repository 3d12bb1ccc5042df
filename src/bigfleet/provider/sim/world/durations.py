"""Lengths of time in whole nanoseconds, by which the simulated substrate lives."""

import math

from bigfleet.model import durations

NANOS_PER_SECOND = 1_000_000_000
SECOND = NANOS_PER_SECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

duration_text = durations.nanos_text


class BadDuration(ValueError):
    """The text is not a length of time; the message shows what would be one."""


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
