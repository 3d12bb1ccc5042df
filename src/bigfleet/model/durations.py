"""Lengths of time as people write them: `250ms`, `30s`, `1h30m`, or a plain number of seconds."""

import re

_NANOS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_SECONDS = {unit: nanos / 1e9 for unit, nanos in _NANOS.items()}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h|d)")


def seconds_of(text: str) -> float | None:
    """None where the text is not a duration."""
    parts = _parts_of(text)
    return float(sum(number * _SECONDS[unit] for number, unit in parts)) if parts else None


def nanos_of(text: str) -> int | None:
    """Exact for whole units, however long; None where the text is not a duration."""
    parts = _parts_of(text)
    return sum(round(number * _NANOS[unit]) for number, unit in parts) if parts else None


def short_text(seconds: float) -> str:
    """The shortest text that reads back as the same length: `5m`, `1h30m`, `500ms`."""
    if seconds and seconds < 1:
        return f"{round(seconds * 1e9) / 1e6:g}ms"
    words, left = "", seconds
    for unit, size in (("h", 3600), ("m", 60)):
        whole, left = divmod(left, size)
        words += f"{whole:.0f}{unit}" if whole else ""
    return words + (f"{left:g}s" if left or not words else "")


def nanos_text(nanos: int) -> str:
    """The shortest text that reads back as the same number of nanoseconds."""
    words, left = "", max(0, nanos)
    for unit, size in reversed(_NANOS.items()):
        whole, left = divmod(left, size)
        words += f"{whole}{unit}" if whole else ""
    return words or "0s"


def _parts_of(text: str) -> list[tuple[float, str]]:
    """Numbers with their units; empty: the text is not a duration."""
    try:
        plain = float(text)
    except ValueError:
        found = _PART.findall(text)
        is_all = "".join(number + unit for number, unit in found) == text
        return [(float(number), unit) for number, unit in found] if is_all else []
    return [(plain, "s")] if 0 <= plain < float("inf") else []
