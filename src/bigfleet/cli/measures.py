"""What a load test prints: one measure a row, beside its budget and whether it is kept.

Times do not travel between machines, and a busy machine is no defect: a verdict is for people, the
exit code never depends on it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import click

from bigfleet.cli.terminal import write_out

_NAME_WIDTH = 52


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


def print_json(document: dict[str, object]) -> None:
    write_out(json.dumps(document).encode() + b"\n")


def print_table(measures: Sequence[Measure], note: str) -> None:
    click.echo(f"{'measure':{_NAME_WIDTH}} {'measured':>10} {'':5} {'budget':>10}  verdict")
    for m in measures:
        value = f"{m.value:,.1f}" if m.value < 1000 else f"{m.value:,.0f}"
        line = f"{m.name:{_NAME_WIDTH}} {value:>10} {m.unit:5} {m.budget:>10}  {m.verdict}"
        click.echo(line.rstrip())
    click.echo(f"\n{note}")


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least this part of them does not exceed; 0 of none."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * part))] if ranked else 0.0
