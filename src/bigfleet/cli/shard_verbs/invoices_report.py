"""`bigfleet reports invoices`: what taking machines was declared to cost, and who caused it."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bigfleet.cli.connections import Clients, Connection, shard_verb
from bigfleet.cli.output import Output, current_output, set_output, shows
from bigfleet.cli.sources import Source, named_cycle, not_recorded, read_journal, takes_source
from bigfleet.cli.terminal import refuse
from bigfleet.cli.whole_fleet import ask_fleet

if TYPE_CHECKING:
    from bigfleet.cli.listings import Column
    from bigfleet.model.machines import Instant
    from bigfleet.model.statements import InvoiceCall, InvoiceLine, Invoices, Statement

    Row = tuple[str, Statement]

EXIT_PARTIAL = 5
_UNKNOWN = "unknown"
_NAMES = ("MONTH", "CLUSTER", "TEAM", "CAUSED", "BORNE", "NET", "OWN", "COUNT", "PINNED", "UNKNOWN")
_STATEMENT_NAMES = (
    *("STATEMENT", "COMPLETED", "KIND", "MACHINE", "FROM", "TO", "DECLARED", "INTERRUPTION"),
    *("RECLAMATION", "DRAIN", "DRAIN_VALUE", "GRACE", "EXTRA", "EXTRA/H", "CAUSED_BY", "SHARD"),
    *("NEXT_BEST",),
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class DayOrTime(click.ParamType["Instant"]):
    """`2026-03-14`, at midnight in UTC, or `2026-03-14T03:00:00Z`."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> "Instant":
        from bigfleet.model.instants import instant_of

        text = str(value)
        found = instant_of(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text)
        if found is None:
            said = f"{value!r} is not a time; write 2026-03-14 or 2026-03-14T03:00:00Z"
            self.fail(said, param, ctx)
        return found


class Team(click.ParamType[tuple[str, str]]):
    name = "cluster=team"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        cluster, equals, team = str(value).partition("=")
        if not (cluster and equals and team):
            self.fail(f"{value!r} names no team; write CLUSTER=TEAM, such as shop=retail")
        return cluster, team


@click.command("invoices", short_help="What taken machines were declared to cost.")
@shard_verb
@shows(lambda: [*_NAMES, *_STATEMENT_NAMES])
@takes_source
@click.option(
    "--by",
    type=click.Choice(["cluster", "team"]),
    default="cluster",
    show_default=True,
    help="Whose months are added up.",
)
@click.option(
    "--team",
    "teams",
    type=Team(),
    multiple=True,
    metavar="CLUSTER=TEAM",
    help="With --by team: a cluster of a team, beside costs.teams. May be repeated.",
)
@click.option("--month", metavar="YYYY-MM", help="Only this month, in UTC: 2026-03.")
@click.option("--from", "since", type=DayOrTime(), help="Only what was complete from then on.")
@click.option("--to", "until", type=DayOrTime(), help="Only what was complete before.")
@click.option("--statements", "one_by_one", is_flag=True, help="One row for each statement.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, as -o csv does.")
def invoices(
    connection: Connection,
    source: Source,
    by: str,
    teams: tuple[tuple[str, str], ...],
    month: str | None,
    since: "Instant | None",
    until: "Instant | None",
    one_by_one: bool,
    as_csv: bool,
) -> None:
    """What taking machines was declared to cost: each completed Preempt or Reclaim is a statement.

    \b
    CAUSED   declared dollars of machines that were taken for it
    BORNE    declared dollars of machines that were taken from it
    NET      caused less borne: above 0 it took more than was taken from it
    COUNT    statements that it caused or bore
    PINNED   those of workloads that forbid it: they have no amount
    UNKNOWN  those whose amount is not known

    \b
    With --statements: what was declared, how long the machine drained and what it cost meanwhile
    (DRAIN_VALUE, billed), and what would have been done had it not been there (NEXT_BEST).

    Declared dollars are penalties of workloads. They are never billed, so there are no columns of a
    billing format; bigfleet reports cost tells prices. A Reclaim is caused and borne by the same
    cluster: its own demand fell. Months are in UTC. Missing cycles are named, and it is exit 5.

    \b
    Examples:
      bigfleet reports invoices --month 2026-03
      bigfleet reports invoices --by team --team shop=retail --team ml=research
      bigfleet reports invoices --statements --from 2026-03-14 --csv > statements.csv
      bigfleet reports invoices --journal data/journal --statements -o json
    """
    from bigfleet.model.statements import InvoiceCall, span_of_month

    if as_csv:
        set_output(Output("csv", current_output().sort_by, current_output().headers))
    if source.fleet is not None:
        raise refuse(["--fleet: a fleet file has no history; name a --journal or a live shard"])
    if month is not None and (since is not None or until is not None):
        raise refuse(["--month and --from or --to: name a month, or a time"])
    if teams and by != "team":
        raise refuse(["--team: only --by team adds up teams"])
    call = InvoiceCall(since or 0, until or 0)
    if month is not None:
        span = span_of_month(month)
        if span is None:
            raise refuse([f"--month: {month!r} is not a month; write 2026-03"])
        call = InvoiceCall(*span)
    if call.until and call.since >= call.until:
        raise refuse(["--from: must be before --to"])
    if not source.is_live:
        told = _recorded(source, call)
        _write(connection, told, by, dict(teams), one_by_one=one_by_one)
        _leave_with_gaps(told)
        return
    if source.at is not None:
        raise refuse(["--at: a live shard tells statements by time; write --to, or a --journal"])
    answers = ask_fleet(connection, lambda shard: _whole_answer(shard, call, one_by_one))
    told = Told(answers.said, answers.document())
    _write(connection, told, by, dict(teams), one_by_one=one_by_one)
    answers.leave_partial(connection)
    _leave_with_gaps(told)


