"""A list as an answer: one description of its columns serves every form of -o.

A verb says which rows there are, which columns they have, and what one row is as JSON:

    COLUMNS = [
        Column("ID", lambda view: view.machine.id),
        Column("$/H", lambda view: view.machine.price_per_hour, number=True),
        Column("HOST", lambda view: view.host, wide=True),
    ]
    write_listing(line, Listing(COLUMNS, views, document_of, name=lambda v: f"machine/{v.id}"))

and gets -o table, wide, json, yaml, csv and name, --sort-by, --no-headers and --watch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from bigfleet.cli.output import (
    current_output,
    field_of,
    has_field,
    sorted_rows,
    unknown_sort,
)
from bigfleet.cli.request_options import RequestOptions
from bigfleet.cli.table_text import Head
from bigfleet.cli.tables import Page, Table, cell, write_json

Row = TypeVar("Row")


class Column(NamedTuple, Generic[Row]):
    name: str
    #: What stands in the cell; None and "" are shown as a dash.
    value: Callable[[Row], object]
    #: Aligned to the right.
    number: bool = False
    #: Folded to the width of the terminal; such columns come last.
    sentence: bool = False
    #: Shown by -o wide and -o csv only.
    wide: bool = False
    #: What --sort-by goes by where the value shown does not sort well, such as an age.
    sort: Callable[[Row], object] | None = None
    #: A colour such as `red`, or empty.
    style: Callable[[Row], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[Row]):
    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    #: One row as JSON.
    document: Callable[[Row], Mapping[str, Any]]
    #: What -o name prints: `machine/od-0117`.
    name: Callable[[Row], str]
    #: Fields beside `items` in JSON and YAML.
    head: Mapping[str, Any] = field(default_factory=dict)
    #: The line above the table.
    headline: str = ""
    #: Said instead of a table without rows; empty: the headings stand alone.
    empty: str = ""
    #: Lines below the table, after a blank one.
    notes: Sequence[str] = ()

    def sorted_by(self, by: str) -> list[Row]:
        """By a column, else by a field of the document; raises UsageError where neither exists."""
        name, descending = by.removeprefix("-"), by.startswith("-")
        for column in self.columns:
            if column.name == name.upper():
                key = column.sort or column.value
                return sorted_rows(list(self.rows), key, descending=descending)
        documents = {id(row): self.document(row) for row in self.rows}
        if self.rows and not has_field(documents.values(), name):
            raise unknown_sort(name, [column.name for column in self.columns])
        return sorted_rows(
            list(self.rows), lambda row: field_of(documents[id(row)], name), descending=descending
        )

    def table(self, rows: Sequence[Row]) -> Table:
        made = Table([Head(c.name, c.number, c.sentence, c.wide) for c in self.columns])
        for row in rows:
            cells = (cell(c.value(row), c.style(row) if c.style else "") for c in self.columns)
            made.add_row(*cells, name=self.name(row))
        return made


def write_listing(request_options: RequestOptions, listing: "Listing[Row]") -> None:
    """In the form that -o asks for, sorted as --sort-by says."""
    output = current_output()
    rows = listing.sorted_by(output.sort_by) if output.sort_by else listing.rows
    if output.is_document:
        write_json(
            {"items": [listing.document(row) for row in rows], **listing.head}, request_options.now
        )
        return
    page = Page.on_stdout(request_options.color)
    show_listing(page, listing, rows)
    page.write()


def show_listing(page: Page, listing: "Listing[Row]", rows: "Sequence[Row]") -> None:
    if listing.headline:
        page.say(listing.headline, "bold")
    if rows or not listing.empty:
        page.show(listing.table(rows), sort=False)
    else:
        page.say(listing.empty)
        page.main = listing.table(())
    if listing.notes:
        page.say("")
    for note in listing.notes:
        page.say(note)
