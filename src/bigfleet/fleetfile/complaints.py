"""What is wrong with a fleet file: all of it at once, each with its path, value and remedy."""

import difflib
import json
import re
from collections.abc import Callable, Iterable

from bigfleet.model.errors import BadInput, Problem

Path = tuple[str | int, ...]
#: The line of the file (from 1) at which a path stands, None if it is not known.
LineOf = Callable[[Path], int | None]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST_VALUE = 80


def path_text(path: Path) -> str:
    """`machines[3].resources["example.com/gpu"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


def shown(value: object) -> str:
    """A value as the reader wrote it, cut where it gets long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__} that refers to itself"
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None


class Complaints:
    """Collects problems while reading goes on, so that one run reports all of them."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[tuple[Path, str]] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, path: Path, text: str) -> None:
        self._found.append((path, text))

    def add_value(self, path: Path, value: object, remedy: str) -> None:
        self.add(path, f"{shown(value)}: {remedy}")

    def add_choice(self, path: Path, value: object, choices: Iterable[str]) -> None:
        """A word outside a closed set."""
        known = list(choices)
        guess = nearest(value, known) if isinstance(value, str) else None
        hint = f"did you mean {guess}? " if guess else ""
        self.add_value(path, value, f"{hint}it is one of {', '.join(known)}")

    def add_unknown_key(self, path: Path, known: Iterable[str]) -> None:
        names = list(known)
        guess = nearest(str(path[-1]), names)
        hint = f"did you mean {guess}?" if guess else f"known keys are {', '.join(names)}"
        self.add(path, f"unknown key; {hint} (keys that start with x- are ignored)")

    def raise_if_any(self, line_of: LineOf | None = None) -> None:
        if self._found:
            raise BadInput([self._problem(path, text, line_of) for path, text in self._found])

    def _problem(self, path: Path, text: str, line_of: LineOf | None) -> Problem:
        line = line_of(path) if line_of else None
        return Problem(path_text(path), f"{text} (line {line})" if line else text)
