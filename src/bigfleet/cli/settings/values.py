"""Values: text or plain data into what a key holds, and back into text that reads the same."""

import json
import re
from typing import Any

from bigfleet.cli.settings.keys import Key, ValueForm
from bigfleet.model.durations import seconds_of, short_text

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]i?B?|B)?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


class BadValue(ValueError):
    """The sentence says what would be a value."""


def value_of(key: Key, said: Any) -> Any:
    """`said` is text, or what a file held; raises BadValue."""
    if key.choices and isinstance(said, bool):
        # A file may write one of the words `true` and `false` without quotes.
        said = "true" if said else "false"
    value = _READERS[key.shape](said)
    if value is None:
        raise BadValue(f"{said!r} is not {key.shape.value}")
    if key.choices and value not in key.choices:
        raise BadValue(f"{said!r} is not one of {', '.join(key.choices)}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < key.least:
            raise BadValue(f"{said!r} is too small; the least is {text_of(key, key.least)}")
        if key.most is not None and value > key.most:
            raise BadValue(f"{said!r} is too large; the most is {text_of(key, key.most)}")
    return value


def text_of(key: Key, value: Any) -> str:
    match key.shape:
        case ValueForm.SWITCH:
            return "true" if value else "false"
        case ValueForm.DURATION:
            return short_text(value)
        case ValueForm.SIZE:
            return _size_text(int(value))
        case ValueForm.NUMBER:
            return f"{value:g}"
        case ValueForm.TEXTS:
            return ", ".join(value)
        case ValueForm.RECORDS:
            return json.dumps(value) if value else ""
        case _:
            return str(value)


def _switch(said: Any) -> bool | None:
    if isinstance(said, bool):
        return said
    word = said.lower() if isinstance(said, str) else None
    return True if word in _TRUE else False if word in _FALSE else None


def _count(said: Any) -> int | None:
    if isinstance(said, str):
        return int(said) if re.fullmatch(r"-?[0-9]+", said) else None
    return said if isinstance(said, int) and not isinstance(said, bool) else None


def _number(said: Any) -> float | None:
    if isinstance(said, bool):
        return None
    try:
        number = float(said)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None


def _text(said: Any) -> str | None:
    """Files may write a port or a number without quotes."""
    if isinstance(said, str):
        return said
    return str(said) if isinstance(said, int) and not isinstance(said, bool) else None


def _duration(said: Any) -> float | None:
    return None if isinstance(said, bool | list | dict) else seconds_of(str(said))


def _size(said: Any) -> int | None:
    match = None if isinstance(said, bool) else _SIZE.fullmatch(str(said).strip())
    if match is None:
        return None
    number, unit = match[1], (match[2] or "").lower()
    base = 1024 if "i" in unit else 1000
    return int(float(number) * base ** _POWERS.get(unit[:1], 0))


def _texts(said: Any) -> tuple[str, ...] | None:
    if isinstance(said, str):
        return tuple(word for part in said.split(",") if (word := part.strip()))
    if isinstance(said, list | tuple) and all(isinstance(word, str) for word in said):
        return tuple(said)
    return None


def _records(said: Any) -> tuple[dict[str, Any], ...] | None:
    """A flag that is repeated comes as a list of texts."""
    parts = said if isinstance(said, list | tuple) else [said]
    found: list[Any] = []
    for part in parts:
        try:
            read = json.loads(part) if isinstance(part, str) else part
        except ValueError:
            return None
        found += read if isinstance(read, list) else [read]
    return tuple(found) if all(isinstance(each, dict) for each in found) else None


def _size_text(size: int) -> str:
    for unit, power in (("TiB", 4), ("GiB", 3), ("MiB", 2), ("KiB", 1)):
        whole, rest = divmod(size, 1024**power)
        if whole and not rest:
            return f"{whole}{unit}"
    return str(size)


_READERS = {
    ValueForm.SWITCH: _switch,
    ValueForm.COUNT: _count,
    ValueForm.NUMBER: _number,
    ValueForm.TEXT: _text,
    ValueForm.DURATION: _duration,
    ValueForm.SIZE: _size,
    ValueForm.TEXTS: _texts,
    ValueForm.RECORDS: _records,
}
