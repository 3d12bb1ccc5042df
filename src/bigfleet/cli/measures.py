"""How a load test is run and its measures are printed; the exit code never depends on a verdict."""

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.output import current_output, prints_list

if TYPE_CHECKING:
    from bigfleet.bench.measures import Measure

COLUMNS = ("MEASURE", "MEASURED", "UNIT", "RANGE", "BUDGET", "VERDICT")
#: The flags of a load test that say how its measures are printed.
prints_measures: Callable[[Any], Any] = prints_list(
    lambda: COLUMNS, "How the measures are printed.", one_line=True
)


def print_measures(
    measures: "Sequence[Measure]", note: str, part: str = "", **about: object
) -> None:
    """In the form that -o asks for; `about` is what a document says beside the rows.

    `part` is the headline where a load test has several; CSV has a column for it.
    """
    from bigfleet.bench.measures import document_of
    from bigfleet.cli.tables import Page, cell, table_of, write_document

    if current_output().is_document:
        write_document(document_of(measures, **({"part": part} if part else {}), **about))
        return
    columns = (*COLUMNS, "PART") if part else COLUMNS
    table = table_of(*columns, numbers=["MEASURED", "BUDGET"], wide=["PART"], kind="measure")
    for m in measures:
        value = f"{m.value:,.1f}" if m.value < 1000 else f"{m.value:,.0f}"
        style = "red" if m.verdict == "missed" else ""
        measured = (cell(m.name), cell(value, sort=m.value), cell(m.unit), cell(m.range))
        texts = (*measured, cell(m.budget))
        where = (cell(part),) if part else ()
        table.add_row(*texts, cell(m.verdict, style), *where, name=f"measure/{m.name}")
    page = Page.on_stdout("auto")
    if part:
        page.say(part)
    page.show(table)
    page.say("")
    for line in note.splitlines():
        page.say(line)
    page.write()


def run_load_test(measuring: "Coroutine[Any, Any, list[Measure]]") -> "list[Measure]":
    """What it measured; where a process of it fails, the command ends with its text."""
    import asyncio

    from bigfleet.bench.processes import LoadTestFailed

    try:
        return asyncio.run(measuring)
    except LoadTestFailed as failure:
        raise click.ClickException(str(failure)) from None
