"""Durations on the command line: `250ms`, `30s`, `1h30m`, or a plain number of seconds."""

import re

import click

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h)")


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


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = seconds_of(value) if isinstance(value, str) else value
        if seconds is None:
            self.fail(f"{value!r} is no duration; write 250ms, 30s or 1h30m", param, ctx)
        return seconds


DURATION = Duration()
