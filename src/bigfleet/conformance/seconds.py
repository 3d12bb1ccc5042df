"""Durations on the command line: 15s, 250ms, 2m, or a plain number of seconds."""

import click

from bigfleet.model.durations import seconds_of


class Seconds(click.ParamType[float]):
    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = seconds_of(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not a duration; write it like 15s, 250ms or 2m", param, ctx)
        return seconds


SECONDS = Seconds()
