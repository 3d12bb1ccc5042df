"""`bigfleet reports cost`: what the fleet costs per hour, and who pays."""

from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.output import Output, current_output, set_output, shows
from bigfleet.cli.sources import Source, takes_source
from bigfleet.cli.terminal import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bigfleet.cli.listings import Column
    from bigfleet.model.costs import Amounts, CostReport, CostRow, RedFlag
    from bigfleet.model.figures import CostAxis

AXES = ("cluster", "team", "type", "zone", "capacity", "priority", "need")


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
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, as -o csv does.")
def cost(
    connection: Connection,
    source: Source,
    by: str,
    idle_share: str,
    as_csv: bool,
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

    \b
    Examples:
      bigfleet reports cost
      bigfleet reports cost --by team --idle-share use
      bigfleet reports cost --by capacity --fleet fleet.yaml
      bigfleet reports cost --journal data/journal --at 2026-03-14T03:00:10Z --csv
    """
    from bigfleet.model.figures import CostAxis

    if as_csv:
        set_output(Output("csv", current_output().sort_by, current_output().headers))
    axis = CostAxis(by)
    if source.is_live:
        raise refuse(["a live shard does not tell costs yet; name a --journal or a --fleet"])
    _write(connection, [_recorded(source, axis)], axis, idle_share == "use", {})


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
    text = "imputed prices and teams: unknown, a journal does not have the settings of its shard"
    return replace(report, unknown=(*report.unknown, text))


def _write(
    connection: Connection,
    reports: "Sequence[CostReport]",
    axis: "CostAxis",
    by_use: bool,
    head: dict[str, Any],
) -> None:
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.costs.reports import amounts_document, flag_document, row_document
    from bigfleet.model.costs import OWNED, merged, shared_by_use, sum_of

    rows = merged(reports)
    if by_use and axis in OWNED:
        rows = shared_by_use(rows)
    total = sum_of(report.total for report in reports)
    flags = [flag for report in reports for flag in report.flags]
    unknown = list(dict.fromkeys(text for report in reports for text in report.unknown))
    listing = Listing(
        columns=_columns(axis.value),
        rows=rows,
        document=lambda row: row_document(row, per_hour=True),
        name=lambda row: f"{axis.value}/{row.name}",
        head={
            "by": axis.value,
            "cycle": {report.shard_id or "-": report.cycle for report in reports},
            "total": amounts_document(total, per_hour=True),
            "redFlags": [flag_document(flag) for flag in flags],
            "unknown": unknown,
            **head,
        },
        empty="No machine costs anything: none has a host.",
        headline=_headline(reports, total),
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
        return f"{amount:.6f}" if plain else f"${amount:,.2f}"

    def count(amount: float) -> str:
        return f"{amount:.4f}".rstrip("0").rstrip(".") if plain else f"{amount:,.0f}"

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
