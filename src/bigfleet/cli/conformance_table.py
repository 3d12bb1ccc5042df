"""What `bigfleet conformance` shows: progress while it runs, the account when it is done."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from bigfleet.conformance.outcomes import Outcome
    from bigfleet.conformance.reports.comparison import Change
    from bigfleet.conformance.reports.document import Account
    from bigfleet.conformance.rows import Row
    from bigfleet.conformance.selftest import Kill

COLOURS = {"CERTIFIED": "green", "FAILED": "red", "INCOMPLETE": "yellow"}


class Bar:
    """Counts outcomes as they come; silent where nobody watches."""

    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress, self._task = progress, task
        self._counts: Counter[str] = Counter()

    def preflight(self, need: int, stock: dict[str, int]) -> None:
        have = f"{stock['speculative']} SPECULATIVE, {stock['idle']} IDLE"
        self._progress.console.print(f"machines: {need} needed at least, in stock {have}")

    def outcome(self, outcome: "Outcome") -> None:
        self._add(outcome.status)
        if outcome.status == "failed":
            said = f"{outcome.row.id} failed: {plain(outcome.reason)}"
            self._progress.console.print(said, markup=False, highlight=False)

    def kill(self, kill: "Kill") -> None:
        self._add("killed" if kill.killed else "survived")

    def _add(self, status: str) -> None:
        self._counts[status] += 1
        shown = ", ".join(f"{count} {name}" for name, count in sorted(self._counts.items()))
        self._progress.update(self._task, advance=1, description=shown)


@contextmanager
def progress(total: int) -> Iterator[Bar]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Bar(bar, bar.add_task("", total=total))


def print_rows(rows: "Sequence[Row]", output: str) -> None:
    if output == "json":
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
        click.echo(json.dumps(listed, indent=2))
        return
    for area, group in groupby(rows, key=lambda row: row.area):
        click.echo(area)
        for row in group:
            marks = " x" if row.exclusive else ""
            click.echo(f"  {row.id:<6} [{','.join(row.profiles)}]{marks} {row.title}")


def print_account(account: "Account", output: str, out: Path | None) -> None:
    from bigfleet.conformance.reports.document import document_of
    from bigfleet.conformance.reports.writing import json_text
    from bigfleet.conformance.verdicts import NOT_SELECTED

    if output == "json":
        click.echo(json_text(document_of(account)), nl=False)
        return
    ran = [outcome for outcome in account.outcomes if outcome.reason != NOT_SELECTED]
    _print_areas(ran)
    _print_unpassed(ran)
    word = account.verdict.word
    skipped = sum(outcome.status == "skipped" for outcome in account.outcomes)
    click.echo()
    click.secho(word, fg=COLOURS[word], bold=True, nl=False)
    click.echo(f" for {', '.join(account.profiles)}; {skipped} skipped")
    for reason in account.verdict.reasons:
        click.echo(f"  {plain(reason)}")
    if out:
        click.echo(f"  report: {out / 'report.html'}")


def _print_areas(ran: "Sequence[Outcome]") -> None:
    for area, outcomes in groupby(ran, key=lambda outcome: outcome.row.area):
        counts = Counter(outcome.status for outcome in outcomes)
        others = ", ".join(
            f"{counts[status]} {status.replace('_', ' ')}"
            for status in ("failed", "skipped", "not_implemented")
            if counts[status]
        )
        passed = f"{counts['passed']}/{sum(counts.values())} passed"
        click.echo(f"{area:<30} {passed:>13}{f'  ({others})' if others else ''}")


def _print_unpassed(ran: "Sequence[Outcome]") -> None:
    for outcome in ran:
        if outcome.status == "passed":
            continue
        click.echo(f"\n{outcome.row.id} {outcome.status.replace('_', ' ')}: {outcome.row.title}")
        click.echo(f"  {plain(outcome.reason)}")
        if outcome.replay:
            click.echo(f"  again: bigfleet conformance ... {outcome.replay}")


def print_changes(found: "Sequence[Change]", output: str) -> None:
    if output == "json":
        listed = [
            {"id": c.id, "before": c.before, "after": c.after, "worse": c.worse, "reason": c.reason}
            for c in found
        ]
        click.echo(json.dumps(listed, indent=2))
        return
    for change in found:
        mark = "worse" if change.worse else "     "
        click.echo(f"{mark} {change.id}: {change.before} -> {change.after}  {plain(change.title)}")
    click.echo(f"{len(found)} rows differ, {sum(c.worse for c in found)} for the worse")


def print_kills(kills: "Sequence[Kill]", unpaired: Sequence[str]) -> None:
    from bigfleet.conformance.selftest import score

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
