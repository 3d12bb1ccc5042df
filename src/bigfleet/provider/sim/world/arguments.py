"""Arguments of verbs as values; each refusal names the argument and what would do."""

import math

from bigfleet.provider.sim.world.happenings import Command, Step
from bigfleet.provider.sim.world.verbs import BadCommand


def number_of(command: Command, name: str, text: str | None = None) -> float:
    written = command.text(name) if text is None else text
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise BadCommand(f"{name} {written!r} is not a number of zero or more")
    return value


def fraction_of(command: Command, name: str, default: float | None = None) -> float:
    if default is not None and not command.text(name):
        return default
    value = number_of(command, name)
    if value > 1:
        raise BadCommand(f"{name} {value:g} is more than all; write a number from 0 to 1")
    return value


def count_of(command: Command, name: str, default: int) -> int:
    written = command.text(name)
    if not written:
        return default
    if not written.isdigit() or int(written) == 0:
        raise BadCommand(f"{name} {written!r} is not a whole number above zero")
    return int(written)


def switch_of(command: Command, name: str) -> bool:
    written = command.text(name).lower()
    if written not in ("on", "off"):
        raise BadCommand(f"{name} {written!r} is neither on nor off")
    return written == "on"


def step_of(command: Command, name: str) -> Step:
    written = command.text(name).lower()
    if written not in list(Step):
        raise BadCommand(f"{name} {written!r} is not one of {', '.join(Step)}")
    return Step(written)
