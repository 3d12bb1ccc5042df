"""What a load test prints: one measure a row, beside its budget and whether it is kept.

Times do not travel between machines, and a busy machine is no defect: a verdict is for people, the
exit code never depends on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bigfleet.cli.output import current_output, prints_list

COLUMNS = ("MEASURE", "MEASURED", "UNIT", "BUDGET", "VERDICT")


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def budget(self) -> str:
        if self.at_most is not None:
            return f"<= {self.at_most:,g}"
        return f">= {self.at_least:,g}" if self.at_least is not None else ""

    @property
    def verdict(self) -> str:
        """Empty where there is no budget."""
        if self.at_most is not None:
            return "met" if self.value <= self.at_most else "missed"
        if self.at_least is not None:
            return "met" if self.value >= self.at_least else "missed"
        return ""


def document_of(measures: Sequence[Measure], **about: object) -> dict[str, object]:
    """For programs: what was measured on, then the rows."""
    rows = [
        {"name": m.name, "value": m.value, "unit": m.unit, "budget": m.budget, "verdict": m.verdict}
        for m in measures
    ]
    return {**about, "measures": rows}


#: The flags of a load test that say how its measures are printed.
prints_measures: Callable[[Any], Any] = prints_list(
    lambda: COLUMNS, "How the measures are printed.", one_line=True
)


def print_measures(measures: Sequence[Measure], note: str, part: str = "", **about: object) -> None:
    """In the form that -o asks for; `about` is what a document says beside the rows.

    `part` is the headline where a load test has several; CSV has a column for it.
    """
    from bigfleet.cli.tables import Page, cell, table_of, write_document

    if current_output().is_document:
        write_document(document_of(measures, **({"part": part} if part else {}), **about))
        return
    columns = (*COLUMNS, "PART") if part else COLUMNS
    table = table_of(*columns, numbers=["MEASURED", "BUDGET"], wide=["PART"], kind="measure")
    for m in measures:
        value = f"{m.value:,.1f}" if m.value < 1000 else f"{m.value:,.0f}"
        style = "red" if m.verdict == "missed" else ""
        texts = (cell(m.name), cell(value, sort=m.value), cell(m.unit), cell(m.budget))
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


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least this part of them does not exceed; 0 of none."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * part))] if ranked else 0.0
