"""Settings of a shard by their dotted names, as `rails.reclaim_cap_fraction` in a scenario file."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from bigfleet.model.durations import seconds_of
from bigfleet.model.settings import CHOICES, LEAST, MOST

S = TypeVar("S")


class BadSetting(ValueError):
    """There is no such setting, or it cannot have this value; the message says what is right."""


def with_setting(settings: S, name: str, value: object) -> S:
    """Raises BadSetting."""
    head, dot, rest = name.partition(".")
    known = {each.name: each for each in fields(settings)}  # type: ignore[arg-type]
    found = known.get(head)
    if found is None:
        raise BadSetting(f"there is no setting {head!r}; known are {', '.join(known)}")
    before = getattr(settings, head)
    if is_dataclass(before):
        if not dot:
            inner = ", ".join(f"{head}.{each.name}" for each in fields(before))
            raise BadSetting(f"write one of {inner}")
        return replace(settings, **{head: with_setting(before, rest, value)})  # type: ignore[type-var]
    if dot:
        raise BadSetting(f"{head} has no parts")
    return replace(settings, **{head: _read(value, before, found.metadata)})  # type: ignore[type-var]


def _read(value: object, before: object, rule: Any) -> object:
    if isinstance(before, bool):
        if not isinstance(value, bool):
            raise BadSetting("write true or false")
        return value
    if isinstance(before, int | float):
        number = seconds_of(value) if isinstance(value, str) else value
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise BadSetting("write a number, or a length of time like 90s")
        most = rule.get(MOST)
        if number < rule.get(LEAST, 0) or (most is not None and number > most):
            bound = f"at least {rule.get(LEAST, 0):g}" + (
                "" if most is None else f", at most {most:g}"
            )
            raise BadSetting(f"{number:g} is out of bounds: {bound}")
        return type(before)(number)
    if isinstance(before, tuple):
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise BadSetting("write a list of texts")
        return tuple(value)
    choices = rule.get(CHOICES)
    if not isinstance(value, str) or (choices and value not in choices):
        raise BadSetting(f"write one of {', '.join(choices)}" if choices else "write a text")
    return value
