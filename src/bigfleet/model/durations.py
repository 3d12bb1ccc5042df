"""Lengths of time as people write them: `250ms`, `30s`, `1h30m`, or a plain number of seconds."""

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h|d)")


def seconds_of(text: str) -> float | None:
    """None where the text is no duration."""
    try:
        plain = float(text)
    except ValueError:
        parts = _PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            return None
        return float(sum(float(number) * _UNITS[unit] for number, unit in parts))
    return plain if 0 <= plain < float("inf") else None


def short_text(seconds: float) -> str:
    """The shortest text that reads back as the same length: `5m`, `1h30m`, `500ms`."""
    if seconds and seconds < 1:
        return f"{round(seconds * 1e9) / 1e6:g}ms"
    words, left = "", seconds
    for unit, size in (("h", 3600), ("m", 60)):
        whole, left = divmod(left, size)
        words += f"{whole:.0f}{unit}" if whole else ""
    return words + (f"{left:g}s" if left or not words else "")
