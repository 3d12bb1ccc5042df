"""`bigfleet reports cost`: what the fleet costs per hour, and who pays."""

from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.output import Output, current_output, set_output, shows
from bigfleet.cli.shard_verbs.invoices_report import DayOrTime
from bigfleet.cli.sources import Source, read_journal, takes_source
from bigfleet.cli.terminal import refuse
from bigfleet.cli.whole_fleet import ask_fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bigfleet.cli.listings import Column
    from bigfleet.model.costs import Amounts, CostCall, CostReport, CostRow, RedFlag
    from bigfleet.model.figures import CostAxis
    from bigfleet.model.machines import Instant

AXES = ("cluster", "team", "type", "zone", "capacity", "priority", "need")
EXIT_PARTIAL = 5
_NO_SETTINGS = (
    "imputed prices and teams: unknown, a journal does not have the settings of its shard"
)


class Since(click.ParamType["Instant | float"]):
    """A day, a time, or how long ago: `24h`."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> "Instant | float":
        from bigfleet.model.durations import seconds_of

        seconds = seconds_of(str(value))
        return seconds if seconds is not None else DayOrTime().convert(value, param, ctx)


@click.command("cost", short_help="What the fleet costs per hour, and who pays.")
@shard_verb
@shows(lambda: [column.name for column in _columns("cluster")])
@takes_source
@click.option(
    "--by",
    type=click.Choice(AXES),
    default="cluster",
    show_default=True,
    help="What costs are told by.",
)
@click.option(
    "--idle-share",
    type=click.Choice(["apart", "use"]),
    default="apart",
    show_default=True,
    help="use: divide the bill of machines that no cluster has among those that have machines.",
)
@click.option("--from", "since", type=Since(), help="Add up hours from then on, in UTC; or 24h.")
@click.option("--to", "until", type=Since(), help="Add up hours before; now unless said.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, as -o csv does.")
@click.option("--focus", is_flag=True, help="Print each hour as CSV in the columns of FOCUS 1.0.")
def cost(
    connection: Connection,
    source: Source,
    by: str,
    idle_share: str,
    since: "Instant | float | None",
    until: "Instant | float | None",
    as_csv: bool,
    focus: bool,
) -> None:
    """What the fleet costs per hour, and who pays: of all shards, or of those --shard names.

    \b
    BILLED        the prices of machines with a host and of those being created
    IMPUTED       what machines with the price 0 would cost by costs.imputed; in no other number
    INTERRUPTION  declared: probability times penalty of machines that serve, not billed
    WASTE         of the bill, what claimed machines leave unused in the dimension that fills first
    IDLE          of the bill, Idle machines that may be taken
    STRANDED      of the bill, machines that are Failed, held or claimed by no Need

    The row "shared idle" has the machines that no cluster has. The rows add up to the total.

    With --from: dollars and machine-hours of whole hours, from the ledger that each shard keeps for
    400 days, or from a journal. Hours that were not observed are named and not filled, and it is
    exit 5.

    \b
    Examples:
      bigfleet reports cost
      bigfleet reports cost --by team --from 2026-03-01 --to 2026-04-01 --csv > march.csv
      bigfleet reports cost --from 24h --focus > focus.csv
      bigfleet reports cost --by team --idle-share use
      bigfleet reports cost --by capacity --fleet fleet.yaml
      bigfleet reports cost --journal data/journal --from 2026-03-14
      bigfleet reports cost --journal data/journal --at 2026-03-14T03:00:10Z --csv
    """
    from bigfleet.model.figures import CostAxis

    if as_csv:
        set_output(Output("csv", current_output().sort_by, current_output().headers))
    axis = CostAxis(by)
    by_use = idle_share == "use"
    if since is None and (until is not None or focus):
        raise refuse(["--from: say since when, such as --from 24h or --from 2026-03-01"])
    if not source.is_live:
        if since is None:
            _write(connection, [_recorded(source, axis)], axis, by_use, {})
            return
        report = _recorded_hours(source, axis, since, until, focus=focus)
        _show(connection, {report.shard_id: report}, axis, by_use, {}, focus=focus)
        _leave_unobserved({report.shard_id: report})
        return
    if source.at is not None:
        raise refuse(["--at: the past is in the journal; add --journal DIR"])
    call = _call(axis, since, until, connection.now, focus=focus)
    answers = ask_fleet(connection, lambda shard: shard.admin.costs(call))
    _show(connection, answers.said, axis, by_use, answers.document(), focus=focus)
    answers.leave_partial(connection)
    _leave_unobserved(answers.said)


def _show(
    connection: Connection,
    said: "Mapping[str, CostReport]",
    axis: "CostAxis",
    by_use: bool,
    head: dict[str, Any],
    *,
    focus: bool,
) -> None:
    if not focus:
        _write(connection, list(said.values()), axis, by_use, head)
        return
    from bigfleet.cli.terminal import write_out
    from bigfleet.costs.focus import focus_csv

    write_out(focus_csv({shard: report.charges for shard, report in said.items()}).encode())


def _call(
    axis: "CostAxis",
    since: "Instant | float | None",
    until: "Instant | float | None",
    now: "Instant",
    *,
    focus: bool,
) -> "CostCall":
    from bigfleet.model.costs import CostCall
    from bigfleet.model.options import SECOND

    def instant(said: "Instant | float") -> "Instant":
        return now - round(said * SECOND) if isinstance(said, float) else said

    if since is None:
        return CostCall(axis)
    begins, ends = instant(since), now if until is None else instant(until)
    if begins >= ends:
        raise refuse(["--from: is not before --to"])
    return CostCall(axis, begins, ends, charges=focus)


def _leave_unobserved(said: "Mapping[str, CostReport]") -> None:
    """Leaves with 5 where hours are missing in what was shown."""
    missing = {
        shard: report.period.unobserved_count
        for shard, report in said.items()
        if report.period is not None and report.period.unobserved_count
    }
    for shard, hours in missing.items():
        what = "hour was" if hours == 1 else "hours were"
        click.echo(f"{shard}: {hours} {what} not observed, and nothing is added for them", err=True)
    if missing:
        raise click.exceptions.Exit(EXIT_PARTIAL)


def _recorded(source: Source, axis: "CostAxis") -> "CostReport":
    from dataclasses import replace

    from bigfleet.cli.why_not import decided_again
    from bigfleet.costs.reports import report_of
    from bigfleet.model.fleet import Costs

    asked = source.read()
    report = report_of(
        asked.given,
        decided_again(asked).decision,
        axis,
        asked.costs or Costs(),
        shard=asked.shard,
        cycle=asked.name,
    )
    if asked.costs is not None:
        return report
    return replace(report, unknown=(*report.unknown, _NO_SETTINGS))


def _recorded_hours(
    source: Source,
    axis: "CostAxis",
    since: "Instant | float",
    until: "Instant | float | None",
    *,
    focus: bool,
) -> "CostReport":
    """Of a journal, as the ledger of its shard would tell them."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from bigfleet.costs.recorded_hours import end_of, hours_of
    from bigfleet.model.costs import CostReport
    from bigfleet.model.fleet import Costs
    from bigfleet.shard.cost_file import CostFile, whole_hours

    if source.journal is None:
        raise refuse(["--from: a fleet file is one moment; name a --journal or a live shard"])
    if source.at is not None:
        raise refuse(["--at: is one cycle, --from begins many; leave one of them out"])
    with read_journal(source.journal) as segments:
        end = end_of(segments)
        call = whole_hours(_call(axis, since, until, end, focus=focus), end + 1)
        found = hours_of(segments, call.begins, call.ends, Costs())
    if found is None:
        raise refuse(["--from: no cycle is recorded then; see bigfleet replay"])
    with TemporaryDirectory() as folder:
        file = CostFile(Path(folder, "costs.db"))
        file.add(found.hours)
        rows, total = file.rows(call, {})
        period = file.period(call.begins, call.ends, call.ends)
        charges = file.charges(call.begins, call.ends) if focus else ()
        file.close()
    missing = tuple(f"not observed: {gap}" for gap in found.gaps)
    unknown = (*missing, _NO_SETTINGS)
    return CostReport(
        found.shard, found.cycle, end, axis, rows, total, (), unknown, period, charges
    )


