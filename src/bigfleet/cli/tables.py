"""What verbs show: pages of tables for people, one document for programs.

Ids are never wrapped or cut; only sentences are folded to the width of the terminal. Colours are
for terminals, and NO_COLOR turns them off. A Page also writes -o csv and -o name, both from the
first table it shows: one description of columns serves all of them.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigfleet.cli.output import (
    Output,
    current_output,
    field_of,
    has_field,
    sorted_rows,
    unknown_sort,
)
from bigfleet.cli.table_text import Head, Text, drawn, folded, painted
from bigfleet.cli.terminal import escaped, json_escaped, write_out
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant

_SECOND = 1_000_000_000
#: (unit, its seconds): a unit is used from two of it on.
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))
#: What the rows are where the first column names them.
_KIND_OF_HEADING = {
    name.upper(): name for name in ("machine", "cluster", "shard", "transfer", "offering")
}
#: In a table, nothing to show.
_DASH = "-"


@dataclass(slots=True)
class Table:
    """Rows of cells under headings; made by `table_of`."""

    heads: list[Head]
    #: What its rows are, for -o name: `machine` gives machine/ID.
    kind: str = ""
    rows: list[list[Text]] = field(default_factory=list)
    #: What -o name prints of each row; empty: its kind and its first cell.
    names: list[str] = field(default_factory=list)

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def add_row(self, *cells: Text | str, style: str = "", name: str = "") -> None:
        texts = [each if isinstance(each, Text) else Text(each) for each in cells]
        if style:
            texts = [each if each.style else Text(each.text, style) for each in texts]
        self.rows.append(texts)
        first = next((each.text for each in texts), "")
        said = escaped(name) if name else first
        self.names.append(f"{self.kind}/{said}" if self.kind and not name else said)

    def add_column(self, name: str, *, min_width: int = 0) -> None:
        """Another sentence at the end."""
        self.heads.append(Head(name, sentence=bool(min_width)))

    def sort(self, by: str) -> None:
        """By a column; raises UsageError where there is none of that name."""
        name = by.removeprefix("-")
        names = [head.name for head in self.heads]
        if name.upper() not in names:
            raise unknown_sort(name, names)
        place = names.index(name.upper())
        pairs = sorted_rows(
            list(zip(self.rows, self.names, strict=True)),
            lambda pair: _sort_value(pair[0][place]),
            descending=by.startswith("-"),
        )
        self.rows = [row for row, _name in pairs]
        self.names = [name for _row, name in pairs]

    def without_wide(self) -> "Table":
        kept = [n for n, head in enumerate(self.heads) if not head.wide]
        if len(kept) == len(self.heads):
            return self
        rows = [[row[n] for n in kept] for row in self.rows]
        return Table([self.heads[n] for n in kept], self.kind, rows, self.names)


def _sort_value(shown: Text) -> object:
    return shown.text if shown.sort is None else shown.sort


class Page:
    """Collects what is shown, so that a closed pipe is met once, in one place."""

    def __init__(self, color: bool, width: int | None, output: Output | None = None) -> None:
        """`width` None folds nothing."""
        self._width = width
        self._color = color
        self._output = output or current_output()
        self._lines: list[str] = []
        #: What -o csv and -o name print.
        self.main: Table | None = None

    @classmethod
    def on_stdout(cls, color: str) -> "Page":
        """`color` as the flag says it: auto, always or never."""
        terminal = sys.stdout.isatty()
        wanted = color == "always" or (
            color == "auto" and terminal and not os.environ.get("NO_COLOR")
        )
        return cls(wanted, shutil.get_terminal_size().columns if terminal else None)

    def say(self, sentence: str, style: str = "") -> None:
        for line in folded(escaped(sentence), self._width):
            self._lines.append(painted(line, style) if self._color else line)

    def show(
        self, table: Table, *, apart: bool = True, aside: bool = False, sort: bool = True
    ) -> None:
        """As wide as its ids need, even where the terminal is narrower.

        The first table that does not stand aside is what --sort-by, -o csv and -o name are about;
        `sort` False: its rows are in order already.
        """
        output = self._output
        if self.main is None and not aside:
            self.main = table
            if output.sort_by and sort:
                table.sort(output.sort_by)
        if apart and self._lines:
            self._lines.append("")
        shown = table if output.format == "wide" else table.without_wide()
        self._lines += drawn(
            shown.heads, shown.rows, self._width, color=self._color, headers=output.headers
        )

    def show_or_say(self, table: Table, empty: str, *, sort: bool = True) -> None:
        """The sentence stands for a table without rows; programs still get its headings."""
        if table.rows:
            self.show(table, sort=sort)
            return
        self.say(empty)
        self.main = table

    def text(self) -> str:
        if self._output.format == "csv":
            return csv_text(self.main, self._output.headers)
        if self._output.format == "name":
            return "".join(f"{name}\n" for name in self.main.names) if self.main else ""
        return "\n".join(line.rstrip() for line in self._lines) + "\n"

    def write(self) -> None:
        write_out(self.text().encode())


def csv_text(table: Table | None, headers: bool) -> str:
    """All columns; an empty cell is empty, not a dash."""
    import csv
    from io import StringIO

    if table is None:
        return ""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if headers:
        writer.writerow([head.name for head in table.heads])
    for row in table.rows:
        writer.writerow(["" if each.text == _DASH else each.text for each in row])
    return text.getvalue()


def table_of(
    *columns: str,
    sentence: str = "",
    numbers: Iterable[str] = (),
    wide: Iterable[str] = (),
    kind: str = "",
) -> Table:
    """No column is folded but that of the sentence, which comes last."""
    right, extra = frozenset(numbers), frozenset(wide)
    heads = [Head(name, number=name in right, wide=name in extra) for name in columns]
    if sentence:
        heads.append(Head(sentence, sentence=True))
    return Table(heads, kind or _KIND_OF_HEADING.get(heads[0].name, ""))


def cell(text: object, style: str = "", sort: object = None) -> Text:
    """Nothing to show is a dash, so that columns can be counted.

    `sort` is what --sort-by goes by where the text does not sort well.
    """
    said = escaped(str(text)) if text not in (None, "") else _DASH
    return Text(said, style, sort)


def age_text(seconds: float) -> str:
    """One number with its unit: `45s`, `12m`, `5h`, `3d`."""
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"


def since_text(moment: Instant | None, now: Instant) -> str:
    return age_text((now - moment) / _SECOND) if moment else _DASH


def when_text(moment: Instant | None, now: Instant) -> str:
    """After the name of a cycle: `, 3s ago`; of one that is older than an hour its time."""
    if not moment:
        return ""
    if now - moment < 3600 * _SECOND:
        return f", {since_text(moment, now)} ago"
    return f", {instant_text(moment // _SECOND * _SECOND)}"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def write_json(document: dict[str, Any], now: Instant) -> None:
    """One object, with the time of asking; as YAML where that is asked for."""
    stamped = {**document, "queriedAt": instant_text(now)}
    write_out(document_bytes(stamped, current_output()))


def write_document(document: Any) -> None:
    """As it is, for answers that have a shape of their own."""
    write_out(document_bytes(document, current_output()))


def document_bytes(document: Any, output: Output) -> bytes:
    import orjson

    if output.format == "yaml":
        import yaml

        # Through JSON, so that both have the same keys and plain values only.
        plain = orjson.loads(orjson.dumps(document))
        start = "---\n" if output.one_line else ""
        text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=False, width=100)
        return (start + text).encode()
    option = 0 if output.one_line else orjson.OPT_INDENT_2
    return json_escaped(orjson.dumps(document, option=option)) + b"\n"


def write_items(items: Iterable[Any], now: Instant, **head: Any) -> None:
    """A list; --sort-by goes by a field of its items."""
    listed, by = list(items), current_output().sort_by
    if by:
        listed = sorted_items(listed, by)
    write_json({"items": listed, **head}, now)


def sorted_items(items: Sequence[Any], by: str) -> list[Any]:
    path = by.removeprefix("-")
    if items and not has_field(items, path):
        raise unknown_sort(path, sorted({name for each in items for name in each}))
    return sorted_rows(
        list(items), lambda each: field_of(each, path), descending=by.startswith("-")
    )
