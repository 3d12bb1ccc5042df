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
    from collections.abc import Iterable

    from bigfleet.cli.listings import Column
    from bigfleet.costs.isolated_totals import Row
    from bigfleet.journal.history import History, RecordedCycle
    from bigfleet.journal.segments import Segment
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
    help="The first cycle of the journal: 18231, 3:18231, or from 2026-03-14T03:00:10Z on.",
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

    With --journal up to its last cycle, or up to the cycle --at.

    \b
    Exit codes: 0 all that was asked for is compared, 2 the journal cannot be read, 3 it has no such
    cycle, 5 cycles are missing in between.

    \b
    Examples:
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
    if source.is_live:
        raise refuse(["name a journal with --journal DIR"])
    shard, report = _recorded(source, first, asked)
    _write(connection, {shard: report})


def _recorded(
    source: Source, first: tuple[int | None, int] | int | None, asked: "IsolatedCall"
) -> "tuple[str, IsolatedReport]":
    from bigfleet.cli.progress import compile_all
    from bigfleet.costs.isolated import NothingToCompare, isolated_report
    from bigfleet.journal.history import LATEST

    assert source.journal is not None, "the other sources were refused"
    compile_all()
    with read_journal(source.journal) as segments:
        span = first_cycle_named(first, segments), cycle_named(source.at, segments, LATEST)
        reading = _Reading(segments, span)
        try:
            report = isolated_report(reading.read, asked)
        except NothingToCompare as problem:
            click.echo(f"{problem}; the journal has {kept_span(segments)}", err=True)
            raise click.exceptions.Exit(EXIT_NOT_FOUND) from None
    return reading.shard, report


class _Reading:
    """The cycles of a span, as often as they are asked for."""

    def __init__(
        self, segments: "list[Segment]", span: tuple[tuple[int, int], tuple[int, int]]
    ) -> None:
        self._segments = segments
        self._span = span
        self._history: History | None = None

    @property
    def shard(self) -> str:
        assert self._history is not None, "it was read"
        return self._history.header.shard_id

    def read(self) -> "tuple[History, Iterable[RecordedCycle]]":
        from bigfleet.journal.history import History
        from bigfleet.journal.other_engine import until
        from bigfleet.journal.segments import records_in_order

        first, last = self._span
        self._history = History(first)
        records = records_in_order(self._segments, first)
        return self._history, until(self._history.cycles(records), last)


def _write(connection: Connection, reports: "dict[str, IsolatedReport]") -> None:
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.costs.isolated_totals import rows_of, totals_document, verdict_text
    from bigfleet.wire.isolated import ISOLATED_REPORT

    documents = [
        {"shardId": shard, **ISOLATED_REPORT.document(each), **totals_document(each)}
        for shard, each in reports.items()
    ]
    listing = Listing(
        columns=_columns(),
        rows=[(shard, row) for shard, each in reports.items() for row in rows_of(each)],
        document=lambda row: {**row[1].document(), "shardId": row[0]},
        name=lambda row: row[1].name,
        head={"reports": documents},
        headline=" ".join(map(verdict_text, reports.values())) if len(reports) == 1 else "",
        notes=_notes(reports),
    )
    write_listing(connection, listing)
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
