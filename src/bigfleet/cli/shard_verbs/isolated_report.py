"""`bigfleet reports isolated`: what one pool saves against one pool for each cluster."""

from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.output import shows
from bigfleet.cli.sources import (
    EXIT_NOT_FOUND,
    CycleOrTime,
    Source,
    cycle_named,
    first_cycle_named,
    kept_span,
    read_journal,
    takes_source,
)
from bigfleet.cli.terminal import refuse, refuse_problems
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.cli.listings import Column
    from bigfleet.cli.whole_fleet import FleetAnswers
    from bigfleet.costs.isolated_totals import Row
    from bigfleet.model.isolated import IsolatedCall, IsolatedReport

    Shown = tuple[str, Row]

EXIT_PARTIAL = 5


@click.command("isolated", short_help="What one pool saves against a pool per cluster.")
@shard_verb
@shows(lambda: [column.name for column in _columns()])
@takes_source
@click.option(
    "--from",
    "first",
    type=CycleOrTime(),
    help="From a time on: 2026-03-14T03:00:10Z; of a --journal also a cycle: 18231 or 3:18231.",
)
@click.option(
    "--split",
    default="peak",
    show_default=True,
    metavar="SHARE",
    help="Divide committed machines by peak demand, by mean demand, or by what each cluster "
    "actual(ly) had.",
)
@click.option(
    "--headroom",
    type=float,
    default=0.0,
    show_default=True,
    metavar="PART",
    help="What every isolated pool keeps on top of its demand; 0.1 is 10 %.",
)
def isolated(
    connection: Connection,
    source: Source,
    first: tuple[int | None, int] | int | None,
    split: str,
    headroom: float,
) -> None:
    """What one pool for all clusters saves against one pool, and one autoscaler, for each of them.

    The demand of a journal is run twice with the same engine, prices, offerings, back-offs and step
    times: with all machines in one pool, and with a pool per cluster. Committed machines (bare
    metal, reserved) are divided; on-demand and spot slots are there for every cluster. The
    difference has an interval of 95 % where 24 hours or more were observed. Time without records
    counts for neither side, and is named.

    A live shard runs the newest part of its journal, or all from a time on (--from), beside its
    cycles, one question at a time and for 50 seconds at most. A journal (--journal) is run whole,
    up to its last cycle or up to the cycle --at, which takes a while for a day.

    \b
    Exit codes: 0 all that was asked for is compared, 2 bad usage, 3 no shard answers or there is no
    such cycle, 5 cycles are missing in between or the time was up.

    \b
    Examples:
      bigfleet reports isolated
      bigfleet reports isolated --journal data/journal
      bigfleet reports isolated --journal data/journal --from 2026-03-14T00:00:00Z --split mean
      bigfleet reports isolated --journal data/journal --headroom 0.1 -o json
    """
    from bigfleet.model.isolated import call_of

    if source.fleet is not None:
        raise refuse(["--fleet: a fleet file is one instant, and costs take time; name --journal"])
    try:
        asked = call_of(split, headroom)
    except BadInput as problem:
        raise refuse_problems(problem) from None
    answers = (
        _live(connection, source, first, asked)
        if source.is_live
        else _recorded(source, first, asked)
    )
    _write(connection, answers)


def _recorded(
    source: Source, first: tuple[int | None, int] | int | None, asked: "IsolatedCall"
) -> "FleetAnswers[IsolatedReport]":
    from bigfleet.cli.progress import compile_all, counted_cycles
    from bigfleet.cli.whole_fleet import FleetAnswers
    from bigfleet.costs.isolated import isolated_report
    from bigfleet.costs.isolated_reading import JournalReading, NothingToCompare
    from bigfleet.journal.history import LATEST

    assert source.journal is not None, "the other sources were refused"
    compile_all()
    with read_journal(source.journal) as segments:
        reading = JournalReading(
            segments,
            first_cycle_named(first, segments),
            cycle_named(source.at, segments, LATEST),
        )
        try:
            with counted_cycles() as tell:
                report = isolated_report(reading, asked, each_cycle=tell)
        except NothingToCompare as problem:
            click.echo(f"{problem}; the journal has {kept_span(segments)}", err=True)
            raise click.exceptions.Exit(EXIT_NOT_FOUND) from None
    return FleetAnswers({reading.shard: report}, {}, {})