class Told(NamedTuple):
    #: By shard.
    invoices: "dict[str, Invoices]"
    head: dict[str, Any]
    headline: str = ""


async def _whole_answer(shard: Clients, call: "InvoiceCall", one_by_one: bool) -> "Invoices":
    """Every statement of the range, where they are shown one by one."""
    from dataclasses import replace

    first = await shard.admin.invoices(replace(call, limit=0 if one_by_one else -1))
    statements, following = first.statements, first.next
    while following:
        more = await shard.admin.invoices(replace(call, before=following))
        statements, following = (*statements, *more.statements), more.next
    return replace(first, statements=statements, next=0)


def _recorded(source: Source, call: "InvoiceCall") -> Told:
    from bigfleet.cli.progress import compile_all
    from bigfleet.costs.recorded_statements import invoices_of
    from bigfleet.journal.history import LATEST
    from bigfleet.model.instants import instant_text

    assert source.journal is not None, "the other sources were refused"
    compile_all()
    with read_journal(source.journal) as segments:
        wanted = named_cycle(source.at, segments, LATEST)
        found = invoices_of(segments, call, wanted)
    if found is None:
        raise not_recorded(wanted, segments)
    began, ended = instant_text(found.began_at), instant_text(found.ended_at)
    headline = f"Declared dollars of {found.shard}, from {began} to {ended} as its journal has it."
    head = {"cycle": found.cycle, "from": began, "to": ended}
    return Told({found.shard: found.invoices}, head, headline)


def _write(
    connection: Connection, told: Told, by: str, teams: dict[str, str], *, one_by_one: bool
) -> None:
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.costs.invoices import invoice_lines, line_document
    from bigfleet.wire.statements import STATEMENT, STATEMENT_GAP

    known = {c: t for each in told.invoices.values() for c, t in each.team_of_cluster} | teams
    if by == "team" and not known:
        raise refuse(["--by team: no team is known; set costs.teams, or write --team shop=retail"])
    parts = [part for each in told.invoices.values() for part in each.parts]
    lines = invoice_lines(parts, known if by == "team" else None)
    rows = [(shard, made) for shard, each in told.invoices.items() for made in each.statements]
    rows.sort(key=lambda row: (-row[1].completed_at, row[1].id))
    gaps = {
        shard: [STATEMENT_GAP.document(gap) for gap in each.gaps]
        for shard, each in told.invoices.items()
    }
    head = {"by": by, "declared": True, "gaps": gaps, **told.head}
    notes = ["Declared dollars are penalties, never billed."]
    if one_by_one:
        statements = Listing(
            columns=_statement_columns(),
            rows=rows,
            document=lambda row: {**STATEMENT.document(row[1]), "shardId": row[0]},
            name=lambda row: f"statement/{row[1].id}",
            head=head,
            empty="No machine was taken: there is no statement.",
            headline=told.headline,
            notes=notes,
        )
        write_listing(connection, statements)
        return
    months = Listing(
        columns=_columns(by),
        rows=lines,
        document=lambda line: line_document(line, by),
        name=lambda line: f"{by}/{line.name or _UNKNOWN}/{line.month}",
        head=head,
        empty="No machine was taken: there is no statement.",
        headline=told.headline,
        notes=notes,
    )
    write_listing(connection, months)


