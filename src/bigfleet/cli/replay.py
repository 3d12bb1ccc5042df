"""`bigfleet replay`: recorded cycles decided again, and whether they come out the same."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.output import current_output, prints_document
from bigfleet.cli.replay_diff import (
    DiffRequest,
    compared,
    limits_from,
    print_comparison,
    settings_of,
)
from bigfleet.cli.sources import (
    EXIT_NOT_FOUND,
    CycleOrTime,
    cycle_named,
    first_cycle_named,
    kept_span,
    not_recorded,
)
from bigfleet.cli.terminal import escaped, refuse

if TYPE_CHECKING:
    from bigfleet.journal.replay import Replayed
    from bigfleet.journal.segments import Segment
    from bigfleet.model.journal import JournalEvent

EXIT_DIFFERENT = 1
EXIT_PARTIAL = 5
#: Of the first difference, on either side.
_MOST_ACTIONS = 20


@click.command(no_args_is_help=True)
@click.argument("journal", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--from",
    "first",
    type=CycleOrTime(),
    help="The first cycle: 18231, 3:18231, or the first from 2026-03-14T03:00:10Z on.",
)
@click.option("--to", "last", type=CycleOrTime(), help="The last cycle, or the last until a time.")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Threads of the engine; the outcome is the same for any number.",
)
@click.option(
    "--dump",
    type=click.Path(path_type=Path),
    help="Write the fleet of the cycle --at to this file: .yaml, .json or .jsonl, also with .gz.",
)
@click.option(
    "--at",
    type=CycleOrTime(),
    help="The cycle that --dump writes, or the last at a time; without: the last of all.",
)
@click.option(
    "--redact",
    type=click.Path(path_type=Path),
    help="Write the journal under other names to this directory, to send it to others.",
)
@click.option("--diff", is_flag=True, help="Tell what a candidate would have decided instead.")
@click.option(
    "--engine",
    metavar="PYTHON",
    help="The candidate: the bigfleet of this interpreter; without: the one that is running.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="The candidate has this option: parking.after, releaseHold.Spot, fold and others.",
)
@click.option(
    "--mode",
    type=click.Choice(["open", "closed"]),
    default="open",
    show_default=True,
    help="closed: each engine lives with what it decides, on the recorded demand.",
)
@click.option(
    "--fail-on",
    "limits",
    metavar="LIST",
    default="preempts>0,cost>1%,shortfalls>0",
    show_default=True,
    help="What is too much: limits on changed, cost, penalties, preempts and shortfalls.",
)
@click.option("--verify", is_flag=True, help="Check the actions with the independent verifier.")
@prints_document("A few lines for people; one document for programs.")
def replay(
    journal: Path,
    first: tuple[int | None, int] | int | None,
    last: tuple[int | None, int] | int | None,
    workers: int,
    dump: Path | None,
    at: tuple[int | None, int] | int | None,
    redact: Path | None,
    diff: bool,
    engine: str | None,
    settings: tuple[str, ...],
    mode: str,
    limits: str,
    verify: bool,
) -> None:
    """Decide the cycles of JOURNAL again and compare them with what was decided then.

    JOURNAL is the directory of a shard's journal, or one of its .bfj files. A cycle is named by
    the epoch of its shard and its number; a bare number means the newest epoch. --from, --to and
    --at also take times. A file failed-*.bfj is the input of a cycle in which the engine failed; it
    is decided again.

    With --diff each cycle is decided by a candidate on its recorded input: another version
    (--engine), or this one with other options (--set). With --mode closed both this engine and the
    candidate begin with the machines of the first cycle and live with what they decide: demand and
    what befalls machines is recorded, actions take the time that the journal shows.

    \b
    Exit codes: 0 all cycles are identical (--diff: or within the limits), 1 some differ (--diff:
    beyond a limit), 2 the journal cannot be read, 3 it has no such cycle, 5 all that is there is
    identical, but cycles are missing.

    \b
    Examples:
      bigfleet replay data/journal
      bigfleet replay data/journal --from 18000 --to 18231 --workers 2
      bigfleet replay data/journal --from 2026-03-14T03:00:00Z --to 2026-03-14T03:10:00Z
      bigfleet replay data/journal --dump fleet.yaml --at 3:18231
      bigfleet replay data/journal --verify
      bigfleet replay data/journal --redact for-the-report
      bigfleet replay data/journal --diff --set releaseHold.Spot=600 --fail-on 'cost>1%'
      bigfleet replay data/journal --diff --engine /opt/bigfleet-next/bin/python
      bigfleet replay data/journal --diff --mode closed --from 18000 --set parking.after=4
    """
    from bigfleet.cli.progress import compile_all
    from bigfleet.journal.history import LATEST, BrokenJournal
    from bigfleet.journal.segments import UnreadableJournal, is_failure, segments_of

    if not diff and (engine is not None or settings or mode == "closed"):
        raise refuse(["--engine, --set and --mode are about the candidate of --diff; add --diff"])
    try:
        segments = segments_of(journal)
        if dump is not None:
            _dump(segments, cycle_named(at, segments, LATEST), dump)
            return
        compile_all()
        if is_failure(segments[0].path) and redact is None:
            _decide_failed(segments)
            return
        if redact is not None:
            _redact(segments, redact, workers)
            return
        span = first_cycle_named(first, segments), cycle_named(last, segments, LATEST)
        if diff:
            _diff(
                DiffRequest(
                    journal,
                    span,
                    workers,
                    engine,
                    settings_of(settings),
                    limits_from(limits),
                    mode == "closed",
                ),
                segments,
            )
            return
        report = _replayed(segments, *span, workers, verify)
    except (UnreadableJournal, BrokenJournal) as problem:
        raise refuse([str(problem)]) from None
    if not report.cycles:
        click.echo(f"{journal} has no cycle there; it has {kept_span(segments)}", err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND)
    _print(report)
    if report.different or report.vetoes:
        raise click.exceptions.Exit(EXIT_DIFFERENT)
    if report.missing:
        raise click.exceptions.Exit(EXIT_PARTIAL)


def _decide_failed(segments: "list[Segment]") -> None:
    """Leaves with 1 where the engine fails again, with what it raised."""
    from bigfleet.journal.history import BrokenJournal, cycle_at

    found = cycle_at(segments)
    if found is None:
        raise BrokenJournal(f"{segments[0].path} has no cycle")
    click.echo(escaped(f"cycle {found.name} decided nothing then: {found.recorded.failure}"))
    try:
        decision = found.recorded.given.decide()
    except Exception as problem:  # noqa: BLE001 - it is what is looked for
        import traceback

        told = "".join(traceback.format_exception(problem))
        click.echo("it fails again now:")
        for line in told.splitlines():
            click.echo(escaped(line))
        raise click.exceptions.Exit(EXIT_DIFFERENT) from None
    click.echo(f"decided now: {decision.action_count} actions")


def _diff(request: DiffRequest, segments: "list[Segment]") -> None:
    from bigfleet.cli.progress import counted_cycles

    with counted_cycles() as tell:
        found = compared(request, segments, tell)
    if not found.comparison.cycles:
        there = kept_span(segments)
        click.echo(f"{request.journal} has no cycle there; it has {there}", err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND)
    print_comparison(found, request.limits)
    if found.comparison.beyond(request.limits):
        raise click.exceptions.Exit(EXIT_DIFFERENT)


@dataclass(slots=True)
class _Report:
    cycles: int = 0
    different: int = 0
    #: Cycles the journal says it lacks.
    missing: int = 0
    gaps: "list[JournalEvent]" = field(default_factory=list)
    first_difference: "Replayed | None" = None
    #: What the verifier has against actions, as sentences; None: they were not verified.
    vetoes: list[str] | None = None
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)

    def take(self, each: "Replayed") -> None:
        name = each.recorded.epoch, each.recorded.given.cycle
        self.first = self.first if self.cycles else name
        self.last = name
        self.cycles += 1
        if not each.identical:
            self.different += 1
            self.first_difference = self.first_difference or each


def _replayed(
    segments: "list[Segment]",
    first: tuple[int, int],
    last: tuple[int, int],
    workers: int,
    verify: bool,
) -> _Report:
    from bigfleet.cli.progress import counted_cycles
    from bigfleet.journal.history import History
    from bigfleet.journal.other_engine import until
    from bigfleet.journal.replay import replayed, vetoes_of
    from bigfleet.journal.segments import records_in_order

    report, history = _Report(), History()
    cycles = until(history.cycles(records_in_order(segments, first)), last)
    with ThreadPoolExecutor(workers) as threads, counted_cycles() as tell:
        for each in replayed(cycles, first=first, workers=workers, run_workers=threads.map):
            report.take(each)
            if verify:
                report.vetoes = [*(report.vetoes or ()), *vetoes_of(each)]
            tell(report.cycles)
    report.gaps = history.gaps
    report.missing = sum(int(gap.attributes.get("cycles", "0")) for gap in history.gaps)
    return report


def _dump(segments: "list[Segment]", at: tuple[int, int], file: Path) -> None:
    from bigfleet.fleetfile import dump_fleet
    from bigfleet.journal.fleets import fleet_of
    from bigfleet.journal.history import cycle_at

    found = cycle_at(segments, at)
    if found is None:
        raise not_recorded(at, segments)
    file.write_bytes(dump_fleet(fleet_of(found.recorded.given, found.header), file.name))
    click.echo(f"{file}: the fleet of cycle {found.name}")


def _redact(segments: "list[Segment]", directory: Path, workers: int) -> None:
    from bigfleet.journal.frames import frame_of
    from bigfleet.journal.redaction import Redactor, renamed_digests, renaming_of
    from bigfleet.journal.segments import records_in_order, records_of
    from bigfleet.wire.journal_records import record_bytes

    if directory.exists():
        raise refuse([f"{directory} exists; name a directory that does not"])
    renaming = renaming_of(records_in_order(segments))
    with ThreadPoolExecutor(workers) as threads:
        records = records_in_order(segments)
        digests = dict(renamed_digests(records, renaming, workers=workers, run_workers=threads.map))
    redactor = Redactor(renaming, digests)
    try:
        directory.mkdir(parents=True)
        for segment in segments:
            with (directory / segment.path.name).open("wb") as file:
                for record in records_of(segment.path, last=segment is segments[-1]):
                    file.write(frame_of(record_bytes(redactor.renamed(record))))
    except OSError as problem:
        raise refuse([f"{directory} cannot be written: {problem.strerror}"]) from None
    files = f"{len(segments)} file{'' if len(segments) == 1 else 's'}"
    click.echo(f"{directory}: {files} under other names")
    click.echo(f"To see that they decide the same: bigfleet replay {directory}")


def _print(report: _Report) -> None:
    from bigfleet.cli.tables import write_json

    if current_output().is_document:
        write_json(_document(report), time.time_ns())
        return
    span = f"{report.first[0]}:{report.first[1]} to {report.last[0]}:{report.last[1]}"
    same = report.cycles - report.different
    click.echo(f"{same:,} of {report.cycles:,} cycles identical, {span}")
    for gap in report.gaps:
        click.echo(escaped(f"gap: {gap.text}"))
    if report.first_difference is not None:
        _print_difference(report.first_difference)
    if report.vetoes is not None:
        click.echo(f"verified: {len(report.vetoes):,} actions break an invariant")
        for said in report.vetoes[:_MOST_ACTIONS]:
            click.echo(escaped(f"  {said}"))


def _print_difference(each: "Replayed") -> None:
    document = _difference_document(each)
    click.echo(f"first difference: cycle {document['cycle']}")
    for title, name in (("decided then", "recorded"), ("decided now", "replayed")):
        actions = document[name]
        click.echo(f"  {title}: {len(actions)} actions")
        for action in actions[:_MOST_ACTIONS]:
            click.echo(escaped(f"    {action['kind']} {action['machine']} {action['cluster']}"))
        if len(actions) > _MOST_ACTIONS:
            click.echo(f"    and {len(actions) - _MOST_ACTIONS} more; -o json shows all")


def _document(report: _Report) -> dict[str, Any]:
    different = report.first_difference
    return {
        "cycles": report.cycles,
        "identical": report.cycles - report.different,
        "different": report.different,
        "missing": report.missing,
        **({} if report.vetoes is None else {"vetoes": report.vetoes}),
        "first": f"{report.first[0]}:{report.first[1]}",
        "last": f"{report.last[0]}:{report.last[1]}",
        "gaps": [{"text": gap.text, **gap.attributes} for gap in report.gaps],
        "firstDifference": None if different is None else _difference_document(different),
    }


def _difference_document(each: "Replayed") -> dict[str, Any]:
    output = each.recorded.output
    recorded = () if output is None else output.actions
    return {
        "cycle": f"{each.recorded.epoch}:{each.recorded.given.cycle}",
        "sameActions": each.same_actions,
        "sameClaims": each.same_claims,
        "recorded": [_action_document(action) for action in recorded],
        "replayed": [_action_document(action) for action in each.decision.actions],
    }


def _action_document(action: Any) -> dict[str, Any]:
    return {"kind": action.kind.label, "machine": action.machine, "cluster": action.cluster}
