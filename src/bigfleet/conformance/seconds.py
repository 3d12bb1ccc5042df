"""Durations on the command line: 15s, 250ms, 2m, or a plain number of seconds."""

import re

import click

_FORM = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>ms|s|m|h)?")
_FACTOR = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


class Seconds(click.ParamType[float]):
    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, int | float):
            return float(value)
        match = _FORM.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is no duration; write it like 15s, 250ms or 2m", param, ctx)
        return float(match["number"]) * _FACTOR[match["unit"]]


SECONDS = Seconds()