def _live(
    connection: Connection,
    source: Source,
    first: tuple[int | None, int] | int | None,
    asked: "IsolatedCall",
) -> "FleetAnswers[IsolatedReport]":
    from dataclasses import replace

    from bigfleet.cli.whole_fleet import ask_fleet
    from bigfleet.wire.shard_admin import WHAT_IF_DEADLINE

    if source.at is not None:
        raise refuse(["--at: a live shard compares up to now; name a --journal as well"])
    if isinstance(first, tuple):
        text = "each shard counts its own cycles; write a time, or name a --journal as well"
        raise refuse([f"--from: {text}"])
    call = replace(asked, since=first or 0)
    return ask_fleet(connection, lambda shard: shard.admin.isolated(call), WHAT_IF_DEADLINE)


def _write(connection: Connection, answers: "FleetAnswers[IsolatedReport]") -> None:
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.costs.isolated_totals import rows_of, totals_document, verdict_text
    from bigfleet.wire.isolated import ISOLATED_REPORT

    reports = answers.said
    documents = [
        {"shardId": shard, "report": ISOLATED_REPORT.document(each), **totals_document(each)}
        for shard, each in reports.items()
    ]
    listing = Listing(
        columns=_columns(),
        rows=[(shard, row) for shard, each in reports.items() for row in rows_of(each)],
        document=lambda row: {**row[1].document(), "shardId": row[0]},
        name=lambda row: row[1].name,
        head={"reports": documents, **answers.document()},
        headline=" ".join(map(verdict_text, reports.values())) if len(reports) == 1 else "",
        notes=_notes(reports),
    )
    write_listing(connection, listing)
    answers.leave_partial(connection)
    missing = [
        f"{shard}: {text}"
        for shard, each in reports.items()
        for text in (*each.gaps, *([each.cut_short] if each.cut_short else []))
    ]
    for text in missing:
        click.echo(text, err=True)
    if missing:
        raise click.exceptions.Exit(EXIT_PARTIAL)


def _notes(reports: "dict[str, IsolatedReport]") -> list[str]:
    from bigfleet.costs.isolated_totals import (
        assumptions_of,
        span_text,
        verdict_text,
        why_no_interval,
    )

    notes: list[str] = []
    for shard, report in reports.items():
        of = f" of {shard}" if len(reports) > 1 else ""
        if of:
            notes.append(f"{shard}: {verdict_text(report)}")
        notes.append(span_text(report))
        if why := why_no_interval(report):
            notes.append(why)
        notes.append(f"Isolated pools{of}:")
        notes.extend(
            f"  {each.cluster}: {each.committed_machines:,} committed machines "
            f"({each.share:.0%}), ${each.measures.dollars:,.2f}"
            for each in report.clusters
        )
        notes.append(f"Assumed{of}:")
        notes.extend(f"  {text}" for text in assumptions_of(report))
    return notes


def _columns() -> "list[Column[Shown]]":
    from bigfleet.cli.listings import Column

    def interval(row: "Shown") -> str:
        if (known := row[1].interval) is None:
            return "-"
        return f"{_amount(known[0])} to {_amount(known[1])}"

    def number(of: Any) -> Any:
        return lambda row: _amount(of(row[1]))

    return [
        Column("MEASURE", lambda row: row[1].name),
        Column("ONE_POOL", number(lambda row: row.pooled), number=True),
        Column("ISOLATED", number(lambda row: row.isolated), number=True),
        Column("DIFFERENCE", number(lambda row: row.difference), number=True),
        Column("INTERVAL_95", interval),
        Column("UNIT", lambda row: row[1].unit or "-"),
        Column("SHARD", lambda row: row[0]),
    ]


def _amount(amount: float) -> str:
    return f"{amount:,.0f}" if float(amount).is_integer() else f"{amount:,.2f}"
