"""What verbs show: pages of tables for people, one JSON document for programs.

Ids are never wrapped or cut; only sentences are folded to the width of the terminal. Colours are
for terminals, and whoever says NO_COLOR gets none.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.style import StyleType
from rich.table import Column, Table
from rich.text import Text

from bigfleet.cli.terminal import plain, write_out
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant

#: Wider than any table: nothing is folded.
_UNBOUNDED = 10_000
#: Rows from which on a table is drawn without colours and folds: a hundred thousand of them take
#: the better way half a minute.
_LONG = 2_001
_SECOND = 1_000_000_000
#: (unit, its seconds): a unit is used from two of it on.
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))


class Page:
    """Collects what is shown, so that a closed pipe is met once, in one place."""

    def __init__(self, color: bool, width: int | None) -> None:
        """`width` None folds nothing."""
        self._width = width or _UNBOUNDED
        self._text = StringIO()
        self._console = Console(
            file=self._text,
            force_terminal=color,
            no_color=not color,
            width=self._width,
            markup=False,
            highlight=False,
            emoji=False,
        )

    @classmethod
    def on_stdout(cls, color: str) -> "Page":
        """`color` as the flag says it: auto, always or never."""
        terminal = sys.stdout.isatty()
        wanted = color == "always" or (
            color == "auto" and terminal and not os.environ.get("NO_COLOR")
        )
        return cls(wanted, shutil.get_terminal_size().columns if terminal else None)

    def say(self, sentence: str, style: str = "") -> None:
        self._console.print(Text(plain(sentence), style))

    def show(self, table: Table, *, apart: bool = True) -> None:
        """As wide as its ids need, even where the terminal is narrower."""
        console = self._console
        if table.row_count >= _LONG:
            if apart and self._text.tell():
                console.print()
            self._text.writelines(_drawn_plainly(table))
            return
        console.width = max(self._width, _least_width(table))
        if apart and self._text.tell():
            console.print()
        console.print(table)
        console.width = self._width

    def text(self) -> str:
        lines = (line.rstrip() for line in self._text.getvalue().splitlines())
        return "\n".join(lines) + "\n"

    def write(self) -> None:
        write_out(self.text().encode())


def _least_width(table: Table) -> int:
    """What cannot be folded has to fit, blanks within it too."""
    return sum(2 + (_width_of(c) if c.no_wrap else c.min_width or 0) for c in table.columns)


def _width_of(column: Column) -> int:
    return max(map(cell_len, (str(column.header), *map(str, column.cells))))


def _drawn_plainly(table: Table) -> Iterator[str]:
    columns = []
    for column in table.columns:
        texts = [str(column.header), *map(str, column.cells)]
        lengths = [cell_len(text) for text in texts]
        width = max(lengths)
        gaps = [" " * (width - length) for length in lengths]
        right = column.justify == "right"
        pairs = zip(gaps, texts, strict=True) if right else zip(texts, gaps, strict=True)
        columns.append([first + last for first, last in pairs])
    for row in zip(*columns, strict=True):
        yield "  ".join(row).rstrip() + "\n"


class EscapedTable(Table):
    """Shows what is not printable in a cell escaped, whoever wrote the cell."""

    def add_row(
        self,
        *cells: RenderableType | None,
        style: StyleType | None = None,
        end_section: bool = False,
    ) -> None:
        super().add_row(*map(escaped, cells), style=style, end_section=end_section)


def table_of(*columns: str, sentence: str = "", numbers: Iterable[str] = ()) -> Table:
    """No column is folded but that of the sentence, which comes last."""
    right = frozenset(numbers)
    table = EscapedTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, justify="right" if column in right else "left")
    if sentence:
        table.add_column(sentence, min_width=30)
    return table


def escaped(shown: RenderableType | None) -> RenderableType | None:
    """A cell that cannot drive the terminal; lines of a folded sentence stay lines."""
    if isinstance(shown, str):
        return plain(shown)
    if isinstance(shown, Text) and not shown.plain.replace("\n", "").isprintable():
        return Text("\n".join(map(plain, shown.plain.split("\n"))), shown.style)
    return shown


def cell(text: object, style: str = "") -> Text:
    """Nothing to show is a dash, so that columns can be counted."""
    said = plain(str(text)) if text not in (None, "") else "-"
    return Text(said, style)


def age_text(seconds: float) -> str:
    """One number with its unit: `45s`, `12m`, `5h`, `3d`."""
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"


def since_text(moment: Instant | None, now: Instant) -> str:
    return age_text((now - moment) / _SECOND) if moment else "-"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def write_json(document: dict[str, Any], now: Instant) -> None:
    """One object, with the time of asking."""
    import orjson

    stamped = {**document, "queriedAt": instant_text(now)}
    write_out(orjson.dumps(stamped, option=orjson.OPT_INDENT_2) + b"\n")


def write_items(items: Iterable[Any], now: Instant, **head: Any) -> None:
    write_json({"items": list(items), **head}, now)
