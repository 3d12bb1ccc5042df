"""What is wrong with a fleet file: all of it at once, each with its path, value and remedy."""

import difflib
import json
import re
from collections.abc import Callable, Iterable
from itertools import islice

from bigfleet.model.errors import BadInput, Problem

Path = tuple[str | int, ...]
#: The line of the file (from 1) at which a path stands, None if it is not known.
LineOf = Callable[[Path], int | None]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST_VALUE = 80
#: Problems that are put into words; the others are counted.
MOST_SHOWN = 50


def path_text(path: Path) -> str:
    """`machines[3].resources["example.com/gpu"]`."""
    text = ""
    for part in path:
        if isinstance(part, str) and len(part) > _LONGEST_VALUE:
            part = part[: _LONGEST_VALUE - 3] + "..."
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


def shown(value: object) -> str:
    """A value as the reader wrote it, cut where it gets long."""
    text = json.dumps(_beginning_of(value, 4), ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def _beginning_of(value: object, levels: int) -> object:
    """As much of a value as can be shown: large ones are not written out to be cut."""
    if isinstance(value, str):
        return value[: _LONGEST_VALUE + 1]
    if isinstance(value, dict):
        first = islice(value.items(), _LONGEST_VALUE // 4) if levels else ()
        return {str(key)[:_LONGEST_VALUE]: _beginning_of(each, levels - 1) for key, each in first}
    if isinstance(value, list):
        some = value[: _LONGEST_VALUE // 2] if levels else []
        return [_beginning_of(each, levels - 1) for each in some]
    return value


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None


class Complaints:
    """Collects problems while reading goes on, so that one run reports all of them.

    The first are kept in words; the rest is counted, so that a file of nothing but mistakes costs
    no more than a sound one.
    """

    __slots__ = ("_count", "_found")

    def __init__(self) -> None:
        self._found: list[tuple[Path, str]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, path: Path, text: str) -> None:
        self._count += 1
        if len(self._found) < MOST_SHOWN:
            self._found.append((path, text))

    def add_value(self, path: Path, value: object, remedy: str) -> None:
        if self._is_only_counted():
            return
        self.add(path, f"{shown(value)}: {remedy}")

    def _is_only_counted(self) -> bool:
        if len(self._found) < MOST_SHOWN:
            return False
        self._count += 1
        return True

    def add_choice(self, path: Path, value: object, choices: Iterable[str]) -> None:
        """A word outside a closed set."""
        if self._is_only_counted():
            return
        known = list(choices)
        guess = nearest(value, known) if isinstance(value, str) else None
        hint = f"did you mean {guess}? " if guess else ""
        self.add_value(path, value, f"{hint}it is one of {', '.join(known)}")

    def add_unknown_key(self, path: Path, known: Iterable[str]) -> None:
        if self._is_only_counted():
            return
        names = list(known)
        guess = nearest(str(path[-1])[:_LONGEST_VALUE], names)
        hint = f"did you mean {guess}?" if guess else f"known keys are {', '.join(names)}"
        self.add(path, f"unknown key; {hint} (keys that start with x- are ignored)")

    def raise_if_any(self, line_of: LineOf | None = None) -> None:
        if self._found:
            shown_problems = [self._problem(path, text, line_of) for path, text in self._found]
            raise BadInput(shown_problems, left_out=self._count - len(shown_problems))

    def _problem(self, path: Path, text: str, line_of: LineOf | None) -> Problem:
        line = line_of(path) if line_of else None
        return Problem(path_text(path), f"{text} (line {line})" if line else text)
