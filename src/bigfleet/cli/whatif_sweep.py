"""`bigfleet whatif --sweep`: a table of what-ifs, one for each value, and a small chart of them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.output import current_output
from bigfleet.cli.request_options import EXIT_PARTIAL
from bigfleet.cli.sources import AskedCycle
from bigfleet.cli.terminal import refuse_problems
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page
    from bigfleet.model.latencies import Latencies
    from bigfleet.model.what_if import Overlay, SweepPoint, WhatIfSide
    from bigfleet.whatif.sweep_axes import Axis

_BAR = 40
#: A selector that matches nothing is told for each value.
_MOST_WARNINGS = 3


def print_sweep(
    asked: AskedCycle, overlay: "Overlay", texts: tuple[str, ...], latencies: "Latencies | None"
) -> None:
    """Ends with exit 5 and what there is, where a person interrupts it."""
    from bigfleet.cli.progress import compile_all
    from bigfleet.model.what_if import Sweep
    from bigfleet.whatif.document import latencies_document, sweep_document
    from bigfleet.whatif.sweep_axes import axes_of, point_count
    from bigfleet.whatif.sweeping import swept

    try:
        axes = axes_of(texts)
        compile_all()
        with _counted(point_count(axes)) as counted:
            points, is_whole = collected(
                counted(swept(asked.given, overlay, axes, asked.name, latencies))
            )
    except BadInput as problem:
        raise refuse_problems(problem) from None
    if current_output().is_document:
        from bigfleet.cli.tables import write_document

        known = {} if latencies is None else latencies_document(latencies)
        document = sweep_document(Sweep(axes, tuple(points)))
        write_document({"cycle": asked.name, **document, **known})
    else:
        from bigfleet.cli.tables import Page

        page = Page.on_stdout("auto")
        fill(page, asked.name, overlay, axes, points, latencies)
        page.write()
    if not is_whole:
        whole = point_count(axes)
        click.echo(f"interrupted after {len(points)} of {whole} points", err=True)
        raise click.exceptions.Exit(EXIT_PARTIAL)


def collected(points: "Iterable[SweepPoint]") -> "tuple[list[SweepPoint], bool]":
    """All of them; or those before an interrupt, and False."""
    found: list[SweepPoint] = []
    try:
        for point in points:
            found.append(point)
    except KeyboardInterrupt:
        return found, False
    return found, True


@contextmanager
def _counted(total: int) -> Iterator[Any]:
    """A bar on standard error, for a person at a terminal."""
    if not sys.stderr.isatty():
        yield lambda points: points
        return
    with click.progressbar(length=total, label="points", file=sys.stderr) as bar:

        def counted(points: "Iterable[SweepPoint]") -> "Iterator[SweepPoint]":
            for point in points:
                bar.update(1)
                yield point

        yield counted


# -- the page --------------------------------------------------------------------------------------


def fill(
    page: "Page",
    cycle: str,
    overlay: "Overlay",
    axes: "tuple[Axis, ...]",
    points: "list[SweepPoint]",
    latencies: "Latencies | None",
) -> None:
    from bigfleet.cli.table_text import Text
    from bigfleet.cli.tables import table_of
    from bigfleet.cli.whatif_table import latency_sentences
    from bigfleet.model.reasons import dollars_text
    from bigfleet.whatif.overlay_text import text_of

    edits = "; ".join(map(text_of, overlay))
    swept = " and ".join(axis.name for axis in axes)
    page.say(f"Sweep of {swept}{f', with {edits}' if edits else ''}   (cycle {cycle})")
    if not points:
        return
    base = points[0].answer.base
    short, bill = base.unsatisfied_needs, dollars_text(round(base.cost_per_hour, 2))
    page.say(f"Now {short:,} {'Need is' if short == 1 else 'Needs are'} short, at {bill}/h.")
    for sentence in () if latencies is None else latency_sentences(latencies):
        page.say(sentence)
    warnings = dict.fromkeys(text for point in points for text in point.answer.warnings)
    for warning in list(warnings)[:_MOST_WARNINGS]:
        page.say(f"warning: {warning}", "yellow")
    settles = points[0].answer.settling is not None
    names = [axis.name.upper() for axis in axes]
    columns = [*names, "SHORT", "NEWLY", "PREEMPTED", "NEW", "$/H", "PENALTIES $"]
    columns += ["COVERED AFTER", "AT REST AFTER"] if settles else []
    table = table_of(*columns, numbers=columns)
    for point in points:
        side = point.answer.changed
        table.add_row(
            *(f"{value:g}" for value in point.values),
            Text(str(side.unsatisfied_needs), "red" if side.unsatisfied_needs else ""),
            str(point.answer.newly_unmet_count),
            str(side.actions_by_kind.get("Preempt", 0)),
            str(_new(side)),
            f"{side.cost_per_hour:.2f}",
            f"{side.declared_penalties:.2f}",
            *(_rest_cells(side) if settles else ()),
        )
    page.show(table)
    for line in chart_of(axes, points):
        page.say(line)


def _new(side: "WhatIfSide") -> int:
    """Machines that clusters get: an order is bound by a Bootstrap later on, which counts where
    the fleet settles."""
    kinds = side.actions_by_kind
    bought = kinds.get("Provision", 0) if side.settled is None else 0
    return kinds.get("Bootstrap", 0) + bought


def _rest_cells(side: "WhatIfSide") -> list[str]:
    from bigfleet.model.durations import short_text

    rest = side.settled
    if rest is None:
        return ["", ""]
    quiet = rest.quiet_after_cycles
    in_vain = rest.uncovered and not rest.waiting
    return [
        "-" if in_vain else short_text(rest.time_to_cover(1.0)),
        "-" if quiet is None else short_text(float(quiet)),
    ]


def chart_of(axes: "tuple[Axis, ...]", points: "list[SweepPoint]") -> list[str]:
    """One axis: a bar for each value. Two: a square of how many Needs are short."""
    if len(points) < 2:
        return []
    if len(axes) == 2:
        return _square(axes, points)
    lines = []
    for title, amounts in (
        ("needs short", [float(p.answer.changed.unsatisfied_needs) for p in points]),
        ("$/h", [round(p.answer.changed.cost_per_hour, 2) for p in points]),
    ):
        most = max(amounts)
        lines += ["", f"{title} by {axes[0].name}"]
        width = max(len(f"{p.values[0]:g}") for p in points)
        for point, amount in zip(points, amounts, strict=True):
            bar = "#" * round(_BAR * amount / most) if most else ""
            lines.append(f"{point.values[0]:>{width}g} |{bar} {amount:,g}")
    return lines


def _square(axes: "tuple[Axis, ...]", points: "list[SweepPoint]") -> list[str]:
    down, across = axes
    short = {p.values: p.answer.changed.unsatisfied_needs for p in points}
    heads = [f"{value:g}" for value in across.values]
    cells = [[short.get((v, w)) for w in across.values] for v in down.values]
    texts = [["" if c is None else f"{c:,}" for c in row] for row in cells]
    width = max(map(len, [*heads, *(text for row in texts for text in row)]))
    first = max(len(f"{value:g}") for value in down.values)
    lines = ["", f"needs short: {down.name} down, {across.name} across"]
    lines.append(" " * first + " |" + "".join(f" {head:>{width}}" for head in heads))
    for value, row in zip(down.values, texts, strict=True):
        lines.append(f"{value:>{first}g} |" + "".join(f" {text:>{width}}" for text in row))
    return lines
