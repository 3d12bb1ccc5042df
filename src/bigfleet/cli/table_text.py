"""Draws a table as text: columns side by side, sentences folded, colours where they are wanted.

Only sentences are folded; every other column is as wide as its longest cell. Written without a
library for terminals: loading one takes longer than most answers.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import combining, east_asian_width

_GAP = "  "
#: A sentence gets at least this many columns, even where the terminal is narrower.
_LEAST_SENTENCE = 30
_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}


class Text(NamedTuple):
    """What stands in a cell, and how it is coloured: `bold red`, or empty."""

    text: str
    style: str = ""
    #: What the row is sorted by instead of the text.
    sort: object = None

    def __str__(self) -> str:
        return self.text


class Head(NamedTuple):
    """The heading of a column."""

    name: str
    number: bool = False
    #: Folded to the width of the terminal.
    sentence: bool = False
    #: Shown by -o wide and -o csv only.
    wide: bool = False


def drawn(
    heads: Sequence[Head],
    rows: Sequence[Sequence[Text]],
    width: int | None,
    *,
    color: bool,
    headers: bool = True,
) -> Iterator[str]:
    """Lines without their ends; `width` None folds nothing."""
    titles = [Text(head.name, "bold") for head in heads]
    lines = [titles, *rows] if headers else rows
    widths = [max((width_of(row[n].text) for row in lines), default=0) for n in range(len(heads))]
    if width is not None:
        widths = _narrowed(heads, widths, width)
    for row in lines:
        cells = [
            _folded_cell(cell.text, widths[n]) if heads[n].sentence else [cell.text]
            for n, cell in enumerate(row)
        ]
        for height in range(max(map(len, cells), default=0)):
            yield _GAP.join(
                _padded(
                    pieces[height] if height < len(pieces) else "",
                    widths[n],
                    right=heads[n].number,
                    style=row[n].style if color else "",
                )
                for n, pieces in enumerate(cells)
            ).rstrip()


def _narrowed(heads: Sequence[Head], widths: list[int], room: int) -> list[int]:
    """Sentences share what the other columns leave; the longest gives way first."""
    folding = [n for n, head in enumerate(heads) if head.sentence]
    fixed = sum(each for n, each in enumerate(widths) if n not in folding)
    left = room - fixed - len(_GAP) * (len(widths) - 1)
    result = list(widths)
    for place, n in enumerate(sorted(folding, key=lambda n: widths[n])):
        share = max(_LEAST_SENTENCE, left // (len(folding) - place))
        result[n] = min(widths[n], share)
        left -= result[n]
    return result


def _padded(text: str, width: int, *, right: bool, style: str) -> str:
    gap, said = " " * (width - width_of(text)), painted(text, style)
    return gap + said if right else said + gap


def painted(text: str, style: str) -> str:
    codes = ";".join(str(_CODES[word]) for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def _folded_cell(text: str, width: int) -> list[str]:
    return [line for part in text.split("\n") for line in folded(part, width)]


def folded(text: str, width: int | None) -> list[str]:
    """At blanks; a word that is longer than a line is cut."""
    if width is None or width_of(text) <= width:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width_of(longer) <= width:
            line = longer
            continue
        if line.strip():
            lines.append(line)
        while width_of(word) > width:
            cut = _fitting(word, width)
            lines.append(word[:cut])
            word = word[cut:]
        line = word
    return [*lines, line]


def _fitting(word: str, width: int) -> int:
    """How many characters fit; at least one, so that folding ends."""
    used = 0
    for place, character in enumerate(word):
        used += width_of(character)
        if used > width:
            return max(1, place)
    return len(word)


def width_of(text: str) -> int:
    """Columns on a terminal: some scripts take two for a character."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
