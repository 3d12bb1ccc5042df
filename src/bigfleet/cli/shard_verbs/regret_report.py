"""`bigfleet reports regret`: how far the cost of a cycle is from its lower bound."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.output import shows
from bigfleet.cli.sources import Source, takes_source
from bigfleet.cli.terminal import plain, refuse
from bigfleet.cli.whole_fleet import FleetAnswers, ask_fleet

if TYPE_CHECKING:
    from bigfleet.cli.listings import Column
    from bigfleet.model.machines import Instant
    from bigfleet.model.regret import Regret, UncoveredDemand

    Row = tuple[str, Regret]

EXIT_PARTIAL = 5
#: Instance types with the largest part in the gap.
_MOST_TYPES = 5
#: A smaller part of a gap is rounding.
_LEAST_DOLLARS = 0.005


@click.command("regret", short_help="What a cycle costs, against the least it could.")
@shard_verb
@shows(lambda: [column.name for column in _columns(0)])
@takes_source
def regret(connection: Connection, source: Source) -> None:
    """What the machines of a cycle cost per hour, against a lower bound: no assignment of whole
    machines that covers as much demand of every priority costs less. The gap is the regret.

    Cost is effective cost: prices, and interruptions at the penalties that are declared. The bound
    may move any machine to any cluster, at once and for nothing, and knows no gangs and no spread,
    so a part of the gap cannot be had. UNCOVERED is what the cycle leaves short, and COULD_BE what
    would be left if coverage came before cost, the highest priority first.

    A live shard measures every minute, in a process of its own. A fleet file or a cycle of a
    journal is measured now, for 10 s at most. Exit 5: a measurement is missing, or ended early.

    \b
    Examples:
      bigfleet reports regret
      bigfleet reports regret --fleet fleet.yaml
      bigfleet reports regret --journal data/journal --at 3:18231
      bigfleet reports regret -o json | jq '.items[] | {shardId, gapPerHour, ratio}'
    """
    if not source.is_live:
        _write(connection, [_measured(source)], None)
        return
    if source.at is not None:
        raise refuse(["--at: a live shard tells its last measurement; name a --journal as well"])
    answers = ask_fleet(connection, lambda shard: shard.admin.regret())
    _write(connection, list(answers.said.items()), answers)


def _measured(source: Source) -> "Row":
    from bigfleet.cli.progress import compile_all
    from bigfleet.regret.meter import regret_of

    asked = source.read()
    compile_all()
    found = regret_of(asked.given.decide())
    return asked.shard or "-", replace(found, cycle=asked.given.cycle, at=asked.given.at)


def _write(
    connection: Connection, rows: "list[Row]", answers: "FleetAnswers[Regret] | None"
) -> None:
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.model.regret import RegretStatus
    from bigfleet.wire.regrets import REGRET

    head: dict[str, Any] = {} if answers is None else answers.document()
    listing = Listing(
        columns=_columns(connection.now),
        rows=rows,
        document=lambda row: {**REGRET.document(row[1]), "shardId": row[0]},
        name=lambda row: f"shard/{row[0]}",
        head=head,
        notes=[line for shard, each in rows for line in _notes(f"{shard}: ", each)]
        if len(rows) > 1
        else [line for _, each in rows for line in _notes("", each)],
    )
    write_listing(connection, listing)
    if answers is not None:
        answers.leave_partial(connection)
    partial = [(shard, each) for shard, each in rows if each.status is not RegretStatus.OPTIMAL]
    for shard, each in partial:
        click.echo(plain(f"{shard}: {each.reason}"), err=True)
    if partial:
        raise click.exceptions.Exit(EXIT_PARTIAL)


def _notes(of: str, found: "Regret") -> list[str]:
    from bigfleet.cli.tables import counted
    from bigfleet.model.reasons import dollars_text

    lines = []
    parts = [each for each in found.by_type if abs(each.gap_per_hour) >= _LEAST_DOLLARS]
    if found.gap_per_hour >= _LEAST_DOLLARS and parts:
        lines.append(f"{of}where the gap is, by instance type:")
        lines += [
            f"  {each.instance_type or '(no type)'}: {dollars_text(each.greedy_per_hour)}/h,"
            f" {dollars_text(each.bound_per_hour)}/h in the bound"
            for each in parts[:_MOST_TYPES]
        ]
    if found.pinned_machines:
        machines = counted(found.pinned_machines, "machine")
        lines.append(
            f"{of}{machines} may be interrupted and serve Needs that must not be: counted at "
            "their price alone"
        )
    return lines


def _columns(now: "Instant") -> "list[Column[Row]]":
    from bigfleet.cli.listings import Column
    from bigfleet.cli.tables import when_text
    from bigfleet.model.reasons import dollars_text
    from bigfleet.model.regret import RegretStatus

    def dollars(name: str, heading: str) -> "Column[Row]":
        def text(row: "Row") -> str:
            return dollars_text(getattr(row[1], name)) if row[1].is_measured else "unknown"

        return Column(heading, text, number=True, sort=lambda row: getattr(row[1], name))

    def part(row: "Row") -> str:
        return f"{row[1].ratio:.1%}" if row[1].is_measured else "unknown"

    def lacking(row: "Row", *, bound: bool) -> str:
        if not row[1].is_measured:
            return "unknown"
        return "; ".join(_lacking_text(each, bound=bound) for each in row[1].uncovered) or "nothing"

    def style(row: "Row") -> str:
        return "green" if row[1].status is RegretStatus.OPTIMAL else "yellow"

    return [
        Column("SHARD", lambda row: row[0]),
        Column("STATUS", lambda row: row[1].status.label, style=style),
        dollars("greedy_per_hour", "COST/H"),
        dollars("bound_per_hour", "BOUND/H"),
        dollars("gap_per_hour", "GAP/H"),
        Column("GAP", part, number=True, sort=lambda row: row[1].ratio),
        Column("UNCOVERED", lambda row: lacking(row, bound=False)),
        Column("COULD_BE", lambda row: lacking(row, bound=True)),
        Column("CYCLE", lambda row: row[1].cycle, number=True),
        Column("MEASURED", lambda row: when_text(row[1].at or None, now), wide=True),
    ]


def _lacking_text(demand: "UncoveredDemand", *, bound: bool) -> str:
    if bound and not demand.bound_known:
        return f"{demand.priority_class} unknown"
    lacks = (demand.bound if bound else demand.greedy).texts()
    shown = " ".join(f"{name} {amount}" for name, amount in lacks.items()) or "nothing"
    return f"{demand.priority_class} {shown}"
