"""Tables and headings of the reference pages."""

import inspect
import re
from collections.abc import Iterable, Sequence
from enum import Enum

_MEMBER = re.compile(r"^    (?P<name>[A-Z_]+) = ")


def page(title: str, introduction: str, *sections: str) -> str:
    head = f"# {title}\n\n{MADE}\n\n{introduction}\n"
    return "\n".join([head, *sections])


#: Stands at the top of every page.
MADE = "<!-- made by `make reference` from the code; do not edit -->"


def section(title: str, *parts: str, level: int = 2) -> str:
    return "\n".join([f"{'#' * level} {title}\n", *(f"{part.rstrip()}\n" for part in parts)])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_line(heads), "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(_line(row) for row in rows)])


def _line(cells: Sequence[str]) -> str:
    escaped = (" ".join(cell.replace("|", "\\|").split()) for cell in cells)
    return f"| {' | '.join(escaped)} |"


def text(words: str) -> str:
    """Words that the code says about placeholders: `<id>` is not an element of HTML."""
    return words.replace("<", "&lt;").replace(">", "&gt;")


def code(word: str) -> str:
    return f"`{word}`" if word else ""


def anchor(name: str) -> str:
    """A name that links can point to, also where the heading says more."""
    return f'<a id="{name}"></a>'


def meanings_of(enum: type[Enum]) -> dict[str, str]:
    """What the `#:` lines above each member say."""
    found: dict[str, str] = {}
    said: list[str] = []
    for line in inspect.getsource(enum).splitlines():
        if line.strip().startswith("#:"):
            said.append(line.strip().removeprefix("#:").strip())
        elif member := _MEMBER.match(line):
            found[member["name"]] = " ".join(said)
            said = []
    return found