def _leave_with_gaps(told: Told) -> None:
    gaps = [f"{shard}: {gap.text}" for shard, each in told.invoices.items() for gap in each.gaps]
    gaps += [f"{shard}: {each.trouble}" for shard, each in told.invoices.items() if each.trouble]
    if gaps:
        click.echo(f"statements may be missing: {'; '.join(gaps[:_MOST_GAPS])}", err=True)
        raise click.exceptions.Exit(EXIT_PARTIAL)


_MOST_GAPS = 5


def _columns(by: str) -> "list[Column[InvoiceLine]]":
    from bigfleet.cli.listings import Column

    return [
        Column("MONTH", lambda line: line.month),
        Column(by.upper(), lambda line: line.name or _UNKNOWN),
        Column("CAUSED", lambda line: _dollars(line.caused), True, sort=lambda e: e.caused),
        Column("BORNE", lambda line: _dollars(line.borne), True, sort=lambda e: e.borne),
        Column("NET", lambda line: _dollars(line.net), True, sort=lambda e: e.net),
        Column("OWN", lambda line: _dollars(line.own), True, wide=True, sort=lambda e: e.own),
        Column("COUNT", lambda line: line.count, number=True),
        Column("PINNED", lambda line: line.pinned, number=True),
        Column("UNKNOWN", lambda line: line.unknown, number=True),
    ]


def _statement_columns() -> "list[Column[Row]]":
    from bigfleet.cli.listings import Column
    from bigfleet.model.instants import instant_text
    from bigfleet.model.needs import NeedKey

    def need(key: "NeedKey | None", otherwise: str) -> str:
        if key is None:
            return otherwise
        return f"need/{key.cluster}/{key.need_id}" if key.fingerprint else f"cluster/{key.cluster}"

    def taker(row: "Row") -> str:
        return need(row[1].to_need, "-" if row[1].caused_by else _UNKNOWN)

    return [
        Column("STATEMENT", lambda row: row[1].id),
        Column("COMPLETED", lambda row: instant_text(row[1].completed_at)),
        Column("KIND", lambda row: row[1].kind.label),
        Column("MACHINE", lambda row: row[1].machine, wide=True),
        Column("FROM", lambda row: need(row[1].from_need, _UNKNOWN)),
        Column("TO", taker),
        Column("DECLARED", lambda row: _known(row[1].declared), True, sort=_declared),
        Column("INTERRUPTION", lambda row: _known(row[1].interruption_penalty), True, wide=True),
        Column("RECLAMATION", lambda row: _known(row[1].reclamation_penalty), True, wide=True),
        Column("DRAIN", lambda row: _seconds(row[1].drain_seconds), number=True),
        Column("DRAIN_VALUE", lambda row: _known(row[1].drain_value), number=True),
        Column("GRACE", lambda row: _seconds(row[1].grace_seconds), number=True, wide=True),
        Column("EXTRA", lambda row: _extra(row[1].next_best.extra_dollars), True, wide=True),
        Column(
            "EXTRA/H", lambda row: _extra(row[1].next_best.extra_dollars_per_hour), True, wide=True
        ),
        Column("CAUSED_BY", lambda row: " ".join(row[1].chain), wide=True),
        Column("SHARD", lambda row: row[0], wide=True),
        Column("NEXT_BEST", lambda row: row[1].next_best.text or row[1].unknown, sentence=True),
    ]


def _declared(row: "Row") -> float:
    return -1.0 if row[1].declared is None else row[1].declared


def _dollars(amount: float) -> str:
    """In CSV the number alone, which programs add up."""
    from bigfleet.model.reasons import dollars_text, number_text

    if current_output().format == "csv":
        return number_text(amount)
    return f"-{dollars_text(-amount)}" if amount < 0 else dollars_text(amount)


def _known(amount: float | None) -> str:
    if amount is None:
        return _UNKNOWN
    return "pinned" if amount == float("inf") else _dollars(amount)


def _extra(amount: float | None) -> str:
    return "" if amount is None else _dollars(amount)


def _seconds(seconds: float | None) -> str:
    from bigfleet.model.durations import short_text
    from bigfleet.model.reasons import number_text

    if seconds is None:
        return _UNKNOWN
    return number_text(seconds) if current_output().format == "csv" else short_text(round(seconds))
