"""What `bigfleet conformance` shows: progress while it runs, the account when it is done."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.conformance_options import CHANGE_COLUMNS, OUTCOME_COLUMNS
from bigfleet.cli.output import current_output
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from bigfleet.conformance.reports.document import Account, Change
    from bigfleet.conformance.rows import Row, RowOutcome
    from bigfleet.conformance.selftest import Kill

_ROW_COLUMNS = ("ROW", "AREA", "PROFILES", "EXCLUSIVE", "TITLE")
_KILL_COLUMNS = ("ROW", "MUTANT", "KILLED", "RUNS", "CAUGHT", "SOUND")
COLOURS = {"CERTIFIED": "green", "FAILED": "red", "INCOMPLETE": "yellow"}


class Bar:
    """Counts outcomes as they come and says what is under way; no bar without a terminal."""

    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress, self._task = progress, task
        self._counts: Counter[str] = Counter()
        self._under_way: dict[str, str] = {}

    def preflight(self, need: int, stock: dict[str, int]) -> None:
        have = f"{stock['speculative']} SPECULATIVE, {stock['idle']} IDLE"
        self._say(f"machines: {need} needed at least, in stock {have}")

    def start(self, row: "Row") -> None:
        self._under_way[row.id] = row.title
        self._show(0)

    def outcome(self, outcome: "RowOutcome") -> None:
        self._under_way.pop(outcome.row.id, None)
        self._counts[outcome.status.replace("_", " ")] += 1
        self._show(1)
        if outcome.status == "failed":
            self._say(f"{outcome.row.id} failed: {plain(outcome.reason)}")

    def kill(self, kill: "Kill") -> None:
        self._counts["killed" if kill.killed else "survived"] += 1
        self._show(1)

    def _say(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _show(self, done: int) -> None:
        shown = [f"{count} {name}" for name, count in sorted(self._counts.items())]
        if len(self._under_way) == 1:
            # Alone it may wait for a while: say for what.
            shown += [f"now {name}: {title}" for name, title in self._under_way.items()]
        self._progress.update(self._task, advance=done, description=", ".join(shown))


@contextmanager
def progress(total: int) -> Iterator[Bar]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    console = Console(stderr=True)
    watched = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not watched) as bar:
        yield Bar(bar, bar.add_task("", total=total))


def _print_list(document: Any, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> bool:
    """In the forms for programs, and wide; False: the caller prints it for people.

    The first cell of a row is its id.
    """
    from bigfleet.cli.tables import Page, cell, table_of, write_document

    output = current_output()
    if output.is_document:
        write_document(document)
        return True
    if output.format == "table" and not output.sort_by and output.headers:
        return False
    table = table_of(*columns, kind="row")
    for cells in rows:
        table.add_row(*map(cell, cells))
    page = Page.on_stdout("auto")
    page.show(table)
    page.write()
    return True


def _yes(value: bool) -> str:
    return "yes" if value else ""


def print_rows(rows: "Sequence[Row]") -> None:
    listed = [
        {
            "id": row.id,
            "area": row.area,
            "title": row.title,
            "profiles": list(row.profiles),
            "exclusive": row.exclusive,
            "gates": list(row.gates),
            "mutant": row.mutant,
        }
        for row in rows
    ]
    cells = [
        (row.id, row.area, ",".join(row.profiles), _yes(row.exclusive), row.title) for row in rows
    ]
    if _print_list(listed, _ROW_COLUMNS, cells):
        return
    for area, group in groupby(rows, key=lambda row: row.area):
        click.echo(area)
        for row in group:
            marks = " x" if row.exclusive else ""
            click.echo(f"  {row.id:<6} [{','.join(row.profiles)}]{marks} {row.title}")


def print_account(account: "Account", out: Path | None) -> None:
    from bigfleet.conformance.reports.document import document_of, profile_verdicts
    from bigfleet.conformance.verdicts import NOT_SELECTED

    ran = [outcome for outcome in account.outcomes if outcome.reason != NOT_SELECTED]
    if _print_list(document_of(account), OUTCOME_COLUMNS, [_outcome_cells(each) for each in ran]):
        return
    _print_areas(ran)
    _print_unpassed(ran)
    word = account.verdict.word
    skipped = sum(outcome.status == "skipped" for outcome in account.outcomes)
    click.echo()
    click.secho(word, fg=COLOURS[word], bold=True, nl=False)
    click.echo(f" for {', '.join(account.profiles)}; {skipped} skipped")
    for reason in account.verdict.reasons:
        click.echo(f"  {plain(reason)}")
    words = profile_verdicts(account)
    if len(ran) == len(account.outcomes) and len(set(words.values())) > 1:
        alone = ", ".join(f"{profile} {word}" for profile, word in words.items())
        click.echo(f"  each profile alone: {alone}")
    if out:
        click.echo(f"  report: {out / 'report.html'}")
    elif word == "FAILED":
        click.echo("  --out DIR keeps a report with the calls of every failed row")


def _outcome_cells(outcome: "RowOutcome") -> tuple[object, ...]:
    row, took = outcome.row, f"{outcome.duration_ms:.0f}"
    return (row.id, row.area, outcome.status, took, row.title, outcome.reason)


def _print_areas(ran: "Sequence[RowOutcome]") -> None:
    for area, outcomes in groupby(ran, key=lambda outcome: outcome.row.area):
        counts = Counter(outcome.status for outcome in outcomes)
        others = ", ".join(
            f"{counts[status]} {status.replace('_', ' ')}"
            for status in ("failed", "skipped", "not_implemented")
            if counts[status]
        )
        passed = f"{counts['passed']}/{sum(counts.values())} passed"
        click.echo(f"{area:<30} {passed:>13}{f'  ({others})' if others else ''}")


def _print_unpassed(ran: "Sequence[RowOutcome]") -> None:
    for outcome in ran:
        if outcome.status == "passed":
            continue
        click.echo(f"\n{outcome.row.id} {outcome.status.replace('_', ' ')}: {outcome.row.title}")
        click.echo(f"  {plain(outcome.reason)}")
        if outcome.status == "failed":
            again = outcome.replay or f"--only {outcome.row.id}"
            click.echo(f"  again: bigfleet conformance ... {again}")


def print_changes(found: "Sequence[Change]") -> None:
    listed = [
        {"id": c.id, "before": c.before, "after": c.after, "worse": c.worse, "reason": c.reason}
        for c in found
    ]
    cells = [(c.id, c.before, c.after, _yes(c.worse), c.title, c.reason) for c in found]
    if _print_list(listed, CHANGE_COLUMNS, cells):
        return
    for change in found:
        mark = "worse" if change.worse else "     "
        click.echo(f"{mark} {change.id}: {change.before} -> {change.after}  {plain(change.title)}")
    click.echo(f"{len(found)} rows differ, {sum(c.worse for c in found)} for the worse")


def print_kills(kills: "Sequence[Kill]", unpaired: Sequence[str], document: Any) -> None:
    from bigfleet.conformance.selftest import score

    cells = [
        (k.expected, k.mutant, _yes(k.killed), k.runs, len(k.failed), _yes(k.sound)) for k in kills
    ]
    if _print_list(document, _KILL_COLUMNS, cells):
        return
    for kill in kills:
        if not kill.killed:
            why = f"caught in {len(kill.failed)} of {kill.runs} runs"
            if not kill.sound:
                why += "; the row fails without the mutant too"
            click.echo(f"SURVIVED {kill.expected}: {kill.mutant} ({why})")
    for name in unpaired:
        click.echo(f"UNPAIRED {name}")
    killed = sum(kill.killed for kill in kills)
    click.echo(f"{killed} of {len(kills)} mutants killed, score {score(kills):.3f}")
