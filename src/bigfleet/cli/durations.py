"""Durations on the command line: `250ms`, `30s`, `1h30m`, or a plain number of seconds."""

import click

from bigfleet.model.durations import seconds_of


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = seconds_of(value) if isinstance(value, str) else value
        if seconds is None:
            self.fail(f"{value!r} is not a duration; write 250ms, 30s or 1h30m", param, ctx)
        return seconds


DURATION = Duration()