def _write(
    connection: Connection,
    reports: "Sequence[CostReport]",
    axis: "CostAxis",
    by_use: bool,
    head: dict[str, Any],
) -> None:
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.costs.documents import amounts_document, flag_document, row_document
    from bigfleet.model.costs import OWNED, merged, shared_by_use, sum_of

    per_hour = all(report.period is None for report in reports)
    rows = merged(reports)
    if by_use and axis in OWNED:
        rows = shared_by_use(rows)
    total = sum_of(report.total for report in reports)
    flags = [flag for report in reports for flag in report.flags]
    unknown = list(dict.fromkeys(text for report in reports for text in report.unknown))
    listing = Listing(
        columns=_columns(axis.value),
        rows=rows,
        document=lambda row: row_document(row, per_hour=per_hour),
        name=lambda row: f"{axis.value}/{row.name}",
        head={
            "by": axis.value,
            "cycle": {report.shard_id or "-": report.cycle for report in reports},
            "total": amounts_document(total, per_hour=per_hour),
            "redFlags": [flag_document(flag) for flag in flags],
            "unknown": unknown,
            **({} if per_hour else {"periods": _periods(reports)}),
            **head,
        },
        empty="No machine costs anything: none has a host.",
        headline=_headline(reports, total) if per_hour else _hours_headline(reports, total),
        notes=_notes(flags, unknown),
    )
    write_listing(connection, listing)


def _headline(reports: "Sequence[CostReport]", total: "Amounts") -> str:
    """What all of it costs, and what of that serves no Need."""
    cycles = ", ".join(f"{each.shard_id} {each.cycle}".strip() for each in reports)
    priced = total.machines - total.committed
    text = f"{_machines(priced)} cost{'s' if priced == 1 else ''} ${total.billed:,.2f}/h"
    if total.committed:
        text += f", {_machines(total.committed)} more at the price 0"
    wasted = f"Idle ${total.idle:,.2f}, stranded ${total.stranded:,.2f}, waste ${total.waste:,.2f}."
    return f"{text}, in cycle {cycles}. {wasted}"


def _periods(reports: "Sequence[CostReport]") -> dict[str, Any]:
    from bigfleet.costs.documents import period_document

    return {
        report.shard_id: period_document(report.period)
        for report in reports
        if report.period is not None
    }


def _hours_headline(reports: "Sequence[CostReport]", total: "Amounts") -> str:
    from bigfleet.model.instants import instant_text

    periods = [report.period for report in reports if report.period is not None]
    begins = instant_text(min(period.begins for period in periods))
    ends = instant_text(max(period.ends for period in periods))
    observed = sum(period.observed_seconds for period in periods) / 3600
    partial = sum(period.partial_count for period in periods)
    cut = f", {partial} of the hours only in part" if partial else ""
    return (
        f"From {begins} to {ends} {total.machines:,.1f} machine-hours cost ${total.billed:,.2f}; "
        f"{observed:,.1f} hours were observed{cut}. Idle ${total.idle:,.2f}, "
        f"stranded ${total.stranded:,.2f}, waste ${total.waste:,.2f}."
    )


def _machines(count: float) -> str:
    return f"{count:,.0f} {'machine' if count == 1 else 'machines'}"


def _notes(flags: "Sequence[RedFlag]", unknown: "Sequence[str]") -> list[str]:
    found = [f"{flag.severity.value}: {flag.text}" for flag in flags]
    return [*found, *unknown]


def _columns(by: str) -> "list[Column[CostRow]]":
    from bigfleet.cli.listings import Column
    from bigfleet.model.costs import SHARED

    plain = current_output().format == "csv"
    owned = by in ("cluster", "team", "priority", "need")

    def name(row: "CostRow") -> str:
        return row.name if plain or row.name != SHARED else "shared idle" if owned else "none"

    def dollars(amount: float) -> str:
        if plain:
            return f"{amount:.6f}"
        return f"{'-' if amount < 0 else ''}${abs(amount):,.2f}"

    def count(amount: float) -> str:
        if plain:
            return f"{amount:.4f}".rstrip("0").rstrip(".")
        return f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.1f}"

    def column(
        heading: str, of: "Callable[[CostRow], float]", *, money: bool = True
    ) -> "Column[CostRow]":
        return Column(
            heading,
            lambda row: (dollars if money else count)(of(row)),
            number=True,
            sort=of,
        )

    return [
        Column(by.upper(), name),
        column("MACHINES", lambda row: row.amounts.machines, money=False),
        column("COMMITTED", lambda row: row.amounts.committed, money=False),
        column("BILLED", lambda row: row.amounts.billed),
        column("SHARED", lambda row: row.shared),
        column("IMPUTED", lambda row: row.amounts.imputed),
        column("INTERRUPTION", lambda row: row.amounts.interruption),
        column("PINNED", lambda row: row.amounts.pinned, money=False),
        column("WASTE", lambda row: row.amounts.waste),
        column("IDLE", lambda row: row.amounts.idle),
        column("STRANDED", lambda row: row.amounts.stranded),
    ]
